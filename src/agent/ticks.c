#include "ticks.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "clock.h"

#define LEAST_NS ((uint64_t)2000000)

struct instant {
    int64_t ticks;
    uint64_t ns;
};

bool cairn_ticks_counted;
static struct instant start;

/* Whether the counter runs at one rate whatever the processor does. */
static bool has_steady_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
    return true; /* the architecture says so */
#else
    return false;
#endif
}

int64_t cairn_ticks_slow(void)
{
    return (int64_t)cairn_clock_mono_ns();
}

/* Both clocks at one moment: of some pairs the one that took the least time to read. */
static struct instant take(void)
{
    struct instant best = {0};
    uint64_t best_ns = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t before_ns = cairn_clock_mono_ns();
        int64_t ticks = cairn_ticks_now();
        uint64_t took_ns = cairn_clock_mono_ns() - before_ns;

        if (took_ns < best_ns) {
            best_ns = took_ns;
            best = (struct instant){ticks, before_ns + took_ns / 2};
        }
    }
    return best;
}

/* Before main() or as the library is loaded: nobody can come first, and of all that Cairn calls,
 * pthread_once() is what the C library ends the process for when the system refuses its futex. */
__attribute__((constructor)) static void begin(void)
{
    cairn_ticks_counted = has_steady_counter();
    start = take();
}

double cairn_ticks_ns(void)
{
    struct instant now;

    if (!cairn_ticks_counted)
        return 1;
    do
        now = take();
    while (now.ns - start.ns < LEAST_NS);
    return now.ticks <= start.ticks
               ? 1
               : (double)(now.ns - start.ns) / (double)(now.ticks - start.ticks);
}

uint64_t cairn_ticks_mono_ns(int64_t ticks, double tick_ns)
{
    double past_ns;

    if (!cairn_ticks_counted)
        return (uint64_t)ticks;
    past_ns = (double)(int64_t)((uint64_t)ticks - (uint64_t)start.ticks) * tick_ns;
    return past_ns > 0 && past_ns < 1e18 ? start.ns + (uint64_t)past_ns : start.ns;
}
