/* pprof_text.h: google/pprof's reports: -top, -tree and -peek, -traces, -tags, -comments, -list,
 * -weblist, -dot, -raw, -proto, -topproto, -callgrind.
 *
 * Numbers, columns, headings and orders are those of pprof; docs/compat.md lists what is not.
 * Owner: all is borrowed. Threads: one at a time.
 */
#ifndef CAIRN_PPROF_TEXT_H
#define CAIRN_PPROF_TEXT_H

#include "outlet.h"
#include "pprof_filter.h"
#include "pprof_graph.h"

#define CAIRN_PPROF_ACTIVE_MAX 12

struct cairn_pprof_look {
    struct cairn_pprof_graph_options graph;
    const char *unit;                           /* "minimum": one for all that suits the smallest */
    const char *regex;                          /* of -peek and -list */
    double ratio;                               /* values are shown times that; more than 0 */
    bool integers;                              /* values have no digits behind the point */
    bool compact;                               /* without the heading about the profile */
    const char *active[CAIRN_PPROF_ACTIVE_MAX]; /* names of the filters, NULL behind the last */
    const char *values[CAIRN_PPROF_ACTIVE_MAX]; /* and what they are */
    const char *source_path, *trim_path;        /* of -list: where sources are; NULL: here */
    const char *tag_show, *tag_hide;            /* of -traces, -tags…; NULL: all labels */
    const char *comment;                        /* added to those of the file; NULL: none */
};

/* A report in the making; the functions of the parts share it. */
struct cairn_pprof_report {
    struct cairn_pprof *pprof; /* whose `total` is set */
    const struct cairn_pprof_look *look;
    const char *unit; /* that numbers are in: chosen once the graph is there */
    bool commented;   /* it has told the comments */
    struct cairn_outlet *out;
    struct cairn_err *err;
};

/* All write to out; 0, a negative code of the outlet's, or one with `err` filled: -CAIRN_ENOTFOUND
 * when nothing matches the regular expression, -CAIRN_EUSAGE when it is bad. */
int cairn_pprof_top(struct cairn_pprof_report *report);
int cairn_pprof_tree(struct cairn_pprof_report *report); /* with a regex: -peek */
int cairn_pprof_traces(struct cairn_pprof_report *report);
int cairn_pprof_list(struct cairn_pprof_report *report);
int cairn_pprof_weblist(struct cairn_pprof_report *report); /* the same as a page */
int cairn_pprof_dot(struct cairn_pprof_report *report);
int cairn_pprof_tags(struct cairn_pprof_report *report);
int cairn_pprof_comments(struct cairn_pprof_report *report);
int cairn_pprof_raw(struct cairn_pprof_report *report);
int cairn_pprof_proto(struct cairn_pprof_report *report);    /* gzipped */
int cairn_pprof_topproto(struct cairn_pprof_report *report); /* gzipped */
int cairn_pprof_callgrind(struct cairn_pprof_report *report);

/* Parts that several use. A value in the report's unit, at the right of `width` columns. */
void cairn_pprof_value(struct cairn_pprof_report *report, struct cairn_buf *out, int64_t value,
                       int width);
void cairn_pprof_choose_unit(struct cairn_pprof_report *report,
                             const struct cairn_pprof_graph *graph);
/* The value in the ratio that is asked for. */
int64_t cairn_pprof_ratio(const struct cairn_pprof_report *report, int64_t value);
/* A line for each comment, behind `head`. `heading`: without those that begin with "#", which are
 * not shown above a report. */
void cairn_pprof_add_comments(struct cairn_pprof_report *report, bool heading, const char *head,
                              struct cairn_buf *out);
/* What the profile is: the first lines of that. */
void cairn_pprof_profile(struct cairn_pprof_report *report, struct cairn_buf *out);
/* The lines above a report, each ended by a line end. `drawn`: as a picture has them. */
void cairn_pprof_heading(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                         bool drawn, struct cairn_buf *out);

#endif
