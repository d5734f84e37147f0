#include "urgency.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"

#define TURN_NS 100000u /* the shortest there is */
#define NICE_STEP 10
#define NICE_LEAST (-20)
#define LATE_NS UINT64_C(300000) /* who sleeps on an idle processor wakes sooner */
#define ROOM_NS UINT64_C(1000000000)
#define ROOM_MOST_NS UINT64_C(64000000000)
#define ROOM_ASKS 8
#define SHARE_NS UINT64_C(64000000) /* what counts as of late */
#define OWN_NS UINT64_C(4000000) /* how often it asks for its own CPU time, while all goes well */
#define SHARE_PART 2       /* it may work one such part of the time to go before all others … */
#define SHARE_PART_ALONE 4 /* … who have no other processor … */
#define SHARE_START_NS UINT64_C(16000000) /* … and so much more at times, as when it starts */
#define REST_MOST_NS UINT64_C(32000000)   /* who had to rest longer does not go first any more */

static int get(struct sched_attr *attr)
{
    return (int)syscall(SYS_sched_getattr, 0, attr, sizeof(*attr), 0);
}

static int set(int32_t nice, uint64_t turn_ns)
{
    struct sched_attr attr = {
        .size = sizeof(attr),
        .sched_policy = SCHED_NORMAL,
        .sched_flags = SCHED_FLAG_RESET_ON_FORK,
        .sched_nice = nice,
        .sched_runtime = turn_ns,
    };

    return (int)syscall(SYS_sched_setattr, 0, &attr, 0);
}

bool cairn_urgency_is_crowded(void)
{
    int fd = cairn_io_open("/proc/loadavg", O_RDONLY, 0);
    char text[128] = "";
    long running;

    if (fd < 0)
        return true;
    if (cairn_io_read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    cairn_io_close(&fd);
    if (sscanf(text, "%*s %*s %*s %ld/", &running) != 1)
        return true;
    return running > sysconf(_SC_NPROCESSORS_ONLN); /* it is one of them itself */
}

/* Others may have those that it does not run on, if there are any. */
static unsigned part_of_one(void)
{
    unsigned long cpus[128] = {0};
    int count = 0;

    if (syscall(SYS_sched_getaffinity, 0, sizeof(cpus), cpus) < 0)
        return SHARE_PART; /* there are very many */
    for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
        count += __builtin_popcountl(cpus[i]);
    return count > 1 ? SHARE_PART : SHARE_PART_ALONE;
}

static bool leaves_room(const struct cairn_urgency *urgency)
{
    return urgency->spent_ns < SHARE_START_NS + urgency->seen_ns / urgency->part;
}

/* How long to do nothing for, until it does leave room. In line with hundreds that want a processor
 * it would take as much for itself, and be of no use: each tick finds more that ran meanwhile, all
 * of whom are to be read, and takes the longer. */
static uint64_t rest_ns(const struct cairn_urgency *urgency)
{
    return (urgency->spent_ns - SHARE_START_NS) * urgency->part - urgency->seen_ns;
}

static void go_first(struct cairn_urgency *urgency, uint64_t now_ns)
{
    struct sched_attr attr = {
        .size = sizeof(attr),
        .sched_policy = SCHED_RR,
        .sched_flags = SCHED_FLAG_RESET_ON_FORK,
        .sched_priority = 1,
    };
    bool soon = urgency->until_ns && now_ns - urgency->until_ns < urgency->wait_ns;

    if (!urgency->changed || urgency->refused || now_ns < urgency->from_ns || !leaves_room(urgency))
        return;
    if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0) {
        urgency->refused = true;
        return;
    }
    urgency->first = true;
    /* Late again at once: that there was room did not mean it. */
    urgency->wait_ns = soon ? urgency->wait_ns * 2 : ROOM_NS;
    if (urgency->wait_ns > ROOM_MOST_NS)
        urgency->wait_ns = ROOM_MOST_NS;
    urgency->until_ns = now_ns + urgency->wait_ns;
    urgency->ask_ns = now_ns + urgency->wait_ns / ROOM_ASKS;
}

