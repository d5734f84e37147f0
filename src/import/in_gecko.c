/* in_gecko.c: profiles of the Firefox profiler: as its page keeps them (what profiling.sampling and
 * Cairn write; tables by column, of each thread or shared by all), and as Gecko and `perf script
 * gecko` write them (tables by row, with a schema).
 *
 * Read twice: what threads share may stand behind them. */
#include <math.h>
#include <string.h>

#include "formats.h"
#include "intern.h"
#include "jsonin.h"

#define ROWS_MAX ((size_t)1 << 22)
#define TEXT_MAX_BYTES ((size_t)64 << 20)
#define NS_PER_MS 1e6
#define COLUMNS_MAX 8

struct column { /* numbers; NAN where null stands */
    CAIRN_VEC(double) of;
};

struct tables {
    CAIRN_VEC(uint32_t) strings; /* ids of names */
    struct column stack_frame, stack_prefix, frame_function, frame_line, frame_location;
    struct column function_name, function_file, function_source, function_line, source_file;
    CAIRN_VEC(uint32_t) stacks; /* of the guest, one a row of the stack table, once they are made */
};

struct thread {
    struct tables tables;
    struct column stack, time_ms, delta_ms, weight;
    bool in_ms; /* what weights are; else samples */
    uint32_t name, process;
    uint64_t pid, tid;
    uint32_t other_pid, other_tid; /* where these are no numbers: their names */
};

struct gecko {
    struct cairn_jsonin json;
    struct cairn_guest *guest;
    struct cairn_err *err;
    struct cairn_intern names;
    struct tables shared;
    double interval_ms;
    bool counted; /* every thread so far counts samples */
    uint64_t bare;
};

struct named { /* what a column of a table is called */
    const char *name;
    struct column *column;
};

static int put(struct column *column, double number)
{
    CAIRN_TRY(cairn_vec_reserve(&column->of, column->of.count + 1, ROWS_MAX));
    column->of.items[column->of.count++] = number;
    return 0;
}

/* NAN where there is none. */
static double get(const struct column *column, double at)
{
    return at >= 0 && at < (double)column->of.count ? column->of.items[(size_t)at] : NAN;
}

static int read_number(struct gecko *g, double *ret_number)
{
    char kind;

    *ret_number = NAN;
    CAIRN_TRY(cairn_jsonin_kind(&g->json, &kind));
    return kind == '0' ? cairn_jsonin_number(&g->json, ret_number) : cairn_jsonin_skip(&g->json);
}

static int read_name(struct gecko *g, uint32_t *ret_name)
{
    struct cairn_span text;
    char kind;

    CAIRN_TRY(cairn_jsonin_kind(&g->json, &kind));
    if (kind != '"')
        return cairn_jsonin_skip(&g->json);
    CAIRN_TRY(cairn_jsonin_text(&g->json, &text));
    return cairn_intern_add(&g->names, text, ret_name);
}

/* A number, also one that is written as a text; of another text, as "12.1", that one's name. */
static int read_id(struct gecko *g, uint64_t *ret_id, uint32_t *ret_other)
{
    struct cairn_span text;
    double number;
    char kind;

    CAIRN_TRY(cairn_jsonin_kind(&g->json, &kind));
    if (kind == '"') {
        CAIRN_TRY(cairn_jsonin_text(&g->json, &text));
        if (cairn_whole_of_text(text, ret_id))
            return 0;
        *ret_id = 0;
        return cairn_intern_add(&g->names, text, ret_other);
    }
    CAIRN_TRY(read_number(g, &number));
    *ret_id = number > 0 && number < 1e15 ? (uint64_t)number : 0;
    return 0;
}

static int read_column(struct gecko *g, struct column *column)
{
    double number;
    char kind;
    int more;

    CAIRN_TRY(cairn_jsonin_kind(&g->json, &kind));
    if (kind != '[')
        return cairn_jsonin_skip(&g->json);
    CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
    while ((more = cairn_jsonin_item(&g->json)) > 0) {
        CAIRN_TRY(read_number(g, &number));
        CAIRN_TRY(put(column, number));
    }
    return more;
}

/* Where in a row each column stands. */
static int read_schema(struct gecko *g, const struct named *named, size_t count, double *places)
{
    struct cairn_span key;
    double place;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        size_t i = 0;

        while (i < count && !cairn_span_is(key, named[i].name))
            i++;
        CAIRN_TRY(read_number(g, &place));
        if (i < count)
            places[i] = place;
    }
    return more;
}

