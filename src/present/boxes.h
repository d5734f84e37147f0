/* boxes.h: the stacks of a tally as the boxes of a flame graph, and no more of them than asked for.
 *
 * Boxes stand in depth-first order, children by their time, the longest first; frames of one
 * function, or of one line of it, are one. What is left out is told: of each box the time of those
 * below it that are not shown, so that self, hidden and the children's totals are its total.
 * Owner: owns its memory; borrows nothing once made. Threads: after making, any may read.
 */
#ifndef CAIRN_BOXES_H
#define CAIRN_BOXES_H

#include "tally.h"

struct cairn_boxes_options {
    bool by_line, with_idle;
    size_t depth_max; /* boxes above one another; 0: all */
    double least;     /* part of the root's time; boxes with less are left out */
    size_t limit;     /* the largest so many; 0: all */
    uint64_t root;    /* handle of the stack below which to look; 0: all */
};

struct cairn_box {
    uint32_t parent;                /* box, UINT32_MAX: none that is shown */
    uint32_t function, line, depth; /* function: of the model; line 0: of all; depth from 1 */
    uint64_t handle;
    struct cairn_weight self, total;
    uint64_t hidden_ns;
};

struct cairn_boxes {
    struct cairn_box *items;
    size_t count, left_out;
    struct cairn_weight base; /* of all stacks, whatever the root */
    uint64_t hidden_ns;       /* of boxes left out that stand on none that is shown */
};

/* 0; -CAIRN_ENOTFOUND when no stack has that handle; -CAIRN_ENOMEM or -CAIRN_ELIMIT. On success
 * cairn_boxes_release() them. */
int cairn_boxes_make(const struct cairn_tally *tally, const struct cairn_boxes_options *options,
                     struct cairn_boxes *ret_boxes);
void cairn_boxes_release(struct cairn_boxes *boxes);

#endif
