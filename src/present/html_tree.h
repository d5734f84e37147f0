/* html_tree.h: the stacks of a tally as the page knows them: by line, not by instruction, and of
 * functions only those that stand on a stack, or were counted by line or instruction. The numbers
 * are the page's own, dense, in the order of the model's.
 *
 * Holds always: a node's parent is smaller than the node; node 0 is the empty stack.
 * Owner: owns its memory. Threads: after making, any number may read.
 */
#ifndef CAIRN_HTML_TREE_H
#define CAIRN_HTML_TREE_H

#include "tally.h"
#include "vec.h"

/* What a page is made of, by one filter but for what they are sums of. */
struct cairn_html_tallies {
    const struct cairn_tally *wall;  /* of samples */
    const struct cairn_tally *calls; /* of the metric counted; NULL: none */
    const struct cairn_tally *tasks; /* of all asyncio tasks; may be empty */
};

struct cairn_html_node {
    uint32_t parent, frame;
};

struct cairn_html_frame {
    uint32_t function, line; /* function: of `functions` */
};

#define CAIRN_HTML_NONE UINT32_MAX

struct cairn_html_tree {
    uint32_t *node_of;     /* of each node of the tally's model; 0 where nothing stands */
    uint32_t *function_of; /* of each function of the model; CAIRN_HTML_NONE: it is not here */
    CAIRN_VEC(struct cairn_html_node) nodes;
    CAIRN_VEC(struct cairn_html_frame) frames;
    CAIRN_VEC(uint32_t) functions; /* of the model */
};

/* The stacks of all the tallies of a page, of `wall` also what was counted besides. 0,
 * -CAIRN_ENOMEM or -CAIRN_ELIMIT; released by the caller in every case. */
int cairn_html_tree_make(const struct cairn_html_tallies *tallies,
                         struct cairn_html_tree *ret_tree);
void cairn_html_tree_release(struct cairn_html_tree *tree);

#endif
