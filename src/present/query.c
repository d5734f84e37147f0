#include "query_parts.h"

#include "boxes.h"
#include "escape.h"
#include "facts.h"
#include "handle.h"

#define OVERVIEW_ROWS 10
/* Of a timeline; more, or fewer ticks in each, and there are fewer slices. */
#define CELLS_MAX 400000
#define NUMBERS_MAX 1000000
#define SLICE_TICKS 8

const char *cairn_query_name(size_t kind)
{
    static const char *const names[] = {
        [CAIRN_QUERY_OVERVIEW] = "overview", [CAIRN_QUERY_TABLE] = "table",
        [CAIRN_QUERY_FUNCTION] = "function", [CAIRN_QUERY_FLAME] = "flame",
        [CAIRN_QUERY_GRAPH] = "graph",       [CAIRN_QUERY_TIMELINE] = "timeline",
    };

    return kind < CAIRN_QUERY_COUNT ? names[kind] : NULL;
}

/* A sentence as it reads on a terminal, without the end of its last line. */
static void put_words(struct cairn_json *json, const char *key, const struct cairn_buf *words)
{
    struct cairn_span text = cairn_buf_span(words);

    while (text.size_bytes > 0 && text.data[text.size_bytes - 1] == '\n')
        text.size_bytes--;
    cairn_json_put_text(json, key, text);
}

static int put_overview(struct cairn_json *json, const struct cairn_tally *tally,
                        const struct cairn_query *query, struct cairn_outlet *out,
                        struct cairn_err *err)
{
    struct cairn_report_options options = query->report;
    struct cairn_report_words words;
    int code = cairn_report_words_make(tally, &words, err);

    if (code == 0) {
        put_words(json, "verdict", &words.head);
        put_words(json, "trust", &words.quality);
        put_words(json, "no_table", &words.no_table);
    }
    cairn_report_words_release(&words);
    CAIRN_TRY(code);
    CAIRN_TRY(cairn_report_json_roles(json, tally, options.with_idle, err));
    cairn_report_json_waits(json, tally);
    if (options.limit == 0)
        options.limit = OVERVIEW_ROWS;
    return cairn_report_json_table(json, tally, &options, out, err);
}

static bool holds(const struct cairn_rows *rows, uint32_t function)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].function == function)
            return true;
    return false;
}

/* The lines of the functions that `of` names, counted like their callers: idle waiting is in. */
static int put_lines(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_query *query, struct cairn_outlet *out,
                     struct cairn_err *err)
{
    const struct cairn_rows_options options = {.by = CAIRN_BY_LINE, .with_idle = true};
    struct cairn_rows callers, callees, self, lines;
    size_t kept = 0;
    int code;

    CAIRN_TRY(cairn_rows_callers(tally, query->report.of, &callers, &callees, &self, err));
    code = cairn_rows_make(tally, &options, &lines, err);
    if (code == 0) {
        for (size_t i = 0; i < lines.count; i++)
            if (holds(&self, lines.items[i].function))
                lines.items[kept++] = lines.items[i];
        lines.count = kept;
        code = cairn_report_json_rows(json, "lines", tally, &lines, query->report.limit, out);
        cairn_rows_release(&lines);
    }
    cairn_rows_release(&callers);
    cairn_rows_release(&callees);
    cairn_rows_release(&self);
    return code;
}

static void put_handle(struct cairn_json *json, const char *key, const struct cairn_boxes *boxes,
                       uint32_t box)
{
    char text[CAIRN_HANDLE_CHARS + 1];

    if (box == UINT32_MAX) {
        cairn_json_put_null(json, key);
        return;
    }
    cairn_handle_text(CAIRN_HANDLE_STACK, boxes->items[box].handle, text);
    cairn_json_put_str(json, key, text);
}

static double share(uint64_t part_ns, uint64_t base_ns)
{
    return base_ns ? (double)part_ns / (double)base_ns : 0;
}

static void put_box(struct cairn_json *json, const struct cairn_tally *tally,
                    const struct cairn_boxes *boxes, uint32_t at)
{
    static const char *const kinds[] = {
        [CAIRN_FUNCTION_PYTHON] = "python",
        [CAIRN_FUNCTION_NATIVE] = "native",
        [CAIRN_FUNCTION_LABEL] = "label",
    };
    const struct cairn_box *box = &boxes->items[at];
    const struct cairn_function *function;

    cairn_model_functions(tally->model, &function);
    function += box->function;
    cairn_json_object(json);
    cairn_report_json_handle(json, "handle", tally->model, box->function);
    put_handle(json, "stack", boxes, at);
    put_handle(json, "parent", boxes, box->parent);
    cairn_json_put_u64(json, "depth", box->depth);
    cairn_json_put_text(json, "name", function->name);
    cairn_json_put_text(json, "qualname", function->qualname);
    cairn_json_put_text(json, "file", function->file);
    cairn_json_put_u64(json, "line", box->line);
    cairn_json_put_u64(json, "first_line", function->first_line);
    cairn_json_put_text(json, "module", function->module);
    cairn_json_put_str(json, "kind", kinds[function->kind]);
    cairn_json_put_seconds(json, "self_s", box->self.value_ns);
    cairn_json_put_seconds(json, "total_s", box->total.value_ns);
    cairn_json_put_seconds(json, "hidden_s", box->hidden_ns);
    cairn_json_put_number(json, "self_share", share(box->self.value_ns, boxes->base.value_ns));
    cairn_json_put_number(json, "total_share", share(box->total.value_ns, boxes->base.value_ns));
    cairn_json_put_known(json, "samples", !tally->pieces, box->self.ticks);
    cairn_json_put_known(json, "total_samples", !tally->pieces, box->total.ticks);
    cairn_json_close(json);
}

