/* dot.h: a graph of calls for graphviz, as gprof2dot makes one of a .prof file, letter by letter:
 * people know what its colours and numbers mean.
 *
 * Functions and calls with less of the whole than the options say are left out first; of what is
 * left, what no chosen root reaches, and what reaches no chosen leaf.
 */
#ifndef CAIRN_DOT_H
#define CAIRN_DOT_H

#include "outlet.h"
#include "prof.h"

enum cairn_dot_measure { /* what stands in a box below the name */
                         CAIRN_DOT_TOTAL_SHARE,
                         CAIRN_DOT_SELF_SHARE,
                         CAIRN_DOT_TOTAL_TIME,
                         CAIRN_DOT_SELF_TIME,
                         CAIRN_DOT_MEASURES
};

#define CAIRN_DOT_LABELS_MAX 16

struct cairn_dot_theme; /* colours, and sizes of text and lines */

/* "bw" "color" "gray" "pink" "print"; NULL: there is no such theme. */
const struct cairn_dot_theme *cairn_dot_theme(const char *name);

struct cairn_dot_options {
    double node_least, edge_least;       /* part of the whole, 0 to 1 */
    const struct cairn_dot_theme *theme; /* NULL: color */
    double skew;                         /* of the colours' curve, > 0; 0: 1 */
    bool by_self;                        /* boxes are coloured by the function's own time */
    bool strip;                          /* names without what stands in brackets */
    const char *root, *leaf;             /* globs of names, "module:line:function"; NULL: none */
    long depth;                          /* calls from the root, or to the leaf; -1: any */
    const char *const *paths;            /* only functions of files that begin so, */
    size_t path_count;                   /* where there are any */
    enum cairn_dot_measure labels[CAIRN_DOT_LABELS_MAX];
    size_t label_count; /* 0: the shares of total and self */
    const char *list;   /* a glob of names: those alone, one a line, of what is left; NULL: none */
};

/* 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT, -CAIRN_ENOTFOUND with `err` filled (NULL allowed) where nothing
 * is called as root or leaf say, or what the outlet says. */
int cairn_dot_write(const struct cairn_prof *prof, const struct cairn_dot_options *options,
                    struct cairn_outlet *out, struct cairn_err *err);

/* For dot.c: of a weight from 0 to 1. */
void cairn_dot_colour(struct cairn_buf *out, const struct cairn_dot_theme *theme, double weight,
                      double skew);
void cairn_dot_text_colour(struct cairn_buf *out, const struct cairn_dot_theme *theme,
                           double weight, double skew); /* within a box */
double cairn_dot_font_size(const struct cairn_dot_theme *theme, double weight);
double cairn_dot_line_width(const struct cairn_dot_theme *theme, double weight);
const char *cairn_dot_font_colour(const struct cairn_dot_theme *theme); /* "white" */
const char *cairn_dot_box_style(const struct cairn_dot_theme *theme);   /* "filled" */

#endif
