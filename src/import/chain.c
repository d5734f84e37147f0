#include "chain.h"

#define FRAMES_MAX ((size_t)1 << 16)
#define US_NS 1000u /* what is counted at no known rate is taken for a microsecond each */

void cairn_chain_release(struct cairn_chain *chain)
{
    cairn_vec_release(&chain->frames);
}

int cairn_chain_add_known(struct cairn_chain *chain, uint32_t frame)
{
    CAIRN_TRY(cairn_vec_reserve(&chain->frames, chain->frames.count + 1, FRAMES_MAX));
    chain->frames.items[chain->frames.count++] = frame;
    return 0;
}

int cairn_chain_add(struct cairn_chain *chain, const struct cairn_guest_frame *frame)
{
    uint32_t id;

    CAIRN_TRY(cairn_guest_frame(chain->guest, frame, &id));
    return cairn_chain_add_known(chain, id);
}

int cairn_chain_stack(struct cairn_chain *chain, uint32_t *ret_stack)
{
    *ret_stack = 0;
    for (size_t i = chain->frames.count; i > 0; i--)
        CAIRN_TRY(
            cairn_guest_stack(chain->guest, *ret_stack, chain->frames.items[i - 1], ret_stack));
    chain->frames.count = 0;
    return 0;
}

int cairn_chain_give(struct cairn_chain *chain, struct cairn_guest_sample *sample)
{
    CAIRN_TRY(cairn_chain_stack(chain, &sample->stack));
    return cairn_guest_add(chain->guest, sample);
}

uint64_t cairn_chain_unit_ns(const struct cairn_chain *chain)
{
    return chain->guest->interval_ns ? chain->guest->interval_ns : US_NS;
}
