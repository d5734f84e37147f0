#include "edges.h"

#include <stdlib.h>

#include "alloc.h"
#include "map.h"

struct work { /* arrays are as long as the model's nodes */
    struct cairn_weight *weights;
    struct cairn_node *nodes; /* the tree again, with each node's number for its frame */
    uint32_t *groups;         /* the edge of each node */
    struct cairn_map ids;
};

static int find_groups(struct work *work, const struct cairn_node *nodes, size_t count,
                       const struct cairn_edge *node_edges, struct cairn_edges *edges)
{
    for (size_t i = 1; i < count; i++) {
        const struct cairn_edge *edge = &node_edges[i];
        uint64_t id = edges->items.count;

        if (!cairn_map_get(&work->ids, edge->from, edge->to, &id)) {
            CAIRN_TRY(cairn_vec_reserve(&edges->items, edges->items.count + 1, count));
            CAIRN_TRY(cairn_map_put(&work->ids, edge->from, edge->to, id));
            edges->items.items[edges->items.count++] = *edge;
        }
        work->nodes[i] = (struct cairn_node){nodes[i].parent, (uint32_t)i};
        work->groups[i] = (uint32_t)id;
    }
    return 0;
}

static int fill(struct work *work, const struct cairn_tally *tally,
                const struct cairn_edge *node_edges, struct cairn_edges *edges)
{
    const struct cairn_node *nodes;
    size_t count = cairn_model_nodes(tally->model, &nodes);

    work->weights = cairn_calloc(count, sizeof(*work->weights));
    work->nodes = cairn_calloc(count, sizeof(*work->nodes));
    work->groups = cairn_calloc(count, sizeof(*work->groups));
    if (!work->weights || !work->nodes || !work->groups)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < tally->cell_count; i++) {
        const struct cairn_cell *cell = &tally->cells[i];

        work->weights[cell->node].ticks += cell->weight.ticks;
        work->weights[cell->node].value_ns += cell->weight.value_ns;
    }
    cairn_map_init(&work->ids, count);
    CAIRN_TRY(find_groups(work, nodes, count, node_edges, edges));
    return cairn_totals_make(work->nodes, count, work->weights, work->groups, edges->items.count,
                             &edges->totals);
}

int cairn_edges_make(const struct cairn_tally *tally, const struct cairn_edge *node_edges,
                     struct cairn_edges *ret_edges)
{
    struct work work = {0};
    int code;

    *ret_edges = (struct cairn_edges){0};
    code = fill(&work, tally, node_edges, ret_edges);
    free(work.weights);
    free(work.nodes);
    free(work.groups);
    cairn_map_release(&work.ids);
    return code;
}

void cairn_edges_release(struct cairn_edges *edges)
{
    cairn_vec_release(&edges->items);
    cairn_totals_release(&edges->totals);
}

bool cairn_edges_empty(const struct cairn_edges *edges, size_t index)
{
    const struct cairn_weight *total = &edges->totals.total[index];

    return total->ticks == 0 && total->value_ns == 0;
}
