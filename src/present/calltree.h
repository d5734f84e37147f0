/* calltree.h: the stacks of a tally with frames of one function, or of one line of it, made one.
 *
 * For formats that tell of calls in time: that another line of a caller runs is no other call.
 * Holds always: a node's parent is smaller than the node; node 0 is the root, which is no function.
 * Owner: owns its memory; borrows the tally's model. Threads: after making, any may read.
 */
#ifndef CAIRN_CALLTREE_H
#define CAIRN_CALLTREE_H

#include "export.h"
#include "vec.h"

struct cairn_calltree_node {
    uint32_t parent, function, depth; /* depth 0 is the root */
    uint32_t line;                    /* as the options say; 0: none, or not known */
};

CAIRN_VEC_DECLARE(cairn_calltree_nodes, struct cairn_calltree_node);

struct cairn_calltree {
    struct cairn_calltree_nodes nodes;
    uint32_t *of; /* of each of the model's nodes; 0 for those that no cell of the tally needs */
};

/* `lines` is not DEFAULT; `counted`: with the stacks of calls that were counted one by one. 0,
 * -CAIRN_ENOMEM or -CAIRN_ELIMIT; released by the caller in every case. */
int cairn_calltree_make(const struct cairn_tally *tally, enum cairn_export_lines lines,
                        bool counted, struct cairn_calltree *ret_tree);
void cairn_calltree_release(struct cairn_calltree *tree);

/* The innermost node that both are, or lie below. */
uint32_t cairn_calltree_common(const struct cairn_calltree *tree, uint32_t a, uint32_t b);

#endif