static int read_row(struct gecko *g, const struct named *named, size_t count, const double *places)
{
    double row[COLUMNS_MAX], number, at = 0;
    int more;

    for (size_t i = 0; i < count; i++)
        row[i] = NAN;
    CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
    while ((more = cairn_jsonin_item(&g->json)) > 0) {
        CAIRN_TRY(read_number(g, &number));
        for (size_t i = 0; i < count; i++)
            if (places[i] == at)
                row[i] = number;
        at++;
    }
    CAIRN_TRY(more);
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(put(named[i].column, row[i]));
    return 0;
}

static int read_rows(struct gecko *g, const struct named *named, size_t count, const double *places)
{
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
    while ((more = cairn_jsonin_item(&g->json)) > 0)
        CAIRN_TRY(read_row(g, named, count, places));
    return more;
}

/* A table, by column or by row. `ret_in_ms`: whether its weights are times; or NULL. */
static int read_table(struct gecko *g, const struct named *named, size_t count, bool *ret_in_ms)
{
    double places[COLUMNS_MAX];
    struct cairn_span key, text;
    int more;

    for (size_t i = 0; i < count; i++)
        places[i] = NAN;
    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        size_t i = 0;

        while (i < count && !cairn_span_is(key, named[i].name))
            i++;
        if (i < count) {
            CAIRN_TRY(read_column(g, named[i].column));
        } else if (cairn_span_is(key, "schema")) {
            CAIRN_TRY(read_schema(g, named, count, places));
        } else if (cairn_span_is(key, "data")) {
            CAIRN_TRY(read_rows(g, named, count, places));
        } else if (ret_in_ms && cairn_span_is(key, "weightType")) {
            CAIRN_TRY(cairn_jsonin_text(&g->json, &text));
            *ret_in_ms = cairn_span_is(text, "tracing-ms");
        } else {
            CAIRN_TRY(cairn_jsonin_skip(&g->json));
        }
    }
    return more;
}

static int read_strings(struct gecko *g, struct tables *tables)
{
    uint32_t name;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
    while ((more = cairn_jsonin_item(&g->json)) > 0) {
        name = 0;
        CAIRN_TRY(read_name(g, &name));
        CAIRN_TRY(cairn_vec_reserve(&tables->strings, tables->strings.count + 1, ROWS_MAX));
        tables->strings.items[tables->strings.count++] = name;
    }
    return more;
}

/* One of the tables that a thread has, or all share; *ret_known: whether it is one. */
static int read_tables(struct gecko *g, struct cairn_span key, struct tables *t, bool *ret_known)
{
    const struct named stacks[] = {{"frame", &t->stack_frame}, {"prefix", &t->stack_prefix}};
    const struct named frames[] = {
        {"func", &t->frame_function}, {"line", &t->frame_line}, {"location", &t->frame_location}};
    const struct named functions[] = {{"name", &t->function_name},
                                      {"fileName", &t->function_file},
                                      {"source", &t->function_source},
                                      {"lineNumber", &t->function_line}};
    const struct named sources[] = {{"filename", &t->source_file}};

    *ret_known = true;
    if (cairn_span_is(key, "stringArray") || cairn_span_is(key, "stringTable"))
        return read_strings(g, t);
    if (cairn_span_is(key, "stackTable"))
        return read_table(g, stacks, 2, NULL);
    if (cairn_span_is(key, "frameTable"))
        return read_table(g, frames, 3, NULL);
    if (cairn_span_is(key, "funcTable"))
        return read_table(g, functions, 4, NULL);
    if (cairn_span_is(key, "sources"))
        return read_table(g, sources, 1, NULL);
    *ret_known = false;
    return 0;
}

static void release_tables(struct tables *t)
{
    struct column *columns[] = {&t->stack_frame,   &t->stack_prefix,    &t->frame_function,
                                &t->frame_line,    &t->frame_location,  &t->function_name,
                                &t->function_file, &t->function_source, &t->function_line,
                                &t->source_file};

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        cairn_vec_release(&columns[i]->of);
    cairn_vec_release(&t->strings);
    cairn_vec_release(&t->stacks);
}

/* The tables of a thread, or, where it has none, those that all share. */
static const struct column *of(const struct column *own, const struct column *shared)
{
    return own->of.count ? own : shared;
}

static struct cairn_span text_of(const struct gecko *g, const struct tables *t, double at)
{
    const struct tables *from = t->strings.count ? t : &g->shared;

    return cairn_intern_get(&g->names, at >= 0 && at < (double)from->strings.count
                                           ? from->strings.items[(size_t)at]
                                           : 0);
}

static uint32_t line_of(double line)
{
    return line > 0 && line < INT32_MAX ? (uint32_t)line : 0;
}

