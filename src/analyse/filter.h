/* filter.h: what of a recording a reader asked for: the options every reading command shares. */
#ifndef CAIRN_FILTER_H
#define CAIRN_FILTER_H

#include "samples.h"

struct cairn_filter {
    enum cairn_metric metric;
    const char *thread;      /* NULL all; a tid, or a name (shell pattern) */
    const char *process;     /* NULL all; a pid, or a name or role (shell pattern) */
    const char *focus;       /* NULL; extended regex on "qualname file": keep stacks that hold it */
    unsigned overlays;       /* 0 all; enum cairn_overlay: keep samples at which one of them held */
    const char *ignore;      /* NULL; drop stacks that hold it */
    bool only_my_code;       /* frames of others are folded into the nearest frame of the user's */
    bool threads_joined;     /* stacks are summed over a process's threads: for who shows no
                                thread's stacks; a cell for each would take most time and memory */
    uint64_t from_ns, to_ns; /* from the start of the recording; 0 and UINT64_MAX: all */
};

void cairn_filter_init(struct cairn_filter *filter); /* wall, everything */

#endif
