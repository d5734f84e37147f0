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
    size_t given_from, given_count;     /* of a listing's `given` */
    uint64_t looked;                    /* so many of the executions were looked at */
};

/* Whether it was given more than one kind of thing. */
static inline bool cairn_listed_polymorphic(const struct cairn_listed *item)
{
    return item->given_count > 1;
}

/* The name of the instruction, without what it is given: constants may be shown in another order in
 * another process. */
struct cairn_span cairn_listed_name(const struct cairn_counted_opcode *opcode);

/* Puts instructions in the order of function, offset and name; those that are alike in these are
 * of several processes, and become one. How many are left. */
size_t cairn_listed_merge(struct cairn_listed *items, size_t count);

struct cairn_listing {
    uint32_t function;                    /* of the model */
    CAIRN_VEC(struct cairn_listed) items; /* by offset; two that differ there are of two versions */
    CAIRN_VEC(struct cairn_counted_given) given; /* by instruction; the most first, others last */
    uint64_t hits;                               /* of all */
    bool let_go;                                 /* it cost too much: all this is until then */
    struct cairn_weight sampled;                 /* of the function itself */
};

/* `name` is a name, a qualified name, MODULE:QUALNAME, FILE:LINE or a handle, of a function whose
 * instructions were counted. 0, and the listing is to be released; -CAIRN_EUSAGE where none fits,
 * or several do, with `err` filled; -CAIRN_ENOMEM. */
int cairn_listing_make(const struct cairn_tally *tally, const char *name,
                       struct cairn_listing *ret_listing, struct cairn_err *err);
void cairn_listing_release(struct cairn_listing *listing);

#endif
