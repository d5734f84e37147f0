/* urgency.h: makes this thread run soon after it wakes, for little work each time.
 *
 * A sampler that waits in line behind two hundred busy processes misses its ticks. Its priority is
 * raised where the user may do that, and its turns are made short everywhere, which lets it go
 * first (Linux 6.12 on). But a priority counts within one session alone where the kernel groups
 * processes by session (autogroup) or by container: beside busy ones the whole group waits. So
 * where all processors are taken, or it had to wait for one, it goes before all groups (SCHED_RR),
 * if the user may ask for that, until there has been room for a while. It leaves time to others:
 * who worked a little too much rests, who did much too much goes first no longer. What it starts
 * meanwhile inherits nothing of it. Threads: per thread.
 */
#ifndef CAIRN_URGENCY_H
#define CAIRN_URGENCY_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_urgency { /* all zero: nothing was changed */
    bool changed;
    int32_t nice;     /* as it was … */
    int32_t raised;   /* … and as it is */
    uint64_t turn_ns; /* as it was; 0: the kernel's default */

    bool refused, first;        /* it may not go before all groups; it does */
    uint64_t until_ns, wait_ns; /* it does until then, if there is room for so long */
    uint64_t ask_ns;            /* when to ask next whether there is */
    uint64_t from_ns;           /* not before */
    uint64_t most_ns;           /* that it may wait */
    unsigned part;              /* of the time that it may work */
    uint64_t spent_ns, seen_ns; /* CPU time, and time that passed, of late … */
    uint64_t cpu_ns, worked_ns; /* … until this was last asked */
    uint64_t woke_ns;           /* when it last woke, or had done its work */
};

/* Whether more threads want a processor than there are; also when it is not known. */
bool cairn_urgency_is_crowded(void);

/* Best effort: what is refused stays as it was. It is going to wake every `interval_ns`. */
void cairn_urgency_raise(struct cairn_urgency *urgency, uint64_t interval_ns);
/* It slept, and wanted to wake `late_ns` ago. */
void cairn_urgency_woke(struct cairn_urgency *urgency, uint64_t late_ns, uint64_t now_ns);
/* It did what it woke for. Returns until when it is to rest, `now_ns` for not at all. */
uint64_t cairn_urgency_worked(struct cairn_urgency *urgency, uint64_t now_ns);
void cairn_urgency_restore(struct cairn_urgency *urgency);

#endif