static void step_back(struct cairn_urgency *urgency, uint64_t now_ns)
{
    set(urgency->raised, TURN_NS);
    urgency->first = false;
    urgency->until_ns = now_ns;
}

void cairn_urgency_raise(struct cairn_urgency *urgency, uint64_t interval_ns)
{
    struct sched_attr now = {.size = sizeof(now)};
    int32_t nice;

    *urgency = (struct cairn_urgency){0};
    /* Who chose another policy, or asked for a reset himself, knows why. */
    if (get(&now) < 0 || now.sched_policy != SCHED_NORMAL || now.sched_flags)
        return;
    urgency->nice = now.sched_nice;
    urgency->turn_ns = now.sched_runtime;
    nice = now.sched_nice - NICE_STEP < NICE_LEAST ? NICE_LEAST : now.sched_nice - NICE_STEP;
    if (set(nice, TURN_NS) < 0) {
        nice = now.sched_nice;
        if (set(nice, TURN_NS) < 0)
            return;
    }
    urgency->raised = nice;
    urgency->part = part_of_one();
    urgency->changed = true;
    urgency->most_ns = interval_ns / 4 > LATE_NS ? interval_ns / 4 : LATE_NS;
    urgency->cpu_ns = cairn_clock_own_cpu_ns();
    urgency->woke_ns = urgency->worked_ns = cairn_clock_mono_ns();
    if (cairn_urgency_is_crowded())
        go_first(urgency, urgency->woke_ns);
}

void cairn_urgency_woke(struct cairn_urgency *urgency, uint64_t late_ns, uint64_t now_ns)
{
    urgency->woke_ns = now_ns;
    if (!urgency->first) {
        if (late_ns > urgency->most_ns)
            go_first(urgency, now_ns);
        return;
    }
    if (now_ns < urgency->ask_ns)
        return;
    urgency->ask_ns = now_ns + urgency->wait_ns / ROOM_ASKS;
    if (cairn_urgency_is_crowded())
        urgency->until_ns = now_ns + urgency->wait_ns;
    else if (now_ns >= urgency->until_ns)
        step_back(urgency, now_ns);
}

uint64_t cairn_urgency_worked(struct cairn_urgency *urgency, uint64_t now_ns)
{
    uint64_t cpu_ns, took_ns, worked_for_ns = now_ns - urgency->woke_ns, until_ns = now_ns;

    if (!urgency->changed || urgency->refused)
        return now_ns;
    urgency->woke_ns = now_ns;
    if (worked_for_ns <= urgency->most_ns && now_ns - urgency->worked_ns < OWN_NS)
        return now_ns;
    cpu_ns = cairn_clock_own_cpu_ns();
    took_ns = cpu_ns - urgency->cpu_ns;
    urgency->spent_ns += took_ns;
    urgency->seen_ns += now_ns - urgency->worked_ns;
    if (urgency->first && !leaves_room(urgency) && rest_ns(urgency) <= REST_MOST_NS) {
        until_ns = now_ns + rest_ns(urgency);
    } else if (urgency->first && !leaves_room(urgency)) {
        step_back(urgency, now_ns);
        urgency->from_ns = now_ns + SHARE_NS;
    } else if (!urgency->first && worked_for_ns > took_ns + urgency->most_ns) {
        go_first(urgency, now_ns); /* it was put off in the middle */
    }
    urgency->cpu_ns = cpu_ns;
    urgency->worked_ns = now_ns;
    if (urgency->seen_ns > SHARE_NS) {
        urgency->seen_ns /= 2;
        urgency->spent_ns /= 2;
    }
    return until_ns;
}

void cairn_urgency_restore(struct cairn_urgency *urgency)
{
    struct sched_attr attr = {
        .size = sizeof(attr),
        .sched_policy = SCHED_NORMAL,
        .sched_nice = urgency->nice,
        .sched_runtime = urgency->turn_ns,
    };

    if (urgency->changed)
        syscall(SYS_sched_setattr, 0, &attr, 0); /* fails: it stays in a hurry */
    urgency->changed = urgency->first = false;
}
