#include "urgency.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS 100000u /* the shortest there is */
#define NICE_STEP 10
#define NICE_LEAST (-20)

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

void cairn_urgency_raise(struct cairn_urgency *urgency)
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
    urgency->changed = set(nice, TURN_NS) == 0 || set(now.sched_nice, TURN_NS) == 0;
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
    urgency->changed = false;
}
