/* table.h: the rows of a report: functions, lines, modules, threads, states, callers, callees. */
#ifndef CAIRN_TABLE_H
#define CAIRN_TABLE_H

#include "tally.h"

enum cairn_by {
    CAIRN_BY_FUNCTION,
    CAIRN_BY_LINE,
    CAIRN_BY_MODULE,
    CAIRN_BY_THREAD,
    CAIRN_BY_PROCESS,
    CAIRN_BY_STATE,
    CAIRN_BY_COUNT,
    CAIRN_BY_TASK = CAIRN_BY_COUNT /* rows of their own: taskrows.h */
};

enum cairn_sort { CAIRN_SORT_SELF, CAIRN_SORT_TOTAL, CAIRN_SORT_NAME };

/* Recursion counts once in total. Shares are of the rows' base (struct cairn_rows). */
struct cairn_row {
    struct cairn_span name, qualname, file, module; /* borrowed from the model or static */
    const char *kind; /* "python", "native", "label", "module", "thread", "process", "state" */
    uint32_t line, first_line; /* by line: the line; by function: the line with most self time */
    uint32_t function;         /* model index where the row is of one, else UINT32_MAX */
    uint32_t process, thread;  /* model index or UINT32_MAX */
    struct cairn_weight self, total;
    double self_share, total_share; /* 0..1 */
    double self_low, self_high;     /* 95 % interval of self_share */
    double total_low, total_high;   /* and of total_share */
    /* Independent draws that the shares rest on; 0: the tally's, which are as many for all. */
    double self_draws, total_draws;
    double bound;   /* run time over run time without it: 1/(1 - self_share), "at most x1.25"; never
                       above 1000 */
    uint8_t origin; /* enum cairn_origin */
};

struct cairn_rows {
    struct cairn_row *items;
    size_t count;
    struct cairn_weight base; /* what shares are of: the total, less idle when idle is set apart */
    /* False: the interval of the largest row is wider than 30 points: say so instead of a table. */
    bool rankable;
    uint64_t samples_wanted; /* how many would do, roughly, at the same spread over threads */
};

struct cairn_rows_options {
    enum cairn_by by;
    enum cairn_sort sort;
    bool with_idle;    /* count idle waiting in */
    bool program_only; /* only the program phase: leave start-up and import out */
};

/* On success cairn_rows_release() them; they borrow from the tally's model. Rows of no sample are
 * left out. 0 or -CAIRN_ENOMEM. */
int cairn_rows_make(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                    struct cairn_rows *ret_rows, struct cairn_err *err);
void cairn_rows_release(struct cairn_rows *rows);

/* Sets those of `matched`, one for each function, that match `name`: exact name or qualname, a
 * handle, else a regex on the qualname. -CAIRN_ENOTFOUND when none does, -CAIRN_EUSAGE for a bad
 * regex, -CAIRN_ENOMEM. */
int cairn_rows_match(const struct cairn_model *model, const char *name, bool *matched,
                     struct cairn_err *err);

/* Who calls the functions that match `name`, and whom they call: rows by function, total = time in
 * that edge, self is 0. A stack that holds such functions several times counts once: with the
 * caller of the outermost and the callee of the innermost. So callers add up to the base, callees
 * and what they leave to self do too; "" stands for the caller of a stack's root. ret_self: the
 * functions themselves, of the whole tally. As above. */
int cairn_rows_callers(const struct cairn_tally *tally, const char *name,
                       struct cairn_rows *ret_callers, struct cairn_rows *ret_callees,
                       struct cairn_rows *ret_self, struct cairn_err *err);

#endif
