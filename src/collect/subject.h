/* subject.h: one process under observation: its threads, their clocks, its Python runtime.
 *
 * Threads come from three sides: the kernel's records, the task list, the thread states of the
 * runtime; they are joined by kernel thread id (translated when the process lives in another pid
 * namespace). Nothing here writes to a recording.
 * Owner: a subject owns its threads and its reader. Threads: one at a time.
 */
#ifndef CAIRN_SUBJECT_H
#define CAIRN_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "perf.h"
#include "procfs.h"
#include "pyread.h"
#include "pyruntime.h"
#include "remains.h"
#include "states.h"
#include "vec.h"
#include "waits.h"

/* A starting interpreter maps its library within milliseconds. */
#define CAIRN_SEEK_FIRST_NS UINT64_C(1000000)

#define CAIRN_RUNS_KEPT 8 /* more than fit between two entries of the kernel's book, at 1 kHz */

/* Ticks in a row in which a thread did the same: becomes one row. `ticks` 0: none is open. */
struct cairn_run {
    uint32_t stack, ticks;
    int64_t first_tick; /* index in the open chunk */
    uint64_t cpu_quanta, runq_quanta;
    bool queued;      /* all of it was spent waiting for a processor */
    uint32_t on;      /* string: what it waits for */
    uint8_t state;    /* enum cairn_sample_state */
    uint8_t overlays; /* enum cairn_overlay, of each of the ticks */
};

struct cairn_worker { /* a thread of a subject */
    pid_t tid, ns_tid;
    uint64_t start_ns;          /* since boot, as its track says */
    uint64_t met_ns;            /* MONOTONIC, when it was first listed */
    uint32_t track;             /* in the recording; 0: not yet there */
    uint32_t process_track;     /* that of its process when it got its own */
    bool named;                 /* by Python */
    uint8_t renames;            /* by the kernel, since it was met */
    struct cairn_pythread *py;  /* the thread state that it runs in; NULL: none (now) … */
    struct cairn_state *states; /* … and all that it has */

    struct cairn_perf_clock clock;       /* its page tells when the thread was switched in */
    bool has_book;                       /* schedstat and wchan can be had */
    int schedstat_fd, wchan_fd;          /* negative: opened for each look, descriptors being
                                            scarce; or, without a book, why it cannot be had */
    uint64_t clock_base_ns;              /* CPU time before the clock was opened, that counts */
    uint64_t clock_ns, clock_at_ns;      /* what the clock said last while it was young, and when */
    uint64_t cpu_ns, runq_ns;            /* totals when last looked at, at look_ns */
    uint64_t book_ns, book_at_ns;        /* what schedstat said last that was new, and when */
    uint64_t turns;                      /* on a processor, when its schedstat was last read */
    uint64_t look_ns, read_ns, asked_ns; /* when: looked at, its schedstat read, its wchan read */
    bool runs;                           /* it was on a processor, or waiting for one, when asked */
    bool still;                          /* it was neither, when asked at this look */
    uint64_t waits;                      /* for something else, so often, when last asked … */
    uint32_t waits_rest, waits_pause;    /* … which rests for so many looks, by this many */
    bool queued;                         /* it waits for one, and has for a while */
    uint64_t ahead_ns;                   /* of waiting that was told before schedstat said so */
    uint64_t cpu_carry_ns, runq_carry_ns; /* below a quantum, or without room: for a later row */
    uint64_t cpu_delta_ns, runq_delta_ns; /* of this tick */
    bool ran, put_off; /* at this tick; before it, for a moment, though it wanted to run */

    struct cairn_wait wait; /* what it waits for, or last did */
    struct cairn_run run;
    /* Rows that are not written yet, in a ring: what is counted ahead of the book may be too much,
     * which shows some ticks later. */
    struct cairn_run kept[CAIRN_RUNS_KEPT];
    uint32_t kept_from, kept_count;
    uint64_t excess_ns; /* so much of what rows hold it did not run */
    int64_t room_ns;    /* its latest row has time for so much CPU time more */
    uint32_t last_stack;
    uint8_t last_status; /* enum cairn_pystack_status, when last read */
    bool settled;        /* it was read while the thread stood still: nothing can be new */
};

#define CAIRN_FORMER_TRACKS_MAX 8

enum cairn_subject_python {
    CAIRN_PYTHON_SOUGHT,      /* none found so far: looked for again, ever more rarely */
    CAIRN_PYTHON_READ,        /* `py` reads it */
    CAIRN_PYTHON_UNSUPPORTED, /* there is one that cannot be read: `why` */
};

