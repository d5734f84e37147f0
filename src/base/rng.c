#include "rng.h"

#include <sys/random.h>
#include <unistd.h>

#include "clock.h"

#define GOLDEN_GAMMA 0x9e3779b97f4a7c15u

uint64_t cairn_rng_at(uint64_t seed, uint64_t k)
{
    /* The state of splitmix64 only counts, so that its k-th number needs none before it. */
    uint64_t z = seed + (k + 1) * GOLDEN_GAMMA;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t cairn_rng_seed(void)
{
    uint64_t seed;

    /* Early in a boot the kernel would wait for entropy; nobody here needs it to. */
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
        return seed;
    return cairn_rng_at(cairn_clock_mono_ns() ^ cairn_clock_real_ns(), (uint64_t)getpid());
}
