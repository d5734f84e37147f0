/* listing.h: the instructions of one function, with how often each was executed, and what samples
 * met it there.
 *
 * Of the whole recording, whatever span of time was chosen, but for the samples; of the processes
 * that the filter keeps.
 */
#ifndef CAIRN_LISTING_H
#define CAIRN_LISTING_H

#include "tally.h"
#include "vec.h"

struct cairn_listed {
    struct cairn_counted_opcode opcode; /* `thread` says nothing */
    struct cairn_weight sampled;        /* this frame was the innermost one, and stood here */
};

struct cairn_listing {
    uint32_t function;                    /* of the model */
    CAIRN_VEC(struct cairn_listed) items; /* by offset; two that differ there are of two versions */
    uint64_t hits;                        /* of all */
    struct cairn_weight sampled;          /* of the function itself */
};

/* `name` is a name, a qualified name, MODULE:QUALNAME, FILE:LINE or a handle, of a function whose
 * instructions were counted. 0, and the listing is to be released; -CAIRN_EUSAGE where none fits,
 * or several do, with `err` filled; -CAIRN_ENOMEM. */
int cairn_listing_make(const struct cairn_tally *tally, const char *name,
                       struct cairn_listing *ret_listing, struct cairn_err *err);
void cairn_listing_release(struct cairn_listing *listing);

#endif
