/* urgency.h: makes this thread run soon after it wakes, for little work each time.
 *
 * A sampler that waits in line behind two hundred busy processes misses its ticks. Its priority is
 * raised where the user may do that, and its turns are made short everywhere, which lets it go
 * first (Linux 6.12 on). What it starts afterwards inherits neither. Threads: per thread.
 */
#ifndef CAIRN_URGENCY_H
#define CAIRN_URGENCY_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_urgency { /* all zero: nothing was changed */
    bool changed;
    int32_t nice;     /* as it was */
    uint64_t turn_ns; /* likewise; 0: the kernel's default */
};

/* Best effort: what is refused stays as it was. */
void cairn_urgency_raise(struct cairn_urgency *urgency);
void cairn_urgency_restore(struct cairn_urgency *urgency);

#endif
