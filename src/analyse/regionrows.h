/* regionrows.h: the regions and marks that a program wrote down, as a report shows them.
 *
 * Of the span of time and the threads that the filter keeps. A region without a length that could
 * be compared (regionlist.h) is counted and has its part in the total. Percentiles are exact: of n
 * lengths the p-th is the one of rank ceil(p n / 100).
 */
#ifndef CAIRN_REGIONROWS_H
#define CAIRN_REGIONROWS_H

#include "tally.h"
#include "vec.h"

struct cairn_region_row {
    uint32_t function;                               /* of the model: the label */
    uint64_t count, cut;                             /* regions; those without a length, of them */
    uint64_t total_ns;                               /* of all; of those within each other, each */
    uint64_t min_ns, p50_ns, p90_ns, p99_ns, max_ns; /* of count - cut; all 0 where that is 0 */
};

struct cairn_region_mark {
    uint32_t function, thread; /* of the model */
    uint64_t time_ns;          /* from the start of the recording */
    uint32_t values;           /* a text of the model; 0: none */
};

#define CAIRN_REGION_MARKS_MAX 10000

struct cairn_region_rows {
    CAIRN_VEC(struct cairn_region_row) rows;   /* by total, the most first */
    CAIRN_VEC(struct cairn_region_mark) marks; /* by time; the first so many */
    uint64_t mark_count;                       /* of all */
};

/* 0 or -CAIRN_ENOMEM; -CAIRN_ELIMIT above 64 million regions. To be released in any case. */
int cairn_region_rows_make(const struct cairn_tally *tally, struct cairn_region_rows *ret_rows);
void cairn_region_rows_release(struct cairn_region_rows *rows);

#endif
