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
    bool wrap;                           /* long names on several lines */
    const char *root, *leaf;             /* globs of names, "module:line:function"; NULL: none */
    long depth;                          /* calls from the root, or to the leaf; -1: any */
    const char *const *paths;            /* only functions of files that begin so, */
    size_t path_count;                   /* where there are any */
    enum cairn_dot_measure labels[CAIRN_DOT_LABELS_MAX];
    size_t label_count;      /* 0: the shares of total and self */
    const char *time_format; /* what cairn_dot_is_time_format() says yes to; NULL: "%.7g" */
    const char *list; /* a glob of names: those alone, one a line, of what is left; NULL: none */
};

/* 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT, -CAIRN_ENOTFOUND with `err` filled (NULL allowed) where nothing
 * is called as root or leaf say, or what the outlet says. */
int cairn_dot_write(const struct cairn_prof *prof, const struct cairn_dot_options *options,
                    struct cairn_outlet *out, struct cairn_err *err);

/* What gprof2dot's --compare makes of two tables: the graph of the first one, with what differs in
 * the second one. Functions are paired by the name in their box. */
struct cairn_dot_compare {
    double tolerance;   /* points of a percentage, > 0: what differs by less does not */
    bool only_slower;   /* what has less of the whole in the second one is shown as if it had not */
    bool only_faster;   /* what has more */
    bool by_difference; /* boxes are coloured by how much they differ, by nothing else */
};

int cairn_dot_compare(const struct cairn_prof *before, const struct cairn_prof *after,
                      const struct cairn_dot_options *options,
                      const struct cairn_dot_compare *compare, struct cairn_outlet *out,
                      struct cairn_err *err);

/* Whether it is one that Python's % writes one number with, and no more: text, %%, and one of
 * %[-+ #0][WIDTH][.PRECISION] and d, e, f, g, i or u, in capitals too where Python knows them. */
bool cairn_dot_is_time_format(const char *format);

/* For dot.c: so many seconds by such a format. */
void cairn_dot_time(struct cairn_buf *out, const char *format, double seconds);

/* For dot.c: `name` as Python's textwrap breaks it into lines of 32 characters where it is longer,
 * at blanks and within words that a hyphen joins; then blanks are taken out as gprof2dot does. What
 * the buffer's code became. */
int cairn_dot_wrap(struct cairn_buf *out, struct cairn_span name);

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
