/* exactsums.h: what was counted in all threads, added up by callee and by caller.
 *
 * A call is primitive when no other call of the same callee is below it on the stack; its time
 * counts once, so `total` of what recurses is no sum over calls. For a pair of caller and callee
 * the same holds of that pair. Calls that are not over are not in the sums.
 * Owner: the caller ends it with cairn_exact_sums_release(). It borrows what was learnt.
 */
#ifndef CAIRN_EXACTSUMS_H
#define CAIRN_EXACTSUMS_H

#include "exact.h"
#include "vec.h"

struct cairn_exact_sum { /* times in the clock's unit */
    int64_t calls, primitive_calls, total, self;
};

struct cairn_exact_row {
    const void *key;
    void *learnt;
    struct cairn_exact_sum sum;
    size_t first_callee; /* of callees; CAIRN_EXACT_NONE: it has none */
    size_t level;        /* used while adding up */
};

struct cairn_exact_callee {
    size_t row;  /* which callee */
    size_t next; /* of the same caller */
    struct cairn_exact_sum sum;
    size_t level;
};

#define CAIRN_EXACT_NONE SIZE_MAX

struct cairn_exact_sums {
    CAIRN_VEC(struct cairn_exact_row) rows;
    CAIRN_VEC(struct cairn_exact_callee) callees;
    struct cairn_budget budget;
    struct cairn_pairs row_index, callee_index; /* values: the index, and one */
};

/* 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT; in any case it is to be released. */
int cairn_exact_sums_make(const struct cairn_exact *exact, struct cairn_exact_sums *ret_sums);
void cairn_exact_sums_release(struct cairn_exact_sums *sums);

#endif
