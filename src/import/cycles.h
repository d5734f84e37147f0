/* cycles.h: who of those that call each other may be below itself by way of another, and which
 * calls lead back.
 *
 * Threads: any.
 */
#ifndef CAIRN_CYCLES_H
#define CAIRN_CYCLES_H

#include <stdbool.h>
#include <stddef.h>

#include "inferred.h"

struct cairn_cycles { /* of each function: */
    uint32_t *cycle;  /* of two or more that reach each other, its number; 0: it is in none */
    size_t *left;     /* when it was left, going down into its cycle from where it is entered */
};

/* `calls` are in order of their callers, those of function i from first_call[i] up to
 * first_call[i + 1]. A cycle is entered at the function by which most of the time comes into it;
 * when by none, at the one with the largest total. 0 or -CAIRN_ENOMEM; release in any case. */
int cairn_cycles_find(const struct cairn_inferred_function *functions,
                      const struct cairn_inferred_call *calls, const size_t *first_call,
                      size_t function_count, struct cairn_cycles *ret_cycles);
void cairn_cycles_release(struct cairn_cycles *cycles);

static inline bool cairn_cycles_hold(const struct cairn_cycles *cycles,
                                     const struct cairn_inferred_call *call)
{
    return cycles->cycle[call->caller] != 0 &&
           cycles->cycle[call->caller] == cycles->cycle[call->callee];
}

/* Whether a call closes a cycle. Without those that do, calls lead back to nobody, and each
 * function is still reached. */
static inline bool cairn_cycles_close(const struct cairn_cycles *cycles,
                                      const struct cairn_inferred_call *call)
{
    return call->caller == call->callee ||
           (cairn_cycles_hold(cycles, call) &&
            cycles->left[call->caller] <= cycles->left[call->callee]);
}

#endif
