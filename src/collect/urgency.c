#include "urgency.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

#define TURN_NS 100000u /* the shortest there is */
#define NICE_STEP 10
#define NICE_LEAST (-20)
#define LATE_NS 300000u /* who sleeps on an idle processor wakes sooner */
#define FIRST_WAIT_NS UINT64_C(1000000000)
#define FIRST_MOST_NS UINT64_C(64000000000)
#define SHARE_NS UINT64_C(64000000) /* what counts as of late */
#define SHARE_PART 3 /* it may work one such part of the time to go before all others */

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

    *urgency = (struct cairn_urgency){.wait_ns = FIRST_WAIT_NS};
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
    urgency->cpu_ns = cairn_clock_own_cpu_ns();
    urgency->looked_ns = cairn_clock_mono_ns();
    urgency->changed = true;
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

    if (syscall(SYS_sched_setattr, 0, &attr, 0) < 0) {
        urgency->refused = true;
        return;
    }
    urgency->first = true;
    urgency->wait_ns = soon ? urgency->wait_ns * 2 : FIRST_WAIT_NS;
    if (urgency->wait_ns > FIRST_MOST_NS)
        urgency->wait_ns = FIRST_MOST_NS;
    urgency->until_ns = now_ns + urgency->wait_ns;
}

static void step_back(struct cairn_urgency *urgency, uint64_t now_ns)
{
    set(urgency->raised, TURN_NS);
    urgency->first = false;
    urgency->until_ns = now_ns;
}

static bool leaves_room(const struct cairn_urgency *urgency)
{
    return urgency->spent_ns < urgency->seen_ns / SHARE_PART;
}

void cairn_urgency_woke(struct cairn_urgency *urgency, uint64_t late_ns, uint64_t interval_ns,
                        uint64_t now_ns)
{
    uint64_t most_ns = interval_ns / 4 > LATE_NS ? interval_ns / 4 : LATE_NS;

    if (urgency->first && now_ns >= urgency->until_ns)
        step_back(urgency, now_ns);
    else if (urgency->changed && !urgency->first && !urgency->refused && late_ns > most_ns &&
             now_ns >= urgency->from_ns && leaves_room(urgency))
        go_first(urgency, now_ns);
}

void cairn_urgency_worked(struct cairn_urgency *urgency, uint64_t now_ns)
{
    uint64_t cpu_ns;

    if (!urgency->changed || urgency->refused)
        return;
    cpu_ns = cairn_clock_own_cpu_ns();
    urgency->spent_ns += cpu_ns - urgency->cpu_ns;
    urgency->seen_ns += now_ns - urgency->looked_ns;
    urgency->cpu_ns = cpu_ns;
    urgency->looked_ns = now_ns;
    if (urgency->first && !leaves_room(urgency)) {
        step_back(urgency, now_ns);
        urgency->from_ns = now_ns + FIRST_WAIT_NS;
    }
    if (urgency->seen_ns > SHARE_NS) {
        urgency->seen_ns /= 2;
        urgency->spent_ns /= 2;
    }
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
