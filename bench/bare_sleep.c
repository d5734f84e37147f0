/* bare_sleep.c: what waking at random moments takes, when nothing is done then.
 *
 *     bare_sleep SECONDS MEAN_NS
 *
 * Sleeps as a sampler does: until moments whose distances are exponential, MEAN_NS on average. What
 * the kernel books for it is what no sampler at that rate can be below on this machine.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
    double mean_ns = argc == 3 ? strtod(argv[2], NULL) : 0;
    uint64_t due_ns = now_ns(), end_ns = due_ns;

    if (mean_ns < 1000) {
        fputs("usage: bare_sleep SECONDS MEAN_NS (1000 or more)\n", stderr);
        return 123;
    }
    for (end_ns += (uint64_t)(strtod(argv[1], NULL) * 1e9); due_ns < end_ns;) {
        struct timespec due;

        due_ns += (uint64_t)(-log(1 - drand48()) * mean_ns);
        due = (struct timespec){(time_t)(due_ns / 1000000000), (long)(due_ns % 1000000000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
    }
    return 0;
}
