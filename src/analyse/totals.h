/* totals.h: self and total sums over a tree of stacks, by any grouping of its frames. */
#ifndef CAIRN_TOTALS_H
#define CAIRN_TOTALS_H

#include "tally.h"

struct cairn_totals {
    struct cairn_weight *self, *total; /* `group_count` of them */
};

/* `weights`: of the nodes themselves, `node_count` of them; `frame_groups`: the group of each
 * frame, below `group_count`. A group that a stack holds several times counts once in total. The
 * stack may be of any depth. 0 or -CAIRN_ENOMEM; cairn_totals_release() it. */
int cairn_totals_make(const struct cairn_node *nodes, size_t node_count,
                      const struct cairn_weight *weights, const uint32_t *frame_groups,
                      size_t group_count, struct cairn_totals *ret_totals);
void cairn_totals_release(struct cairn_totals *totals);

#endif
