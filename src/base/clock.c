#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "io.h"

#define NS_PER_S 1000000000u
#define BOOT_ID_CHARS 36
#define TICK_LEAST_NS 100000
#define TICK_MOST_NS 10000000

static char boot_id[BOOT_ID_CHARS + 1];

static uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;

    /* Cannot fail for the clocks below and memory of our own. */
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t cairn_clock_mono_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t cairn_clock_boot_ns(void)
{
    return read_clock_ns(CLOCK_BOOTTIME);
}

uint64_t cairn_clock_real_ns(void)
{
    return read_clock_ns(CLOCK_REALTIME);
}

uint64_t cairn_clock_own_cpu_ns(void)
{
    return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int cairn_clock_cpu_of(pid_t pid, uint64_t *ret_cpu_ns)
{
    struct timespec now;
    clockid_t clock;
    int sys = clock_getcpuclockid(pid, &clock);

    if (sys)
        return -sys;
    if (clock_gettime(clock, &now) < 0)
        return -errno;
    *ret_cpu_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return 0;
}

uint64_t cairn_clock_kernel_tick_ns(void)
{
    struct timespec tick = {0};

    /* The coarse clocks are what they are because they move with it. */
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) < 0 || tick.tv_sec ||
        tick.tv_nsec < TICK_LEAST_NS || tick.tv_nsec > TICK_MOST_NS)
        return TICK_MOST_NS;
    return (uint64_t)tick.tv_nsec;
}

int cairn_clock_sleep_until(uint64_t when_ns)
{
    const struct timespec when = {
        .tv_sec = (time_t)(when_ns / NS_PER_S),
        .tv_nsec = (long)(when_ns % NS_PER_S),
    };

    return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

uint64_t cairn_clock_again(uint64_t begun_ns, uint64_t begun_cpu_ns, uint64_t wait_ns,
                           unsigned part)
{
    uint64_t least_ns = (cairn_clock_own_cpu_ns() - begun_cpu_ns) * part;

    return begun_ns + (least_ns > wait_ns ? least_ns : wait_ns);
}

static void read_boot_id(void)
{
    int fd = cairn_io_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
    ssize_t size_bytes = fd < 0 ? fd : cairn_io_read(fd, boot_id, BOOT_ID_CHARS);

    cairn_io_close(&fd);
    if (size_bytes != BOOT_ID_CHARS)
        memcpy(boot_id, "unknown", sizeof("unknown"));
}

void cairn_clock_boot_id(char ret_text[37])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (boot_id[0] == '\0')
        read_boot_id();
    memcpy(ret_text, boot_id, sizeof(boot_id));
    pthread_mutex_unlock(&lock);
}
