/* perf.h: the two things asked of perf_event_open: a thread's exact CPU time, and word of every
 * fork, exec and exit in a tree of processes.
 *
 * Both work without hardware counters. Where the kernel refuses (perf_event_paranoid, seccomp, a
 * container), opening says -CAIRN_EPERM or -CAIRN_EUNSUPPORTED and the caller falls back to
 * schedstat and to polling. Threads: one per object.
 */
#ifndef CAIRN_PERF_H
#define CAIRN_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_mmap_page;

/* The task clock of one thread. All zero is not open. */
struct cairn_perf_clock {
    int fd; /* valid when page is not NULL */
    const volatile struct perf_event_mmap_page *page;
    uint32_t seen; /* the page's sequence when it was last looked at */
};

int cairn_perf_clock_open(struct cairn_perf_clock *clock, pid_t tid);
void cairn_perf_clock_close(struct cairn_perf_clock *clock);

/* Was the thread put on a processor since this was last asked? Reads mapped memory only; a thread
 * that has stayed on its processor all the time does not move it. */
bool cairn_perf_clock_moved(struct cairn_perf_clock *clock);

/* The same, and the next question still gets the same answer. */
bool cairn_perf_clock_peek(const struct cairn_perf_clock *clock);

/* CPU time in ns since it was opened: exact to now. */
int cairn_perf_clock_read(const struct cairn_perf_clock *clock, uint64_t *ret_cpu_ns);

enum cairn_perf_kind {
    CAIRN_PERF_FORK, /* a new thread (pid == ppid) or process */
    CAIRN_PERF_EXEC,
    CAIRN_PERF_NAME, /* the thread tid is called otherwise from now on */
    CAIRN_PERF_EXIT, /* of the thread tid */
    CAIRN_PERF_LOST, /* records were lost: look into /proc for what happened */
};

struct cairn_perf_event {
    enum cairn_perf_kind kind;
    pid_t pid, tid, ppid; /* ppid: FORK only; none of them of LOST */
    uint64_t time_ns;     /* MONOTONIC; 0 of LOST */
    uint64_t lost;        /* LOST only: how many */
    char name[16];        /* NAME only, with a 0 at its end */
};

struct cairn_perf_watch; /* opaque */

/* Watches `pid` (all its threads) and everything it will start: events are inherited. */
int cairn_perf_watch_open(pid_t pid, struct cairn_perf_watch **ret_watch);
void cairn_perf_watch_free(struct cairn_perf_watch *watch);

/* How many records the kernel had no room for, those too that no event has told of yet: it says so
 * with the next one for which there is room. Where it keeps no count (before Linux 6.0) it is those
 * that were told of. Asking may interrupt processors: for the end of a recording. */
uint64_t cairn_perf_watch_lost(const struct cairn_perf_watch *watch);

/* The next event, in the order of time (of LOST 0: as soon as it is met); false when there is none
 * now. */
bool cairn_perf_watch_next(struct cairn_perf_watch *watch, struct cairn_perf_event *ret_event);

/* When the thread began, MONOTONIC, of those whose event is still to come; 0: none is. */
uint64_t cairn_perf_watch_birth_ns(const struct cairn_perf_watch *watch, pid_t tid);

#endif
