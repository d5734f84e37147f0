/* pairs.h: what another tool counted, which knows no stacks: calls by function, and by pair of
 * caller and callee. They are the file's own numbers, and stand beside the stacks that were
 * inferred of it.
 */
#ifndef CAIRN_PAIRS_H
#define CAIRN_PAIRS_H

#include "model.h"

struct cairn_call_pair {
    uint32_t thread, function;
    uint32_t caller; /* function; UINT32_MAX: all calls of the function */
    uint64_t calls, primitive_calls;
    double self_s, total_s; /* as they came, to the last bit */
    bool plain;             /* of a caller: calls are all that is known */
    bool inferred;          /* of a caller: self_s is */
    bool unsure; /* which calls are primitive is not known, and of a function the total is
                    inferred; no calls of one: it is not known how many */
};

/* Of the whole recording; in no order, and the same function or pair may come again. Borrowed. */
size_t cairn_model_pairs(const struct cairn_model *model, const struct cairn_call_pair **ret);

#endif
