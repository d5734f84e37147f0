/* Callgrind's format, for KCachegrind and callgrind_annotate: what each line itself has, and what
 * each call from a line costs. There are no stacks in it. Where calls were counted one by one they
 * are what is written: then of functions, since nobody knows from which line a call came. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "edges.h"
#include "escape.h"
#include "exactrows.h"
#include "exporters.h"
#include "intern.h"

#define TEXTS_MAX_BYTES ((size_t)1 << 30)
#define TEXT_MAX_BYTES ((size_t)1 << 20)

struct callgrind {
    const struct cairn_tally *tally;
    struct cairn_outlet *out;
    const struct cairn_node *nodes;
    size_t node_count;
    const struct cairn_frame *frames;
    const struct cairn_function *functions;
    struct cairn_buf text;
    struct cairn_intern files; /* their numbers in the file; a text follows its first one */
    bool *named;               /* of each function: its name stands there */
    size_t files_named;
    struct cairn_edge *edges; /* of each node */
    struct cairn_edges lines, calls;
    uint32_t *line_order, *call_order;
};

static uint32_t function_of(const struct callgrind *c, uint32_t node)
{
    return c->frames[c->nodes[node].frame].function;
}

static uint32_t line_of(const struct callgrind *c, uint32_t node)
{
    uint32_t line = c->frames[c->nodes[node].frame].line;

    return line ? line : c->functions[function_of(c, node)].first_line;
}

/* What {function, line} has of its own. */
static int sum_lines(struct callgrind *c)
{
    for (size_t i = 1; i < c->node_count; i++)
        c->edges[i] = (struct cairn_edge){function_of(c, (uint32_t)i), line_of(c, (uint32_t)i)};
    return cairn_edges_make(c->tally, c->edges, &c->lines);
}

/* What {caller and line of the call, callee} costs; what begins a stack is called by nobody. */
static int sum_calls(struct callgrind *c)
{
    for (size_t i = 1; i < c->node_count; i++) {
        uint32_t parent = c->nodes[i].parent;

        c->edges[i] = (struct cairn_edge){UINT64_MAX, function_of(c, (uint32_t)i)};
        if (parent != 0)
            c->edges[i].from = (uint64_t)function_of(c, parent) << 32 | line_of(c, parent);
    }
    return cairn_edges_make(c->tally, c->edges, &c->calls);
}

