/* query.h: what the page shows, one view at a time, for scripts, editors and agents: JSON.
 *
 * Each answer is one object that begins like that of a report (report_json.h) and goes on with what
 * the view holds; keys are listed in docs/json.md. Functions and stacks have handles (handle.h),
 * which further queries take. Answers are as large as what was asked for, not as the recording.
 */
#ifndef CAIRN_QUERY_H
#define CAIRN_QUERY_H

#include "report_json.h"

enum cairn_query_kind {
    CAIRN_QUERY_OVERVIEW, /* the verdict, processes, waits, first functions */
    CAIRN_QUERY_TABLE,    /* rows of functions, lines, modules, threads, processes, states */
    CAIRN_QUERY_FUNCTION, /* one function: callers, callees, lines */
    CAIRN_QUERY_FLAME,    /* boxes of the flame graph */
    CAIRN_QUERY_GRAPH,    /* the call graph: functions, and who called whom */
    CAIRN_QUERY_TIMELINE, /* what each thread did in each slice of the time */
    CAIRN_QUERY_COUNT
};

struct cairn_query {
    enum cairn_query_kind kind;
    struct cairn_report_options report; /* by, sort, limit, with_idle, file; `of`: the function */
    const char *root;                   /* of the flame graph: a handle, NULL: all */
    size_t depth_max;                   /* of it; 0: all */
    double least;    /* of its boxes, and of what is in the graph, as a part of all */
    unsigned slices; /* of a timeline, 1 at least */
};

/* "overview"; NULL behind the last. */
const char *cairn_query_name(size_t kind);

/* The tally that a query is answered from; `filter` is changed to what it takes. 0, or a negative
 * code with `err` filled: of a timeline -CAIRN_EUSAGE for what has no times. On success
 * cairn_tally_release() it. */
int cairn_query_tally_make(const struct cairn_model *model, const struct cairn_query *query,
                           struct cairn_filter *filter, struct cairn_tally *ret_tally,
                           struct cairn_err *err);

/* 0, or a negative code with `err` filled (NULL allowed): -CAIRN_EUSAGE or -CAIRN_ENOTFOUND for a
 * function or stack that is not there. */
int cairn_query_json(const struct cairn_tally *tally, const struct cairn_query *query,
                     struct cairn_outlet *out, struct cairn_err *err);

#endif