struct cairn_subject {
    pid_t pid, parent;
    char comm[CAIRN_COMM_BYTES];  /* what the kernel calls it, when it was last asked */
    bool same_namespace;          /* thread ids need no translation */
    uint64_t start_ns, seen_ns;   /* since boot; MONOTONIC, when it was first met */
    uint64_t born_ns;             /* MONOTONIC, by the kernel's record; 0: none told */
    uint64_t exec_ns, name_at_ns; /* when its program was; when to ask for its name again */
    uint64_t start_stack;         /* of the program it runs, as cairn_proc_stat() says */
    uint8_t birth;                /* enum cairn_birth */
    bool nameless;                /* an exec was on its way when its track was written */
    bool first_over;              /* its first thread is, and others go on */
    uint32_t track, parent_track;
    bool has_children; /* the recording says of some that `track` made them */
    uint32_t former_tracks[CAIRN_FORMER_TRACKS_MAX]; /* of when it was other programs */
    size_t former_count;
    enum cairn_subject_python python;
    struct cairn_pyread *py;
    struct cairn_err why;
    struct cairn_pysite site;            /* a runtime that could not be read when it was met */
    uint64_t misfit_ns;                  /* since when it does not fit, or when it last wanted a
                                            processor since; 0: it did not come to that */
    uint64_t misfit_cpu_ns;              /* CPU time of the process till then */
    uint64_t look_at_ns, look_wait_ns;   /* when to seek the runtime next, how long that grew */
    uint64_t mapped_bytes, mapped_at_ns; /* when that was last sought; when to ask for it next */
    uint64_t scan_at_ns;                 /* when to read the task list next */
    uint64_t names_at_ns,
        names_wait_ns;         /* when to read the thread names next, how long that grew */
    bool main_named;           /* the first thread has the name that it has without threading */
    uint64_t names_rest_ns;    /* until when they may not be: it would take too much of the time */
    uint64_t state_at_ns;      /* when to ask whether it is stopped next */
    bool threads_changed;      /* a record said so */
    bool ending;               /* it was gone at the tick before, which had no room for its end */
    pid_t exiting_tid;         /* of the thread that a record said ends … */
    uint64_t exiting_until_ns; /* … and until when each tick looks whether it is gone */
    uint64_t children_at_ns;   /* when to look for children next */
    bool ran;                  /* since its children were last looked for */
    uint64_t read_at_ns;       /* when to read the runtime next, though nobody runs */
    bool read;                 /* at this tick */
    bool stopped;              /* by a signal or a debugger, when last asked */
    struct cairn_waits waits;  /* names of what its threads wait for */
    struct cairn_tasks *tasks; /* asyncio's, as far as met; NULL: none looked for */
    struct cairn_remains remains;
    CAIRN_VEC(struct cairn_worker *) workers;
    CAIRN_VEC(uint32_t) ended; /* tracks of workers that are gone, that get no row any more */
};

/* A process that is there now; no workers yet. -CAIRN_EGONE, -CAIRN_ENOMEM. */
int cairn_subject_new(pid_t pid, uint64_t now_ns, struct cairn_subject **ret_subject);
void cairn_subject_free(struct cairn_subject *subject);

/* The runtime of before is gone (exec): seek again. */
void cairn_subject_restart(struct cairn_subject *subject, uint64_t now_ns);

/* The runtime of a process made by fork is where it was in its parent, when that is so. True: it is
 * read. `parent` may be NULL. */
bool cairn_subject_copy(struct cairn_subject *subject, const struct cairn_subject *parent);

/* Seeks the runtime when it is time to. True when the answer changed. One that does not fit is
 * unsupported once the process has run on and it still does not; until then `why` says it. */
bool cairn_subject_seek(struct cairn_subject *subject, struct cairn_pyfiles *files,
                        uint64_t now_ns);

/* Whether it runs its parent's program or one of its own: enum cairn_birth. `parent` may be NULL;
 * one that was met in the middle of an exec is asked again where its stack begins. */
uint8_t cairn_subject_birth(const struct cairn_subject *subject, struct cairn_subject *parent);

/* Asks every now and then whether a process in which nothing `ran` was stopped; the rarer, the more
 * `subjects` there are. */
void cairn_subject_look_if_stopped(struct cairn_subject *subject, bool ran, size_t subjects,
                                   uint64_t now_ns);

/* Brings the workers in step with the task list. A worker that is new has `track` 0; those that
 * are gone are handed to `gone` first, then freed. `from_birth`: CPU time of new ones counts from
 * their start. */
int cairn_subject_scan(struct cairn_subject *subject, bool from_birth, uint64_t now_ns,
                       void (*gone)(void *ctx, struct cairn_worker *worker), void *ctx);

/* After an exec: where another thread than the first called it, that one is gone, as above, and the
 * other goes on under its number. 1: so it is; 0: it is not; or -CAIRN_ENOMEM. */
int cairn_subject_renew_first(struct cairn_subject *subject, uint64_t now_ns,
                              void (*gone)(void *ctx, struct cairn_worker *worker), void *ctx);

/* Finds the worker of every thread state that has none, scans when one is missing, and which state
 * each worker runs in: after each read. */
int cairn_subject_join(struct cairn_subject *subject, uint64_t now_ns,
                       void (*gone)(void *ctx, struct cairn_worker *worker), void *ctx);

/* A thread's book, by the kernel. 0, or a negative code: it stays what it was. */
int cairn_worker_read_book(const struct cairn_worker *worker, struct cairn_proc_schedstat *book);

/* Brings cpu_delta_ns, runq_delta_ns and `ran` of a worker up to now; a worker whose page did not
 * move and that did not run at the last tick costs one look at memory. False when it cannot have
 * done anything since: its stack is the one of before.
 *
 * Totals are the kernel's own (schedstat), exact at every switch. Between two switches of a thread
 * that stays on its processor the kernel closes its book only every few milliseconds: in between
 * the time that passed is taken, and set right by the next entry. Asking perf for the exact
 * figure would interrupt the processor that the thread runs on. */
bool cairn_worker_look(struct cairn_worker *worker, uint64_t now_ns);

/* The same for a worker that is gone: its files are, its clock is not. */
void cairn_worker_last_look(struct cairn_worker *worker, uint64_t now_ns);

/* Instead, of a worker whose process is gone with its book: its clock has the last word, which
 * stood still when it began to free its memory. */
void cairn_worker_settle(struct cairn_worker *worker);

#endif
