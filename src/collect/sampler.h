/* sampler.h: turns ticks into rows: which threads did what, on which stack, since the tick before.
 *
 * One sampler watches any number of processes and writes one recording. At each tick a thread that
 * has a Python stack, or that is all there is of a process without Python, gives one sample; other
 * native threads give one when they ran. Ticks in which a thread did nothing at all are one row.
 * Owner: borrows the writer and the watch; owns its subjects. Threads: one at a time.
 */
#ifndef CAIRN_SAMPLER_H
#define CAIRN_SAMPLER_H

#include "map.h"
#include "perf.h"
#include "pyfiles.h"
#include "spare.h"
#include "subject.h"
#include "tasks.h"
#include "tracks.h"
#include "writer.h"

#define CAIRN_SAMPLER_WATCHED_NS 1000000000ull /* between looks beside the kernel's records */
#define CAIRN_SAMPLER_LOOK_PART 20             /* they may take one such part of the time */
#define CAIRN_SAMPLER_GONE_MAX 4096u

struct cairn_sampler_stats { /* since the start */
    uint64_t ticks, samples, torn, truncated, unreadable, missed, reread;
    uint64_t processes, pythons;
    uint64_t nameless;     /* stacks with code that was gone before its name was read */
    uint64_t unseen;       /* processes that were over before they could be looked at */
    uint64_t records_lost; /* of forks, execs and exits, by the kernel */
    uint64_t untold_ns;    /* CPU time of processes that are over, which no row had room for */
};

struct cairn_sampler {
    struct cairn_writer *writer;
    struct cairn_perf_watch *watch; /* NULL: children are found by polling */
    bool follow_children;
    bool single; /* a single tick is all there will be: ask the kernel for each state */
    uint64_t quantum_ns;
    uint64_t
        since_ns;     /* since boot: what a process did before is not of the recording; 0: all is */
    uint64_t last_ns; /* time of the tick before */
    pid_t put_off_pid, put_off_tid; /* a thread that was put off before this tick; 0: none was */
    struct cairn_spare spare;
    CAIRN_VEC(struct cairn_subject *) subjects;
    struct cairn_pyfiles files;
    struct cairn_sampler_stats stats;
    struct cairn_map gone;        /* pid of who is over, seen or not, to who made it */
    struct cairn_pythons pythons; /* that the recording tells of */
    struct cairn_err unsupported; /* code 0, or the first Python that could not be read */
    uint32_t boot_id;             /* string id */
    struct cairn_tasks_labels labels;
    uint32_t native_stack, unknown_stack;
    void (*met)(void *ctx,
                const struct cairn_subject *subject); /* its Python is read now; or NULL */
    void *met_ctx;
    int code; /* the first failure that ends the recording */
};

int cairn_sampler_init(struct cairn_sampler *sampler, struct cairn_writer *writer,
                       struct cairn_perf_watch *watch, bool follow_children, uint64_t quantum_ns);
void cairn_sampler_release(struct cairn_sampler *sampler);

/* Takes tick `number` at `now_ns`. 0; -CAIRN_ELIMIT when the open chunk is full: flush, and take it
 * again; or another negative code, which ends the recording. */
int cairn_sampler_tick(struct cairn_sampler *sampler, uint64_t number, uint64_t now_ns);

/* The process is gone, and its threads ran for so long altogether: brings its rows to that, at tick
 * `number`, which is the last. */
void cairn_sampler_end(struct cairn_sampler *sampler, pid_t pid, uint64_t process_ns,
                       uint64_t number, uint64_t now_ns);

/* Closes the open runs into rows and brings the counters up to date: before each flush. */
int cairn_sampler_settle(struct cairn_sampler *sampler);

/* False when no observed process is left. */
bool cairn_sampler_alive(const struct cairn_sampler *sampler);

/* Whether a runtime was met that was not initialised when last looked at. */
bool cairn_sampler_has_idle_runtime(const struct cairn_sampler *sampler);

#endif
