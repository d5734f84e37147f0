/* chain.h: a stack that a file tells from its leaf on, frame by frame, until it is whole.
 *
 * Owner: the caller releases it; the guest is borrowed. Threads: one at a time. Functions return 0
 * or what the guest failed with; -CAIRN_ELIMIT: more frames than any stack has.
 */
#ifndef CAIRN_CHAIN_H
#define CAIRN_CHAIN_H

#include "guest.h"

struct cairn_chain {
    struct cairn_guest *guest;
    CAIRN_VEC(uint32_t) frames; /* leaf first */
};

void cairn_chain_release(struct cairn_chain *chain);

/* What called the frame that was added last. */
int cairn_chain_add(struct cairn_chain *chain, const struct cairn_guest_frame *frame);
int cairn_chain_add_known(struct cairn_chain *chain, uint32_t frame);

/* The stack that it is; the next chain begins. */
int cairn_chain_stack(struct cairn_chain *chain, uint32_t *ret_stack);

/* Fills sample->stack and gives the sample. */
int cairn_chain_give(struct cairn_chain *chain, struct cairn_guest_sample *sample);

/* Time for one of what a file counts: an interval that was asked for, else a microsecond. */
uint64_t cairn_chain_unit_ns(const struct cairn_chain *chain);

#endif
