/* countedlines.h: lines that were counted one by one, by function.
 *
 * Of the whole recording, whatever span of time was chosen; of the threads that the filter keeps,
 * and where lines were not told apart by thread, of all threads of their processes.
 */
#ifndef CAIRN_COUNTEDLINES_H
#define CAIRN_COUNTEDLINES_H

#include "table.h"
#include "vec.h"

struct cairn_counted_function {
    uint32_t function;   /* of the model */
    size_t first, count; /* of the lines */
    uint64_t total_ns;   /* of its lines: of one that calls itself, each level */
    bool untimed;        /* of samples */
    bool let_go;         /* its lines are those until then */
};

/* What samples tell of a line that was counted and not timed, in the tally's metric. Bounds are
 * those of 95 %, ns. */
struct cairn_sampled_line {
    struct cairn_weight self, total; /* at the line; and in what it called, recursion once */
    double self_low_ns, self_high_ns, total_low_ns, total_high_ns;
};

struct cairn_counted_table {
    CAIRN_VEC(struct cairn_counted_line) lines; /* by function and line; `thread` says nothing */
    /* Of each line; empty: all have times of their own, or there are no samples. The total of a
     * line that has none is that of its samples. */
    CAIRN_VEC(struct cairn_sampled_line) sampled;
    bool any_untimed;
    bool any_others; /* some are of threads, too, that the filter does not keep */
    CAIRN_VEC(struct cairn_counted_function) functions; /* by time, the most first */
};

/* The lines that the filter keeps, as they came, to be freed. Of a function whose lines are not
 * told apart (beyond 64 threads, and where hits alone are known) those of all threads of the
 * process count as the thread's, unless it has lines of its own. 0 or -CAIRN_ENOMEM. */
int cairn_counted_lines_choose(const struct cairn_tally *tally, size_t *ret_count,
                               struct cairn_counted_line **ret_lines);

/* 0 or a negative code with `err` filled; to be released in any case. */
int cairn_counted_table_make(const struct cairn_tally *tally, struct cairn_counted_table *ret_table,
                             struct cairn_err *err);
void cairn_counted_table_release(struct cairn_counted_table *table);

#endif
