/* countedlines.h: lines that were counted one by one, by function.
 *
 * Of the whole recording, whatever span of time was chosen; of the processes that the filter keeps:
 * lines are not told apart by thread, they belong to the first one.
 */
#ifndef CAIRN_COUNTEDLINES_H
#define CAIRN_COUNTEDLINES_H

#include "tally.h"
#include "vec.h"

struct cairn_counted_function {
    uint32_t function;   /* of the model */
    size_t first, count; /* of the lines */
    uint64_t total_ns;   /* of its lines: of one that calls itself, each level */
};

struct cairn_counted_table {
    CAIRN_VEC(struct cairn_counted_line) lines; /* by function and line; `thread` says nothing */
    CAIRN_VEC(struct cairn_counted_function) functions; /* by time, the most first */
};

/* 0 or -CAIRN_ENOMEM; to be released in any case. */
int cairn_counted_table_make(const struct cairn_tally *tally,
                             struct cairn_counted_table *ret_table);
void cairn_counted_table_release(struct cairn_counted_table *table);

#endif
