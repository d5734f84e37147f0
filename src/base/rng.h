/* rng.h: seeded random numbers that anybody can draw again (splitmix64, addressed by number).
 *
 * The k-th number of a seed depends on nothing else: a reader of a recording can start anywhere.
 */
#ifndef CAIRN_RNG_H
#define CAIRN_RNG_H

#include <stdint.h>

uint64_t cairn_rng_at(uint64_t seed, uint64_t k);

/* From the kernel; never fails (falls back to clock and pid). Not for secrets. */
uint64_t cairn_rng_seed(void);

#endif
