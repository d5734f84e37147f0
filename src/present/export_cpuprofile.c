/* V8's CPU profile: a tree of calls, which of them was on at each sample, and the time between the
 * samples. It is of one thread: the one that took most. Editors (VS Code) and browsers open it. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "exporters.h"
#include "json_out.h"
#include "map.h"
#include "slices.h"

#define TICKS_MAX ((size_t)1 << 28)

struct tick_line { /* so many samples were on a line of a call */
    uint32_t call, line;
    uint64_t ticks;
};

struct cpuprofile {
    const struct cairn_tally *tally;
    struct cairn_outlet *out;
    struct cairn_json json;
    const struct cairn_calltree *tree;
    const struct cairn_moment *moments; /* of the thread */
    size_t count;
    uint64_t first_ns;
    CAIRN_VEC(struct tick_line) lines; /* by call, line */
    uint32_t *children;                /* calls, by their parent */
    uint32_t idle;                     /* the number of V8's "(idle)": nothing of the metric */
};

/* Numbers begin with 1: that is the root. */
static uint64_t number_of(uint32_t call)
{
    return (uint64_t)call + 1;
}

/* Whole microseconds from the start, rounded, so that no error adds up. */
static uint64_t micros(const struct cpuprofile *c, uint64_t time_ns)
{
    return (time_ns - c->first_ns + 500) / 1000;
}

