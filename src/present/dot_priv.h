/* dot_priv.h: what the makers of a graph share: dot.c makes it of a table, dot_text.c and
 * dot_compare.c write it. */
#ifndef CAIRN_DOT_PRIV_H
#define CAIRN_DOT_PRIV_H

#include "dot.h"
#include "vec.h"

#define CAIRN_DOT_TIMES "\xc3\x97" /* the sign */
#define CAIRN_DOT_NO_NUMBER UINT32_MAX

struct cairn_dot_call {      /* calls from one function to another */
    uint32_t caller, callee; /* numbers of nodes */
    bool kept;
    const struct cairn_prof_numbers *numbers;
};

struct cairn_dot_node {
    uint32_t key;
    bool kept;
    long far;          /* calls from a root, or to a leaf */
    double weight;     /* what it is coloured by */
    size_t first_call; /* of those it makes; the next node's is the end */
};

struct cairn_dot {
    const struct cairn_prof *prof;
    const struct cairn_dot_options *options;
    const struct cairn_dot_theme *theme;
    struct cairn_buf text, wrapped;
    double whole_self_s, whole_total_s;
    uint32_t *numbers; /* of each key; those of nodes are given out as functions are met */
    CAIRN_VEC(struct cairn_dot_node) nodes; /* one more, for its first_call, behind them */
    CAIRN_VEC(struct cairn_dot_call) calls; /* by caller, then callee */
};

/* What the options leave of a table, which is borrowed. As cairn_dot_write(); to be released where
 * it does not fail. */
int cairn_dot_make(const struct cairn_prof *prof, const struct cairn_dot_options *options,
                   struct cairn_dot *ret_dot, struct cairn_err *err);
void cairn_dot_release(struct cairn_dot *dot);

/* 0 to 1. */
double cairn_dot_share(double part_s, double whole_s);

/* All 0 of what was called and has no row. */
const struct cairn_prof_numbers *cairn_dot_numbers(const struct cairn_dot *dot,
                                                   const struct cairn_dot_node *node);

/* "module:line:function", in `text`: the file's name without folder and ending. */
int cairn_dot_name(struct cairn_dot *dot, uint32_t key);

/* Whether the name that was made last is as `glob` says. */
bool cairn_dot_is_named(struct cairn_dot *dot, const char *glob);

/* What stands in a box below the name; how many. */
size_t cairn_dot_labels(const struct cairn_dot_options *options,
                        const enum cairn_dot_measure **ret_labels);

/* The first lines. `shape`: of boxes that name none, with ", " behind it, or "". */
void cairn_dot_put_head(const struct cairn_dot_theme *theme, const char *shape,
                        struct cairn_buf *out);

/* `text` within the quotes of DOT. */
void cairn_dot_put_quoted(struct cairn_buf *out, struct cairn_span text);

/* A name within them, `whole` or as the options want it. */
int cairn_dot_put_name(struct cairn_dot *dot, uint32_t key, bool whole, struct cairn_buf *out);
void cairn_dot_put_measure(struct cairn_dot *dot, const struct cairn_prof_numbers *numbers,
                           enum cairn_dot_measure measure, struct cairn_buf *out);

/* The function's file, without quotes where DOT needs none. */
int cairn_dot_put_tooltip(struct cairn_dot *dot, uint32_t key, struct cairn_buf *out);

/* A line of the graph. */
void cairn_dot_put_call(struct cairn_dot *dot, const struct cairn_dot_call *call, double weight,
                        struct cairn_span label, struct cairn_buf *out);

#endif
