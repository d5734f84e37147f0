/* Who calls a function and whom it calls (table.h). */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "handle.h"
#include "pyregex.h"
#include "row_spread.h"
#include "table_priv.h"

#define NOBODY UINT32_MAX /* not in a matched function */
#define FROM_ROOT (UINT32_MAX - 1)
#define ITSELF (UINT32_MAX - 2)

static bool is_text(struct cairn_span text, const char *other)
{
    size_t size_bytes = strlen(other);

    return text.size_bytes == size_bytes && !memcmp(text.data, other, size_bytes);
}

static size_t match_exactly(const struct cairn_function *functions, size_t count, const char *name,
                            bool *matched)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        matched[i] = is_text(functions[i].name, name) || is_text(functions[i].qualname, name);
        found += matched[i];
    }
    return found;
}

static size_t match_handle(const struct cairn_function *functions, size_t count, const char *text,
                           bool *matched)
{
    uint64_t handle;
    size_t found = 0;

    if (!cairn_handle_read(CAIRN_HANDLE_FUNCTION, text, &handle))
        return 0;
    for (size_t i = 0; i < count; i++) {
        matched[i] = cairn_handle_function(&functions[i]) == handle;
        found += matched[i];
    }
    return found;
}

static int match_regex(const struct cairn_function *functions, size_t count, const char *name,
                       bool *matched, size_t *ret_found, struct cairn_err *err)
{
    struct cairn_pyregex *regex;
    int code = cairn_pyregex_make((struct cairn_span){(const uint8_t *)name, strlen(name)},
                                  CAIRN_PYREGEX_AND_GREP, &regex);

    if (code < 0)
        return cairn_err_set(err, code, 0, "callers",
                             "\"%s\" is neither a function of this recording nor a regex", name);
    *ret_found = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        code = cairn_pyregex_search(regex, functions[i].qualname, &matched[i]);
        *ret_found += matched[i];
    }
    cairn_pyregex_free(regex);
    return code < 0 ? cairn_err_set(err, code, 0, "callers", "cannot search for \"%s\"", name) : 0;
}

/* For each node whose stack holds a matched function: who called the outermost one, and whom the
 * innermost one calls. Parents come before children. */
static void find_edges(const struct cairn_model *model, const bool *matched, uint32_t *callers,
                       uint32_t *callees)
{
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    size_t count = cairn_model_nodes(model, &nodes);

    cairn_model_frames(model, &frames);
    callers[0] = callees[0] = NOBODY;
    for (size_t i = 1; i < count; i++) {
        uint32_t function = frames[nodes[i].frame].function, parent = nodes[i].parent;

        callers[i] = callers[parent];
        callees[i] = callees[parent];
        if (matched[function]) {
            if (callers[i] == NOBODY)
                callers[i] = parent ? frames[nodes[parent].frame].function : FROM_ROOT;
            callees[i] = ITSELF;
        } else if (callees[parent] == ITSELF) {
            callees[i] = function;
        }
    }
}

/* Sums by the functions that the `edges` of the cells' nodes name; behind them, for the root. */
static void add_edges(const struct cairn_tally *tally, const uint32_t *edges, size_t root,
                      struct cairn_weight *weights, struct cairn_weight *base)
{
    for (size_t i = 0; i < tally->cell_count; i++) {
        const struct cairn_cell *cell = &tally->cells[i];
        uint32_t edge = edges[cell->node];
        size_t at = edge == FROM_ROOT ? root : edge;

        if (edge == NOBODY)
            continue;
        base->ticks += cell->weight.ticks;
        base->value_ns += cell->weight.value_ns;
        if (edge == ITSELF)
            continue;
        weights[at].ticks += cell->weight.ticks;
        weights[at].value_ns += cell->weight.value_ns;
    }
}

static const struct cairn_row root_row = {
    .name = {(const uint8_t *)"", 0},
    .qualname = {(const uint8_t *)"", 0},
    .kind = "label",
    .origin = CAIRN_ORIGIN_NONE,
    .function = UINT32_MAX,
    .process = UINT32_MAX,
    .thread = UINT32_MAX,
};

static const struct cairn_rows_options edge_options = {.sort = CAIRN_SORT_TOTAL, .with_idle = true};

