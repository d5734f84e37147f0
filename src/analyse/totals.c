#include "totals.h"

#include <stdlib.h>

#include "alloc.h"

/* The children of each node as a chain, so that the tree can be walked without a stack: down by
 * `first`, sideways by `next`, up by the node's parent. 0 ends a chain. */
struct walk {
    uint32_t *first, *next;
    uint32_t *open;               /* of each group: how often it is in the stack walked now */
    struct cairn_weight *subtree; /* of each node */
};

static void enter(const struct walk *walk, uint32_t node, uint32_t group,
                  struct cairn_weight *totals)
{
    if (walk->open[group]++)
        return;
    totals[group].ticks += walk->subtree[node].ticks;
    totals[group].value_ns += walk->subtree[node].value_ns;
}

static void add_totals(const struct walk *walk, const struct cairn_node *nodes,
                       const uint32_t *frame_groups, struct cairn_weight *totals)
{
    uint32_t node = walk->first[0];

    while (node) {
        enter(walk, node, frame_groups[nodes[node].frame], totals);
        if (walk->first[node]) {
            node = walk->first[node];
            continue;
        }
        while (node) {
            walk->open[frame_groups[nodes[node].frame]]--;
            if (walk->next[node]) {
                node = walk->next[node];
                break;
            }
            node = nodes[node].parent;
        }
    }
}

/* Chains and subtree sums in one pass backwards: children come behind their parents. Subtrees
 * without any sample are left out. */
static void link_nodes(const struct cairn_node *nodes, size_t node_count,
                       const struct cairn_weight *weights, struct walk *walk)
{
    for (size_t i = node_count; i-- > 1;) {
        uint32_t parent = nodes[i].parent;

        walk->subtree[i].ticks += weights[i].ticks;
        walk->subtree[i].value_ns += weights[i].value_ns;
        if (!walk->subtree[i].ticks && !walk->subtree[i].value_ns)
            continue;
        walk->subtree[parent].ticks += walk->subtree[i].ticks;
        walk->subtree[parent].value_ns += walk->subtree[i].value_ns;
        walk->next[i] = walk->first[parent];
        walk->first[parent] = (uint32_t)i;
    }
}

int cairn_totals_make(const struct cairn_node *nodes, size_t node_count,
                      const struct cairn_weight *weights, const uint32_t *frame_groups,
                      size_t group_count, struct cairn_totals *ret_totals)
{
    struct cairn_totals totals = {
        .self = cairn_calloc(group_count + 1, sizeof(*totals.self)),
        .total = cairn_calloc(group_count + 1, sizeof(*totals.total)),
    };
    struct walk walk = {
        .first = cairn_calloc(node_count, sizeof(*walk.first)),
        .next = cairn_calloc(node_count, sizeof(*walk.next)),
        .open = cairn_calloc(group_count + 1, sizeof(*walk.open)),
        .subtree = cairn_calloc(node_count, sizeof(*walk.subtree)),
    };
    int code = -CAIRN_ENOMEM;

    if (totals.self && totals.total && walk.first && walk.next && walk.open && walk.subtree) {
        for (size_t i = 1; i < node_count; i++) {
            struct cairn_weight *self = &totals.self[frame_groups[nodes[i].frame]];

            self->ticks += weights[i].ticks;
            self->value_ns += weights[i].value_ns;
        }
        link_nodes(nodes, node_count, weights, &walk);
        add_totals(&walk, nodes, frame_groups, totals.total);
        code = 0;
    }
    free(walk.first);
    free(walk.next);
    free(walk.open);
    free(walk.subtree);
    if (code < 0)
        cairn_totals_release(&totals);
    else
        *ret_totals = totals;
    return code;
}

void cairn_totals_release(struct cairn_totals *totals)
{
    free(totals->self);
    free(totals->total);
    totals->self = totals->total = NULL;
}
