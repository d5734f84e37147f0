/* stacktree.h: the stacks of a tally as one tree of labels, as people see frames.
 *
 * Frames that read the same are one: two instructions of a line, or with other options two lines
 * of a function. Nodes stand in depth-first order, children by the bytes of their label, so that
 * the order says nothing about how the recording was made. Node 0 is the root, without a label.
 * Holds always: a node's parent is smaller than the node; the nodes below n are n+1..end-1; total
 * is self and the totals of the children.
 * Owner: owns its memory; borrows nothing once made. Threads: after making, any may read.
 */
#ifndef CAIRN_STACKTREE_H
#define CAIRN_STACKTREE_H

#include "export.h"
#include "intern.h"

struct cairn_stacktree_node {
    uint32_t parent, label, depth; /* label: of `labels`; depth 0 is the root */
    uint32_t end;
    struct cairn_weight self, total;
};

struct cairn_stacktree {
    struct cairn_intern labels;
    CAIRN_VEC(uint8_t) origins; /* of each label: enum cairn_origin; NONE for prefixes */
    struct cairn_stacktree_node *nodes;
    size_t count;
    uint32_t depth_max;
};

/* "qualname (path:line)", "symbol [module]", "[torn]": not escaped. */
void cairn_frame_text(struct cairn_buf *out, const struct cairn_model *model, uint32_t frame,
                      enum cairn_export_lines lines);

/* Of the options, lines, threads and processes matter; lines is not DEFAULT. 0, -CAIRN_ENOMEM or
 * -CAIRN_ELIMIT; `ret_tree` is released by the caller in every case. */
int cairn_stacktree_make(const struct cairn_tally *tally,
                         const struct cairn_export_options *options,
                         struct cairn_stacktree *ret_tree);
void cairn_stacktree_release(struct cairn_stacktree *tree);

#endif