static int compare_edges(const void *a, const void *b, void *ctx)
{
    const struct cairn_edge *edges = ctx;
    const struct cairn_edge *left = &edges[*(const uint32_t *)a];
    const struct cairn_edge *right = &edges[*(const uint32_t *)b];

    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

static int sort_edges(const struct cairn_edges *edges, uint32_t **ret_order)
{
    uint32_t *order = cairn_calloc(edges->items.count + 1, sizeof(*order));

    *ret_order = order;
    if (order == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < edges->items.count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, edges->items.count, sizeof(*order), compare_edges, edges->items.items);
    return 0;
}

/* Text behind a number: with blanks alone the number would be of a text that stood before, and
 * those in front are not read. */
static void put_text(struct cairn_buf *out, struct cairn_span text)
{
    bool blank;

    if (text.size_bytes == 0) {
        cairn_buf_add_str(out, "???"); /* as callgrind calls what it does not know */
        return;
    }
    blank = text.data[0] == ' ';
    if (blank)
        cairn_buf_add_str(out, "\\x20");
    cairn_escape_terminal(out, (struct cairn_span){text.data + blank, text.size_bytes - blank});
}

/* "fl=(3) /srv/app.py": a number, and the text where it stands for the first time. */
static int put_file(struct callgrind *c, const char *key, uint32_t function)
{
    const struct cairn_function *f = &c->functions[function];
    bool python = f->kind == CAIRN_FUNCTION_PYTHON;
    uint32_t id;

    cairn_buf_clear(&c->text);
    put_text(&c->text, python ? f->file : f->module);
    CAIRN_TRY(c->text.code);
    CAIRN_TRY(cairn_intern_add(&c->files, cairn_buf_span(&c->text), &id));
    cairn_buf_printf(&c->out->buf, "%s=(%" PRIu32 ")", key, id);
    if (id > c->files_named) {
        c->files_named = id;
        cairn_buf_u8(&c->out->buf, ' ');
        cairn_buf_add(&c->out->buf, c->text.data, c->text.size_bytes);
    }
    return cairn_buf_u8(&c->out->buf, '\n');
}

static int put_function(struct callgrind *c, const char *key, uint32_t function)
{
    cairn_buf_printf(&c->out->buf, "%s=(%" PRIu32 ")", key, function + 1);
    if (!c->named[function]) {
        c->named[function] = true;
        cairn_buf_u8(&c->out->buf, ' ');
        put_text(&c->out->buf, c->functions[function].qualname);
    }
    return cairn_buf_u8(&c->out->buf, '\n');
}

/* How many samples there were only where they are. */
static int put_weight(struct callgrind *c, const struct cairn_weight *weight)
{
    cairn_buf_printf(&c->out->buf, "%" PRIu64, weight->value_ns);
    if (c->tally->counted)
        cairn_buf_printf(&c->out->buf, " %" PRIu64, weight->ticks);
    return cairn_buf_u8(&c->out->buf, '\n');
}

static void put_cost(struct callgrind *c, uint32_t line, const struct cairn_weight *weight)
{
    cairn_buf_printf(&c->out->buf, "%" PRIu32 " ", line);
    put_weight(c, weight);
}

/* The calls of a function, from `at` in their order on, which is moved behind them. */
static int put_calls(struct callgrind *c, uint32_t function, size_t *at)
{
    for (; *at < c->calls.items.count; (*at)++) {
        uint32_t index = c->call_order[*at];
        const struct cairn_edge *edge = &c->calls.items.items[index];
        uint32_t callee = (uint32_t)edge->to;

        if (edge->from >> 32 > function)
            break;
        if (edge->from >> 32 < function || cairn_edges_empty(&c->calls, index))
            continue;
        CAIRN_TRY(put_file(c, "cfi", callee));
        CAIRN_TRY(put_function(c, "cfn", callee));
        /* How many calls there were nobody knows; it must not be 0. */
        cairn_buf_printf(&c->out->buf, "calls=%" PRIu64 " %" PRIu32 "\n",
                         c->calls.totals.total[index].ticks, c->functions[callee].first_line);
        put_cost(c, (uint32_t)edge->from, &c->calls.totals.total[index]);
        CAIRN_TRY(cairn_outlet_drain(c->out));
    }
    return 0;
}

static int put_functions(struct callgrind *c)
{
    size_t call = 0;

    for (size_t i = 0; i < c->lines.items.count;) {
        uint32_t function = (uint32_t)c->lines.items.items[c->line_order[i]].from;
        bool begun = false;

        for (; i < c->lines.items.count; i++) {
            uint32_t index = c->line_order[i];

            if (c->lines.items.items[index].from != function)
                break;
            if (cairn_edges_empty(&c->lines, index))
                continue;
            if (!begun) {
                cairn_buf_u8(&c->out->buf, '\n');
                CAIRN_TRY(put_file(c, "fl", function));
                CAIRN_TRY(put_function(c, "fn", function));
                begun = true;
            }
            put_cost(c, (uint32_t)c->lines.items.items[index].to, &c->lines.totals.self[index]);
        }
        if (begun)
            CAIRN_TRY(put_calls(c, function, &call));
    }
    return cairn_outlet_drain(c->out);
}

static void put_version(struct callgrind *c)
{
    cairn_buf_add_str(&c->out->buf, "# callgrind format\nversion: 1\ncreator: cairn " CAIRN_VERSION
                                    "\npositions: line\n");
}

/* --- calls that were counted --- */

static int compare_callers(const void *a, const void *b)
{
    const struct cairn_exact_caller *left = a, *right = b;

    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    return (left->callee > right->callee) - (left->callee < right->callee);
}

static int compare_lines(const void *a, const void *b)
{
    const struct cairn_exact_line *left = a, *right = b;

    return (left->function > right->function) - (left->function < right->function);
}

static int put_exact_line(struct callgrind *c, const struct cairn_exact_table *table,
                          const struct cairn_exact_line *line, size_t *at)
{
    uint32_t place = c->functions[line->function].first_line;

    cairn_buf_u8(&c->out->buf, '\n');
    CAIRN_TRY(put_file(c, "fl", line->function));
    CAIRN_TRY(put_function(c, "fn", line->function));
    cairn_buf_printf(&c->out->buf, "%" PRIu32 " %" PRIu64 "\n", place, line->self_ns);
    for (; *at < table->callers.count; (*at)++) {
        const struct cairn_exact_caller *call = &table->callers.items[*at];

        if (call->function > line->function)
            break;
        if (call->function < line->function || (call->calls == 0 && call->total_ns == 0))
            continue;
        CAIRN_TRY(put_file(c, "cfi", call->callee));
        CAIRN_TRY(put_function(c, "cfn", call->callee));
        /* A generator that goes on is no call, and time without one would be the caller's own. */
        cairn_buf_printf(&c->out->buf, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 "\n",
                         call->calls > 0 ? call->calls : 1, c->functions[call->callee].first_line,
                         place, call->total_ns);
    }
    return cairn_outlet_drain(c->out);
}

static int put_exact(struct callgrind *c)
{
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(c->tally, CAIRN_SORT_NAME, &table);
    size_t at = 0;

    if (code == 0) {
        put_version(c);
        if (cairn_exact_misses(&table))
            cairn_buf_printf(&c->out->buf,
                             "desc: Note: not all calls were counted, %zu functions were let go, "
                             "%zu counted without their times\n",
                             table.let_go, table.untimed);
        cairn_buf_printf(&c->out->buf,
                         "event: ns : wall time in nanoseconds, counted\nevents: ns\n"
                         "summary: %" PRIu64 "\n",
                         table.self_ns);
        if (table.callers.count > 0)
            qsort(table.callers.items, table.callers.count, sizeof(*table.callers.items),
                  compare_callers);
        if (table.lines.count > 0)
            qsort(table.lines.items, table.lines.count, sizeof(*table.lines.items), compare_lines);
    }
    for (size_t i = 0; code == 0 && i < table.lines.count; i++)
        code = put_exact_line(c, &table, &table.lines.items[i], &at);
    cairn_exact_table_release(&table);
    return code;
}

/* --- samples --- */

static int put_head(struct callgrind *c)
{
    const char *metric = cairn_metric_name(c->tally->filter.metric);
    const struct cairn_weight *total = &c->tally->total;

    put_version(c);
    /* Names of events are words; what they mean may be a sentence. */
    cairn_buf_printf(&c->out->buf, "event: ns : %s time in nanoseconds\n", metric);
    cairn_buf_add_str(&c->out->buf, c->tally->counted
                                        ? "event: samples : Samples\nevents: ns samples\nsummary: "
                                        : "events: ns\nsummary: ");
    return put_weight(c, total);
}

static int write_all(struct callgrind *c)
{
    size_t function_count = cairn_model_functions(c->tally->model, &c->functions);

    c->named = cairn_calloc(function_count + 1, sizeof(*c->named));
    c->edges = cairn_calloc(c->node_count, sizeof(*c->edges));
    if (!c->named || !c->edges)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(cairn_intern_init(&c->files, TEXTS_MAX_BYTES));
    if (cairn_exact_table_has(c->tally))
        return put_exact(c);
    CAIRN_TRY(sum_lines(c));
    CAIRN_TRY(sum_calls(c));
    CAIRN_TRY(sort_edges(&c->lines, &c->line_order));
    CAIRN_TRY(sort_edges(&c->calls, &c->call_order));
    CAIRN_TRY(put_head(c));
    return put_functions(c);
}

int cairn_export_callgrind(const struct cairn_tally *tally,
                           const struct cairn_export_options *options, struct cairn_outlet *out)
{
    struct callgrind c = {.tally = tally, .out = out};
    int code;

    (void)options; /* it has lines of calls, and no room for threads */
    c.node_count = cairn_model_nodes(tally->model, &c.nodes);
    cairn_model_frames(tally->model, &c.frames);
    cairn_buf_init(&c.text, TEXT_MAX_BYTES);
    code = write_all(&c);
    cairn_edges_release(&c.lines);
    cairn_edges_release(&c.calls);
    cairn_intern_release(&c.files);
    cairn_buf_release(&c.text);
    free(c.named);
    free(c.edges);
    free(c.line_order);
    free(c.call_order);
    return code;
}
