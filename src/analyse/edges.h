/* edges.h: self and total of a tally's stacks, grouped by whatever leads to each of their frames:
 * a caller and a callee, a function and a line. */
#ifndef CAIRN_EDGES_H
#define CAIRN_EDGES_H

#include "totals.h"
#include "vec.h"

struct cairn_edge {
    uint64_t from, to; /* what they mean is the caller's */
};

struct cairn_edges {
    CAIRN_VEC(struct cairn_edge) items; /* in the order in which nodes first have them */
    struct cairn_totals totals;         /* of each: once for a stack that has it several times */
};

/* `node_edges`: the edge of each node of the tally's model; that of node 0 is not looked at. 0,
 * -CAIRN_ENOMEM or -CAIRN_ELIMIT; release in all cases. */
int cairn_edges_make(const struct cairn_tally *tally, const struct cairn_edge *node_edges,
                     struct cairn_edges *ret_edges);
void cairn_edges_release(struct cairn_edges *edges);

/* Whether no sample is behind it. */
bool cairn_edges_empty(const struct cairn_edges *edges, size_t index);

#endif
