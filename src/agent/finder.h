/* finder.h: whether something records this process, asked now and then: who only wants to know pays
 * a reading of the counter.
 *
 * What is found gets a file of regions. While none is there, one is looked for every few tenths of
 * a second under the number of this process, and at first, after a fork and every few times under
 * those of the processes that it comes of. While one is there, it is asked as often whether it
 * still is. Threads: any. errno stays as it was. Owner: the caller has it, zeroed; it lasts as long
 * as the process.
 */
#ifndef CAIRN_FINDER_H
#define CAIRN_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "exact_parts.h"
#include "regions.h"
#include "ticks.h"

/* Between two looks: some tenths of a second, by how fast the counter is. */
#if defined(__aarch64__)
#define CAIRN_FINDER_TICKS 50000000
#else
#define CAIRN_FINDER_TICKS 500000000
#endif

struct cairn_finder {
    struct cairn_regions regions; /* what goes to the recorder */
    bool on;                      /* atomic, as is the rest: it was there at the last look */
    bool far;                     /* the next look is for the recorders of ancestors as well */
    uint32_t
        forks; /* that lay behind the process at the last look, and one more; 0: there was none */
    uint32_t looks, lock;
    int64_t looked; /* ticks */
};

/* Looks, if it is due: whether something records. */
bool cairn_finder_look(struct cairn_finder *finder);

/* Whether it never was looked for in this process. */
static inline bool cairn_finder_is_new(const struct cairn_finder *finder)
{
    return __atomic_load_n(&finder->forks, __ATOMIC_RELAXED) != cairn_exact_forks + 1;
}

/* Whether it is time to look; `now`: ticks. A counter that was set back makes it due. */
static inline bool cairn_finder_is_due(const struct cairn_finder *finder, int64_t now)
{
    return (uint64_t)now - (uint64_t)__atomic_load_n(&finder->looked, __ATOMIC_RELAXED) >
               CAIRN_FINDER_TICKS ||
           cairn_finder_is_new(finder);
}

/* What the last look said: who writes to a recorder is to ask whether another one is due. */
static inline bool cairn_finder_was_on(const struct cairn_finder *finder)
{
    return __atomic_load_n(&finder->on, __ATOMIC_RELAXED);
}

/* Whether something records, as far as is known; without a recorder it is looked for when due. */
static inline bool cairn_finder_is_on(struct cairn_finder *finder)
{
    if (__builtin_expect(cairn_finder_was_on(finder), 0))
        return true;
    return __builtin_expect(cairn_finder_is_due(finder, cairn_ticks_now()), 0) &&
           cairn_finder_look(finder);
}

#endif