static int by_call_and_line(const void *left, const void *right)
{
    const struct tick_line *a = left, *b = right;

    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static int count_lines(struct cpuprofile *c)
{
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    struct cairn_map index;
    int code = 0;

    cairn_model_frames(c->tally->model, &frames);
    cairn_model_nodes(c->tally->model, &nodes);
    cairn_map_init(&index, TICKS_MAX);
    for (size_t i = 0; i < c->count && code == 0; i++) {
        uint32_t call = c->tree->of[c->moments[i].node];
        uint32_t line = frames[nodes[c->moments[i].node].frame].line;
        uint64_t at = c->lines.count;

        if (!cairn_map_get(&index, call, line, &at)) {
            code = cairn_vec_reserve(&c->lines, c->lines.count + 1, TICKS_MAX);
            if (code == 0)
                code = cairn_map_put(&index, call, line, at);
            if (code < 0)
                break;
            c->lines.items[c->lines.count++] = (struct tick_line){call, line, 0};
        }
        c->lines.items[at].ticks += c->moments[i].ticks;
    }
    cairn_map_release(&index);
    if (c->lines.count > 0)
        qsort(c->lines.items, c->lines.count, sizeof(*c->lines.items), by_call_and_line);
    return code;
}

/* Calls whose stack the thread was on, in the order of their parents, by counting. */
static void sort_children(struct cpuprofile *c, bool *used, uint32_t *starts)
{
    const struct cairn_calltree_nodes *nodes = &c->tree->nodes;

    for (size_t i = 0; i < c->count; i++)
        for (uint32_t call = c->tree->of[c->moments[i].node]; call != 0 && !used[call];
             call = nodes->items[call].parent)
            used[call] = true;
    used[0] = true;
    for (size_t i = 1; i < nodes->count; i++)
        starts[nodes->items[i].parent + 1] += used[i];
    for (size_t i = 0; i < nodes->count; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 1; i < nodes->count; i++)
        if (used[i])
            c->children[starts[nodes->items[i].parent]++] = (uint32_t)i;
    /* Each start has moved to where the next one began. */
    for (size_t i = nodes->count; i > 0; i--)
        starts[i] = starts[i - 1];
    starts[0] = 0;
}

static void put_frame(struct cpuprofile *c, struct cairn_span name, struct cairn_span url,
                      uint32_t line)
{
    cairn_json_key(&c->json, cairn_span_of("callFrame"));
    cairn_json_object(&c->json);
    cairn_json_put_text(&c->json, "functionName", name);
    cairn_json_put_str(&c->json, "scriptId", "0");
    cairn_json_put_text(&c->json, "url", url);
    cairn_json_key(&c->json, cairn_span_of("lineNumber")); /* from 0; -1: none */
    if (line > 0)
        cairn_json_u64(&c->json, line - 1);
    else
        cairn_json_i64(&c->json, -1);
    cairn_json_key(&c->json, cairn_span_of("columnNumber"));
    cairn_json_i64(&c->json, -1);
    cairn_json_close(&c->json);
}

static void put_lines(struct cpuprofile *c, uint32_t call, size_t *at)
{
    uint64_t hits = 0;

    cairn_json_key(&c->json, cairn_span_of("positionTicks"));
    cairn_json_array(&c->json);
    for (; *at < c->lines.count && c->lines.items[*at].call == call; ++*at) {
        hits += c->lines.items[*at].ticks;
        if (c->lines.items[*at].line == 0)
            continue;
        cairn_json_object(&c->json);
        cairn_json_put_u64(&c->json, "line", c->lines.items[*at].line);
        cairn_json_put_u64(&c->json, "ticks", c->lines.items[*at].ticks);
        cairn_json_close(&c->json);
    }
    cairn_json_close(&c->json);
    cairn_json_put_u64(&c->json, "hitCount", hits);
}

static void put_call(struct cpuprofile *c, uint32_t call, const uint32_t *starts, size_t *line_at)
{
    const struct cairn_calltree_node *node = &c->tree->nodes.items[call];
    const struct cairn_function *functions, *function;

    cairn_model_functions(c->tally->model, &functions);
    function = &functions[node->function];
    cairn_json_object(&c->json);
    cairn_json_put_u64(&c->json, "id", number_of(call));
    if (call == 0)
        put_frame(c, cairn_span_of("(root)"), cairn_span_of(""), 0);
    else
        put_frame(c, function->qualname,
                  function->kind == CAIRN_FUNCTION_NATIVE ? function->module : function->file,
                  node->line);
    put_lines(c, call, line_at);
    cairn_json_key(&c->json, cairn_span_of("children"));
    cairn_json_array(&c->json);
    for (uint32_t i = starts[call]; i < starts[call + 1]; i++)
        cairn_json_u64(&c->json, number_of(c->children[i]));
    if (call == 0)
        cairn_json_u64(&c->json, number_of(c->idle));
    cairn_json_close(&c->json);
    cairn_json_close(&c->json);
}

static int put_calls(struct cpuprofile *c, const bool *used, const uint32_t *starts)
{
    size_t line_at = 0;

    cairn_json_key(&c->json, cairn_span_of("nodes"));
    cairn_json_array(&c->json);
    for (size_t i = 0; i < c->tree->nodes.count; i++) {
        if (!used[i])
            continue;
        put_call(c, (uint32_t)i, starts, &line_at);
        CAIRN_TRY(cairn_outlet_drain(c->out));
    }
    cairn_json_object(&c->json);
    cairn_json_put_u64(&c->json, "id", number_of(c->idle));
    put_frame(c, cairn_span_of("(idle)"), cairn_span_of(""), 0);
    cairn_json_close(&c->json);
    cairn_json_close(&c->json);
    return 0;
}

/* A sample says what is on from its time up to that of the next one. Writes their numbers, or how
 * long each is behind the one before. */
static int put_samples(struct cpuprofile *c, const char *key, bool times)
{
    uint64_t until_ns = c->first_ns, last_us = 0;

    cairn_json_key(&c->json, cairn_span_of(key));
    cairn_json_array(&c->json);
    for (size_t i = 0; i <= c->count; i++) {
        bool end = i == c->count;
        const struct cairn_moment *moment = end ? NULL : &c->moments[i];

        if (!end && moment->value_ns == 0)
            continue;
        if (end || moment->first_ns > until_ns) {
            cairn_json_u64(&c->json, times ? micros(c, until_ns) - last_us : number_of(c->idle));
            last_us = micros(c, until_ns);
        }
        if (end)
            break;
        cairn_json_u64(&c->json, times ? micros(c, moment->first_ns) - last_us
                                       : number_of(c->tree->of[moment->node]));
        last_us = micros(c, moment->first_ns);
        until_ns = moment->first_ns + moment->value_ns;
        CAIRN_TRY(cairn_outlet_drain(c->out));
    }
    cairn_json_close(&c->json);
    return 0;
}

static int put_document(struct cpuprofile *c, uint64_t last_ns)
{
    size_t count = c->tree->nodes.count;
    bool *used = cairn_calloc(count, sizeof(*used));
    uint32_t *starts = cairn_calloc(count + 1, sizeof(*starts));
    int code;

    c->idle = (uint32_t)count;
    c->children = cairn_calloc(count, sizeof(*c->children));
    code = used && starts && c->children ? count_lines(c) : -CAIRN_ENOMEM;
    if (code == 0)
        sort_children(c, used, starts);
    cairn_json_init(&c->json, &c->out->buf, 2);
    cairn_json_object(&c->json);
    if (code == 0)
        code = put_calls(c, used, starts);
    free(used);
    free(starts);
    CAIRN_TRY(code);
    cairn_json_put_u64(&c->json, "startTime", 0);
    cairn_json_put_u64(&c->json, "endTime", micros(c, last_ns));
    CAIRN_TRY(put_samples(c, "samples", false));
    CAIRN_TRY(put_samples(c, "timeDeltas", true));
    cairn_json_close(&c->json);
    return cairn_json_end(&c->json);
}

/* The thread that took most of the metric; the others are told. */
static void choose_thread(struct cpuprofile *c, const struct cairn_timeline *timeline,
                          struct cairn_buf *lost)
{
    uint64_t most_ns = 0, others_ns = 0;
    size_t threads = 0;

    for (size_t first = 0, end; first < timeline->count; first = end, threads++) {
        uint64_t sum_ns = 0;

        end = cairn_timeline_thread_end(timeline, first);
        for (size_t i = first; i < end; i++)
            sum_ns += timeline->items[i].value_ns;
        others_ns += sum_ns;
        if (threads > 0 && sum_ns <= most_ns)
            continue;
        most_ns = sum_ns;
        c->moments = timeline->items + first;
        c->count = end - first;
    }
    if (threads > 1 && lost)
        cairn_buf_printf(lost,
                         "%zu other thread%s with %" PRIu64 ".%03" PRIu64
                         " s: it is of one thread, the one that took most; --thread chooses",
                         threads - 1, threads > 2 ? "s" : "", (others_ns - most_ns) / 1000000000u,
                         (others_ns - most_ns) / 1000000u % 1000u);
}

int cairn_export_cpuprofile(const struct cairn_tally *tally,
                            const struct cairn_export_options *options, struct cairn_outlet *out)
{
    struct cairn_timeline timeline = {0};
    struct cairn_calltree tree;
    struct cpuprofile c = {.tally = tally, .out = out, .tree = &tree};
    int code = cairn_calltree_make(tally, cairn_export_lines_or(options, CAIRN_EXPORT_LINES_FIRST),
                                   false, &tree);

    if (code == 0)
        code = cairn_timeline_make(tally, &timeline);
    c.first_ns = timeline.first_ns;
    if (code == 0) {
        choose_thread(&c, &timeline, options->lost);
        code = put_document(&c, timeline.last_ns);
    }
    free(c.children);
    cairn_vec_release(&c.lines);
    cairn_timeline_release(&timeline);
    cairn_calltree_release(&tree);
    return code;
}
