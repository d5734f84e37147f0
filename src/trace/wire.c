#include "wire.h"

#include "rng.h"

uint64_t cairn_tick_interval(uint64_t seed, uint64_t k, uint64_t mean_ns)
{
    /* The high half of the product: uniform without a division, for any mean. */
    unsigned __int128 share = (unsigned __int128)cairn_rng_at(seed, k) * mean_ns;

    return mean_ns / 2 + (uint64_t)(share >> 64);
}
