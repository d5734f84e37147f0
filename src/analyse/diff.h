/* diff.h: two recordings, row by row: what changed, and whether that is more than chance.
 *
 * Rows are one when they are of one function by qualified name and file, or where the file is
 * another one on both sides, by qualified name and module. Each row's own share and its total have
 * an interval in each recording (table.h); the interval of their difference is Newcombe's, made of
 * both. So many differences are looked at that some would stand out by chance: each interval is
 * widened (Bonferroni) until all of them together hold in 95 of 100 comparisons. It is the error of
 * sampling alone: that two runs of one program differ is what `tolerance` is for.
 * Owner: owns its rows; borrows the tallies. Threads: after making, any may read.
 */
#ifndef CAIRN_DIFF_H
#define CAIRN_DIFF_H

#include "table.h"

enum cairn_diff_scale {                    /* what is compared */
                        CAIRN_DIFF_RUN,    /* seconds, of the whole recordings */
                        CAIRN_DIFF_SECOND, /* seconds for each second recorded */
                        CAIRN_DIFF_SHARE,  /* shares of the thread time */
                        CAIRN_DIFF_REGION, /* seconds for each of the tally's regions */
};

enum cairn_diff_verdict {
    CAIRN_DIFF_SAME,   /* not distinguishable */
    CAIRN_DIFF_WITHIN, /* distinguishable, and within the tolerance */
    CAIRN_DIFF_WORSE,
    CAIRN_DIFF_BETTER,
};
const char *cairn_diff_verdict_name(enum cairn_diff_verdict verdict);

struct cairn_diff_value { /* in the scale's unit: seconds, or 0..1 */
    double before, after, change;
    double low, high; /* of the change; not a number: there is nothing to rest it on */
    enum cairn_diff_verdict verdict;
};

struct cairn_diff_row {
    const struct cairn_row *before, *after; /* NULL: not there */
    struct cairn_diff_value self, total;
    bool compared; /* false: too small a part of both, or not counted; its verdicts are SAME */
};

struct cairn_diff_options {
    struct cairn_rows_options rows; /* by function, line or module */
    enum cairn_diff_scale scale;
    double tolerance; /* of the whole before, 0..1: a change that may be smaller is let pass */
};

struct cairn_diff {
    struct cairn_rows before, after;
    struct cairn_diff_row *items; /* what tells a change first, the largest change first */
    size_t count, compared;
    double confidence;             /* of each interval, so that all of them have 0.95 */
    struct cairn_diff_value whole; /* its times are known: low and high are the change */
    bool enough;                   /* false: one of them has too few samples to rank anything */
    bool worse;                    /* a row is */
    bool counted; /* false: one of them does not tell how many samples it is made of, so none of
                     the changes is judged */
};

/* On success cairn_diff_release() it. 0 or -CAIRN_ENOMEM. */
int cairn_diff_make(const struct cairn_tally *before, const struct cairn_tally *after,
                    const struct cairn_diff_options *options, struct cairn_diff *ret_diff,
                    struct cairn_err *err);
void cairn_diff_release(struct cairn_diff *diff);

/* Whether two values differ by more than what is left over of sums of shares. */
bool cairn_diff_differs(double one, double other);
/* Whether a change is worth a line: it is distinguishable, or nobody can say and there is one. */
bool cairn_diff_tells(const struct cairn_diff *diff, const struct cairn_diff_value *value);

/* A share (0..1) that rests on `draws` draws, of a whole that is `scale`. */
struct cairn_diff_arm {
    double share, draws, scale;
};

/* The interval of after - before at a confidence of 0..1. */
void cairn_diff_interval(const struct cairn_diff_arm *before, const struct cairn_diff_arm *after,
                         double confidence, double *ret_low, double *ret_high);

#endif