static int make_frame(struct gecko *g, const struct tables *t, double at, uint32_t *ret_frame)
{
    const struct tables *shared = &g->shared;
    double function = get(of(&t->frame_function, &shared->frame_function), at);
    double file = get(of(&t->function_file, &shared->function_file), function);
    double source = get(of(&t->function_source, &shared->function_source), function);
    struct cairn_guest_frame frame;

    if (isnan(function)) {
        frame = cairn_frame_of_text(
            text_of(g, t, get(of(&t->frame_location, &shared->frame_location), at)));
        return cairn_guest_frame(g->guest, &frame, ret_frame);
    }
    if (isnan(file))
        file = get(of(&t->source_file, &shared->source_file), source);
    frame = (struct cairn_guest_frame){
        .name = text_of(g, t, get(of(&t->function_name, &shared->function_name), function)),
        .file = text_of(g, t, file),
        .line = line_of(get(of(&t->frame_line, &shared->frame_line), at)),
        .first_line = line_of(get(of(&t->function_line, &shared->function_line), function)),
    };
    return cairn_guest_frame(g->guest, &frame, ret_frame);
}

/* Each row names one before it, or none. */
static int make_stacks(struct gecko *g, struct tables *t)
{
    for (size_t i = t->stacks.count; i < t->stack_frame.of.count; i++) {
        double prefix = get(&t->stack_prefix, (double)i);
        uint32_t frame, stack = 0;

        if (prefix >= (double)i)
            return cairn_err_set(g->err, -CAIRN_EDAMAGED, 0, "import",
                                 "a stack is called by one that comes behind it");
        if (prefix >= 0)
            stack = t->stacks.items[(size_t)prefix];
        CAIRN_TRY(make_frame(g, t, t->stack_frame.of.items[i], &frame));
        CAIRN_TRY(cairn_guest_stack(g->guest, stack, frame, &stack));
        CAIRN_TRY(cairn_vec_reserve(&t->stacks, i + 1, ROWS_MAX));
        t->stacks.items[t->stacks.count++] = stack;
    }
    return 0;
}

static int give_sample(struct gecko *g, struct thread *thread, uint32_t id, size_t i, double at_ms)
{
    const struct tables *t = thread->tables.stack_frame.of.count ? &thread->tables : &g->shared;
    struct cairn_guest_sample sample = {.thread = id, .state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
    double weight = get(&thread->weight, (double)i), stack = thread->stack.of.items[i], ns;

    if (isnan(weight))
        weight = thread->in_ms ? 0 : 1;
    ns = weight * (thread->in_ms ? 1 : g->interval_ms) * NS_PER_MS;
    if (isnan(stack) || weight == 0) {
        g->bare++;
        return 0;
    }
    if (!(weight > 0 && ns < (double)CAIRN_GUEST_TIME_MAX_NS) ||
        !(stack >= 0 && stack < (double)t->stacks.count))
        return cairn_err_set(g->err, -CAIRN_EDAMAGED, 0, "import",
                             "a sample has no weight that can be, or a stack that is not there");
    sample.stack = t->stacks.items[(size_t)stack];
    sample.ns = (uint64_t)llround(ns);
    if (!thread->in_ms && weight < 1e9)
        sample.count = (uint64_t)weight > 0 ? (uint64_t)weight : 1;
    if (at_ms > 0 && at_ms * NS_PER_MS < (double)CAIRN_GUEST_TIME_MAX_NS)
        cairn_guest_wait(g->guest, id, (uint64_t)(at_ms * NS_PER_MS));
    return cairn_guest_add(g->guest, &sample);
}

/* What has no number is told apart by its name. */
static struct cairn_span name_of(const struct gecko *g, uint32_t name, uint32_t other)
{
    return cairn_intern_get(&g->names, name ? name : other);
}

static int give_thread(struct gecko *g, struct thread *thread)
{
    struct cairn_guest_thread made = {
        .pid = thread->pid,
        .tid = thread->tid,
        .process = name_of(g, thread->process, thread->other_pid),
        .name = name_of(g, thread->name, thread->other_tid),
        .place = thread->other_tid,
        .process_place = thread->other_pid,
    };
    double at_ms = 0;
    uint32_t id;

    if (thread->stack.of.count == 0)
        return 0;
    g->counted = g->counted && !thread->in_ms;
    CAIRN_TRY(cairn_guest_thread(g->guest, &made, &id));
    CAIRN_TRY(make_stacks(g, &thread->tables));
    for (size_t i = 0; i < thread->stack.of.count; i++) {
        double time_ms = get(&thread->time_ms, (double)i),
               delta_ms = get(&thread->delta_ms, (double)i);

        at_ms = !isnan(time_ms) ? time_ms : at_ms + (isnan(delta_ms) ? 0 : delta_ms);
        CAIRN_TRY(give_sample(g, thread, id, i, at_ms));
    }
    return 0;
}

static int read_thread_key(struct gecko *g, struct cairn_span key, struct thread *thread)
{
    const struct named samples[] = {{"stack", &thread->stack},
                                    {"time", &thread->time_ms},
                                    {"timeDeltas", &thread->delta_ms},
                                    {"weight", &thread->weight}};
    bool known;

    if (cairn_span_is(key, "samples"))
        return read_table(g, samples, 4, &thread->in_ms);
    if (cairn_span_is(key, "name"))
        return read_name(g, &thread->name);
    if (cairn_span_is(key, "processName"))
        return read_name(g, &thread->process);
    if (cairn_span_is(key, "pid"))
        return read_id(g, &thread->pid, &thread->other_pid);
    if (cairn_span_is(key, "tid"))
        return read_id(g, &thread->tid, &thread->other_tid);
    CAIRN_TRY(read_tables(g, key, &thread->tables, &known));
    return known ? 0 : cairn_jsonin_skip(&g->json);
}

static int read_thread(struct gecko *g)
{
    struct thread thread = {.in_ms = false};
    struct cairn_span key;
    int code = cairn_jsonin_enter(&g->json, '{');

    while (code == 0 && (code = cairn_jsonin_key(&g->json, &key)) > 0)
        code = read_thread_key(g, key, &thread);
    if (code == 0)
        code = give_thread(g, &thread);
    release_tables(&thread.tables);
    cairn_vec_release(&thread.stack.of);
    cairn_vec_release(&thread.time_ms.of);
    cairn_vec_release(&thread.delta_ms.of);
    cairn_vec_release(&thread.weight.of);
    return code;
}

static int read_threads(struct gecko *g)
{
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
    while ((more = cairn_jsonin_item(&g->json)) > 0)
        CAIRN_TRY(read_thread(g));
    return more;
}

static int read_shared(struct gecko *g)
{
    struct cairn_span key;
    bool known;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        CAIRN_TRY(read_tables(g, key, &g->shared, &known));
        if (!known)
            CAIRN_TRY(cairn_jsonin_skip(&g->json));
    }
    return more;
}

