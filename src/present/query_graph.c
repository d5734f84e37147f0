/* The call graph: functions, and who called whom. Idle waiting is counted in, as with callers. */
#include <stdlib.h>

#include "alloc.h"
#include "edges.h"
#include "escape.h"
#include "query_parts.h"

static int make_edges(const struct cairn_tally *tally, struct cairn_edges *ret_edges)
{
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    size_t count = cairn_model_nodes(tally->model, &nodes);
    struct cairn_edge *edges = cairn_calloc(count, sizeof(*edges));
    int code;

    *ret_edges = (struct cairn_edges){0};
    if (!edges)
        return -CAIRN_ENOMEM;
    cairn_model_frames(tally->model, &frames);
    for (size_t i = 1; i < count; i++) {
        uint32_t parent = nodes[i].parent;

        edges[i].from = parent ? frames[nodes[parent].frame].function : UINT32_MAX;
        edges[i].to = frames[nodes[i].frame].function;
    }
    code = cairn_edges_make(tally, edges, ret_edges);
    free(edges);
    return code;
}

static void put_edge(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_edges *edges, size_t at, uint64_t base_ns)
{
    const struct cairn_weight *total = &edges->totals.total[at];

    cairn_json_object(json);
    cairn_report_json_handle(json, "caller", tally->model, (uint32_t)edges->items.items[at].from);
    cairn_report_json_handle(json, "callee", tally->model, (uint32_t)edges->items.items[at].to);
    cairn_json_put_seconds(json, "total_s", total->value_ns);
    cairn_json_put_number(json, "total_share",
                          base_ns ? (double)total->value_ns / (double)base_ns : 0);
    cairn_json_put_known(json, "total_samples", !tally->pieces, total->ticks);
    cairn_json_close(json);
}

static int by_total(const void *left, const void *right, void *ctx)
{
    const struct cairn_weight *total = ctx;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;

    if (total[a].value_ns != total[b].value_ns)
        return total[a].value_ns > total[b].value_ns ? -1 : 1;
    return (a > b) - (a < b);
}

/* Edges between functions that are kept, the longest first. */
static void rank(const struct cairn_edges *edges, const bool *kept, uint64_t least_ns,
                 size_t *order, size_t *ret_count, size_t *ret_left_out)
{
    *ret_count = *ret_left_out = 0;
    for (size_t i = 0; i < edges->items.count; i++) {
        const struct cairn_edge *edge = &edges->items.items[i];

        if (cairn_edges_empty(edges, i))
            continue;
        if (edges->totals.total[i].value_ns >= least_ns && kept[edge->to] &&
            (edge->from == UINT32_MAX || kept[edge->from]))
            order[(*ret_count)++] = i;
        else
            ++*ret_left_out;
    }
    qsort_r(order, *ret_count, sizeof(*order), by_total, edges->totals.total);
}

static int put_edges(struct cairn_json *json, const struct cairn_tally *tally, const bool *kept,
                     uint64_t base_ns, uint64_t least_ns, struct cairn_outlet *out)
{
    struct cairn_edges edges;
    size_t count, left_out, *order = NULL;
    int code = make_edges(tally, &edges);

    if (code == 0) {
        order = cairn_calloc(edges.items.count + 1, sizeof(*order));
        code = order ? 0 : -CAIRN_ENOMEM;
    }
    if (code == 0) {
        rank(&edges, kept, least_ns, order, &count, &left_out);
        cairn_json_put_u64(json, "edges_left_out", tally->known ? left_out : 0);
        cairn_json_key(json, cairn_span_of("edges"));
        cairn_json_array(json);
        for (size_t i = 0; i < count && tally->known && code == 0; i++) {
            put_edge(json, tally, &edges, order[i], base_ns);
            code = cairn_outlet_drain(out);
        }
        cairn_json_close(json);
    }
    free(order);
    cairn_edges_release(&edges);
    return code;
}

int cairn_query_put_graph(struct cairn_json *json, const struct cairn_tally *tally,
                          const struct cairn_query *query, struct cairn_outlet *out,
                          struct cairn_err *err)
{
    const struct cairn_rows_options options = {
        .by = CAIRN_BY_FUNCTION, .sort = CAIRN_SORT_TOTAL, .with_idle = true};
    const struct cairn_function *functions;
    bool *kept = cairn_calloc(cairn_model_functions(tally->model, &functions) + 1, sizeof(bool));
    struct cairn_rows rows = {0};
    size_t count = 0, all;
    uint64_t base_ns, least_ns;
    int code;

    if (!kept)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "query", "cannot make the graph");
    code = cairn_rows_make(tally, &options, &rows, err);
    if (code < 0) {
        free(kept);
        return code;
    }
    base_ns = rows.base.value_ns;
    least_ns = (uint64_t)(query->least * (double)base_ns);
    all = rows.count;
    for (size_t i = 0; i < all; i++) {
        bool room = query->report.limit == 0 || count < query->report.limit;

        if (room && rows.items[i].total.value_ns >= least_ns) {
            kept[rows.items[i].function] = true;
            rows.items[count++] = rows.items[i];
        }
    }
    rows.count = count;
    cairn_json_put_seconds(json, "base_s", base_ns);
    cairn_json_put_u64(json, "left_out", tally->known ? all - count : 0);
    code = cairn_report_json_rows(json, "rows", tally, &rows, 0, out);
    if (code == 0)
        code = put_edges(json, tally, kept, base_ns, least_ns, out);
    if (code == -CAIRN_ENOMEM || code == -CAIRN_ELIMIT)
        cairn_err_set(err, code, 0, "query", "cannot make the graph");
    cairn_rows_release(&rows);
    free(kept);
    return code;
}
