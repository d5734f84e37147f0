/* probe.h: tries for real what a collector needs, on a child made for that and on a process.
 *
 * The child does a little of everything under our eyes, and each answer is held against what it
 * did: an interface that answers, and answers wrongly, is not taken for one that works.
 * Threads: one at a time; forks.
 */
#ifndef CAIRN_PROBE_H
#define CAIRN_PROBE_H

#include <stdint.h>
#include <sys/types.h>

#include "err.h"

enum cairn_probe {
    CAIRN_PROBE_READ,      /* process_vm_readv */
    CAIRN_PROBE_CLOCK,     /* perf_event_open: the page of a thread's task clock */
    CAIRN_PROBE_RECORDS,   /* perf_event_open: records of forks and exits, inherited */
    CAIRN_PROBE_SCHEDSTAT, /* /proc/PID/task/TID/schedstat */
    CAIRN_PROBE_WCHAN,     /* /proc/PID/task/TID/wchan */
    CAIRN_PROBE_COUNT
};

/* 0: it works; -CAIRN_EPERM: refused; -CAIRN_EUNSUPPORTED: there is no such thing here, or it says
 * what is not so; other codes as they came. */
struct cairn_probes {
    int codes[CAIRN_PROBE_COUNT];
};

/* What Python was found in a process. */
struct cairn_probed_python {
    int code; /* 0, or as of cairn_pyread_open() */
    char version[16], layout[16];
    struct cairn_err why;
};

/* All probes on a child. -CAIRN_EIO: no child could be made. */
int cairn_probe_child(struct cairn_probes *ret_probes, struct cairn_err *err);

/* CAIRN_PROBE_READ on a child, alone: what `cairn run` depends on. */
int cairn_probe_read_child(void);

/* All probes on a process that runs, and what Python there is. */
void cairn_probe_process(pid_t pid, struct cairn_probes *ret_probes,
                         struct cairn_probed_python *ret_python);

#endif
