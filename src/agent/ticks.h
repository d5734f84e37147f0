/* ticks.h: the cheapest clock of this machine that can be told in ns.
 *
 * On x86 the time stamp counter where the processor says that it runs at one rate, on aarch64 the
 * virtual counter, else CLOCK_MONOTONIC from the vDSO. How long a tick is, is measured against
 * CLOCK_MONOTONIC over the whole time since this file was loaded.
 * Threads: any.
 */
#ifndef CAIRN_TICKS_H
#define CAIRN_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

extern bool cairn_ticks_counted; /* whether the processor's counter is read; set once */

/* ns in one tick. Waits until 2 ms have gone by since this file was loaded, for less measures too
 * little. */
double cairn_ticks_ns(void);

/* CLOCK_MONOTONIC in ns at a moment that was read as `ticks`, in this process or in another since
 * this one began; `tick_ns`: cairn_ticks_ns(). What was later is never earlier. */
uint64_t cairn_ticks_mono_ns(int64_t ticks, double tick_ns);

/* CLOCK_MONOTONIC in ns, out of line: events need no room for a timespec on their stack. */
int64_t cairn_ticks_slow(void);

static inline int64_t cairn_ticks_now(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_expect(cairn_ticks_counted, 1))
        return (int64_t)__rdtsc();
#elif defined(__aarch64__)
    if (cairn_ticks_counted) {
        int64_t count;

        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
        return count;
    }
#endif
    return cairn_ticks_slow();
}

#endif