static int put_boxes(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_boxes *boxes, struct cairn_outlet *out)
{
    cairn_json_put_seconds(json, "base_s", boxes->base.value_ns);
    cairn_json_put_seconds(json, "hidden_s", boxes->hidden_ns);
    cairn_json_put_u64(json, "left_out", boxes->left_out);
    cairn_json_key(json, cairn_span_of("rows"));
    cairn_json_array(json);
    for (size_t i = 0; i < boxes->count && tally->known; i++) {
        put_box(json, tally, boxes, (uint32_t)i);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(json);
    return 0;
}

static int put_flame(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_query *query, struct cairn_outlet *out,
                     struct cairn_err *err)
{
    struct cairn_boxes_options options = {
        .by_line = query->report.by == CAIRN_BY_LINE,
        .with_idle = query->report.with_idle,
        .depth_max = query->depth_max,
        .least = query->least,
        .limit = query->report.limit,
    };
    struct cairn_boxes boxes;
    int code;

    if (query->root &&
        (!cairn_handle_read(CAIRN_HANDLE_STACK, query->root, &options.root) || options.root == 0))
        return cairn_err_set(err, -CAIRN_EUSAGE, 0, "query",
                             "\"%.100s\" is no handle of a stack: those are s- and 16 digits",
                             query->root);
    code = cairn_boxes_make(tally, &options, &boxes);
    if (code == -CAIRN_ENOTFOUND) {
        cairn_err_set(err, code, 0, "query", "no stack that is kept has the handle %s",
                      query->root);
        cairn_err_add(err, "Stacks by line have other handles than stacks by function.");
        return code;
    }
    if (code < 0)
        return cairn_err_set(err, code, 0, "query", "cannot make the flame graph");
    code = put_boxes(json, tally, &boxes, out);
    cairn_boxes_release(&boxes);
    return code;
}

static int put_view(struct cairn_json *json, const struct cairn_tally *tally,
                    const struct cairn_query *query, struct cairn_outlet *out,
                    struct cairn_err *err)
{
    switch (query->kind) {
    case CAIRN_QUERY_OVERVIEW:
        return put_overview(json, tally, query, out, err);
    case CAIRN_QUERY_FUNCTION:
        CAIRN_TRY(cairn_report_json_of(json, tally, &query->report, out, err));
        return put_lines(json, tally, query, out, err);
    case CAIRN_QUERY_FLAME:
        return put_flame(json, tally, query, out, err);
    case CAIRN_QUERY_GRAPH:
        return cairn_query_put_graph(json, tally, query, out, err);
    case CAIRN_QUERY_TIMELINE:
        return cairn_query_put_timeline(json, tally, out);
    default:
        return cairn_report_json_table(json, tally, &query->report, out, err);
    }
}

/* As many slices as are wanted and have their ticks, or half as many until there is room: for the
 * cells, one a stack in each, and for what is said of each thread. */
static int make_slices(const struct cairn_model *model, struct cairn_filter *filter,
                       struct cairn_tally *ret_tally, struct cairn_err *err)
{
    const struct cairn_thread *threads;
    size_t thread_count = cairn_model_threads(model, &threads);

    filter->threads_joined = false;
    while (filter->slices > 1 && thread_count > NUMBERS_MAX / filter->slices)
        filter->slices /= 2;
    for (;;) {
        bool single = filter->slices <= 1;
        int code =
            cairn_tally_make_up_to(model, filter, single ? SIZE_MAX : CELLS_MAX, ret_tally, err);
        uint64_t most = filter->slices / 2;

        if (single || (code < 0 && code != -CAIRN_ELIMIT))
            return code;
        if (code < 0 && err)
            *err = (struct cairn_err){0}; /* there is another try */
        if (code == 0) {
            most = ret_tally->ticks / SLICE_TICKS;
            if (most >= filter->slices)
                return 0;
            cairn_tally_release(ret_tally);
        }
        filter->slices = most > 1 ? (unsigned)most : 1;
    }
}

int cairn_query_tally_make(const struct cairn_model *model, const struct cairn_query *query,
                           struct cairn_filter *filter, struct cairn_tally *ret_tally,
                           struct cairn_err *err)
{
    if (query->kind != CAIRN_QUERY_TIMELINE) {
        filter->threads_joined = true;
        return cairn_tally_make(model, filter, ret_tally, err);
    }
    if (cairn_facts_is_timeless(model) || cairn_filter_is_of_sums(filter)) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "query", "there is no timeline of that");
        cairn_err_add(err, "It is of sums, which do not say when anything was.");
        return -CAIRN_EUSAGE;
    }
    filter->slices = query->slices;
    return make_slices(model, filter, ret_tally, err);
}

int cairn_query_json(const struct cairn_tally *tally, const struct cairn_query *query,
                     struct cairn_outlet *out, struct cairn_err *err)
{
    struct cairn_json json;
    int code;

    cairn_json_init(&json, &out->buf, 2);
    CAIRN_TRY(cairn_report_json_begin(&json, tally, query->report.file, err));
    cairn_json_put_str(&json, "query", cairn_query_name(query->kind));
    CAIRN_TRY(put_view(&json, tally, query, out, err));
    cairn_json_close(&json);
    code = cairn_json_end(&json);
    return code < 0 ? code : cairn_outlet_drain(out);
}