static int read_meta(struct gecko *g)
{
    struct cairn_span key;
    double interval_ms;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        if (!cairn_span_is(key, "interval")) {
            CAIRN_TRY(cairn_jsonin_skip(&g->json));
            continue;
        }
        CAIRN_TRY(read_number(g, &interval_ms));
        if (interval_ms > 0)
            g->interval_ms = interval_ms;
    }
    return more;
}

/* One way through the file: the threads, or what they share. */
static int read_file(struct gecko *g, bool threads)
{
    struct cairn_span key;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        if (!threads && cairn_span_is(key, "shared"))
            CAIRN_TRY(read_shared(g));
        else if (!threads && cairn_span_is(key, "meta"))
            CAIRN_TRY(read_meta(g));
        else if (threads && cairn_span_is(key, "threads"))
            CAIRN_TRY(read_threads(g));
        else
            CAIRN_TRY(cairn_jsonin_skip(&g->json));
    }
    CAIRN_TRY(more);
    return cairn_jsonin_end(&g->json);
}

static int read_both(struct gecko *g, struct cairn_feed *feed)
{
    CAIRN_TRY(read_file(g, false));
    CAIRN_TRY(make_stacks(g, &g->shared));
    CAIRN_TRY(cairn_feed_rewind(feed));
    CAIRN_TRY(read_file(g, true));
    g->guest->counted = g->counted;
    if (g->bare > 0)
        CAIRN_TRY(cairn_guest_fact(g->guest, "import.lost",
                                   "%llu samples without a stack or weight",
                                   (unsigned long long)g->bare));
    return cairn_guest_fact(g->guest, "import.values", g->counted ? "samples of time" : "time");
}

int cairn_in_gecko(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct gecko g = {.guest = guest, .err = err, .interval_ms = 1, .counted = true};
    int code = cairn_intern_init(&g.names, TEXT_MAX_BYTES);

    if (code < 0)
        return code;
    cairn_jsonin_init(&g.json, feed);
    code = read_both(&g, feed);
    cairn_jsonin_release(&g.json);
    cairn_intern_release(&g.names);
    release_tables(&g.shared);
    return code;
}