static int make_edges(const struct cairn_tally *tally, const void *ctx, struct cairn_rows *rows)
{
    const uint32_t *edges = ctx;
    const struct cairn_function *functions;
    size_t count = cairn_model_functions(tally->model, &functions);
    struct cairn_weight *weights = cairn_calloc(count + 1, sizeof(*weights));

    if (!weights || cairn_rows_begin(tally, &edge_options, count + 1, rows) < 0) {
        free(weights);
        return -CAIRN_ENOMEM;
    }
    rows->base = (struct cairn_weight){0};
    add_edges(tally, edges, count, weights, &rows->base);
    for (size_t i = 0; i <= count; i++) {
        struct cairn_row *row = &rows->items[rows->count];

        if (!weights[i].ticks && !weights[i].value_ns)
            continue;
        if (i < count)
            cairn_row_function(tally->model, (uint32_t)i, row);
        else
            *row = root_row;
        row->line = row->first_line;
        row->total = weights[i];
        rows->count++;
    }
    free(weights);
    return 0;
}

static int make_sure_edges(const struct cairn_tally *tally, const uint32_t *edges,
                           struct cairn_rows *rows)
{
    CAIRN_TRY(make_edges(tally, edges, rows));
    CAIRN_TRY(cairn_rows_spread(tally, make_edges, edges, rows));
    cairn_rows_finish(tally, &edge_options, rows);
    return 0;
}

/* Keeps the rows of matched functions. */
static int make_selves(const struct cairn_tally *tally, const bool *matched,
                       struct cairn_rows *rows, struct cairn_err *err)
{
    const struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION, .with_idle = true};
    size_t kept = 0;

    CAIRN_TRY(cairn_rows_make(tally, &options, rows, err));
    for (size_t i = 0; i < rows->count; i++)
        if (matched[rows->items[i].function])
            rows->items[kept++] = rows->items[i];
    rows->count = kept;
    return 0;
}

int cairn_rows_match(const struct cairn_model *model, const char *name, bool *matched,
                     struct cairn_err *err)
{
    const struct cairn_function *functions;
    size_t count = cairn_model_functions(model, &functions);
    size_t found = match_exactly(functions, count, name, matched);

    if (!found)
        found = match_handle(functions, count, name, matched);
    if (!found)
        CAIRN_TRY(match_regex(functions, count, name, matched, &found, err));
    if (!found)
        return cairn_err_set(err, -CAIRN_ENOTFOUND, 0, "callers",
                             "no function of this recording is called \"%s\"", name);
    return 0;
}

int cairn_rows_callers(const struct cairn_tally *tally, const char *name,
                       struct cairn_rows *ret_callers, struct cairn_rows *ret_callees,
                       struct cairn_rows *ret_self, struct cairn_err *err)
{
    const struct cairn_function *functions;
    const struct cairn_node *nodes;
    size_t node_count = cairn_model_nodes(tally->model, &nodes);
    bool *matched = cairn_calloc(cairn_model_functions(tally->model, &functions), sizeof(bool));
    uint32_t *callers = cairn_calloc(node_count, sizeof(*callers));
    uint32_t *callees = cairn_calloc(node_count, sizeof(*callees));
    struct cairn_rows rows[3] = {{0}, {0}, {0}};
    int code = -CAIRN_ENOMEM;

    if (!matched || !callers || !callees) {
        cairn_err_set(err, code, 0, "callers", "cannot find the callers");
        goto out;
    }
    code = cairn_rows_match(tally->model, name, matched, err);
    if (code < 0)
        goto out;
    find_edges(tally->model, matched, callers, callees);
    code = make_selves(tally, matched, &rows[2], err);
    if (code < 0)
        goto out;
    if (make_sure_edges(tally, callers, &rows[0]) < 0 ||
        make_sure_edges(tally, callees, &rows[1]) < 0) {
        code = cairn_err_set(err, -CAIRN_ENOMEM, 0, "callers", "cannot find the callers");
        goto out;
    }
    *ret_callers = rows[0];
    *ret_callees = rows[1];
    *ret_self = rows[2];
out:
    for (int i = 0; i < 3 && code < 0; i++)
        cairn_rows_release(&rows[i]);
    free(matched);
    free(callers);
    free(callees);
    return code;
}
