#include "ticks.h"

#include <pthread.h>
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
static pthread_once_t begun = PTHREAD_ONCE_INIT;
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

static void begin(void)
{
    cairn_ticks_counted = has_steady_counter();
    start = take();
}

void cairn_ticks_begin(void)
{
    pthread_once(&begun, begin);
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
