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
#include "subject.h"
#include "tasks.h"
#include "tracks.h"
#include "writer.h"

struct cairn_sampler_stats { /* since the start */
    uint64_t ticks, samples, torn, truncated, unreadable, missed, reread;
    uint64_t processes, pythons;
    uint64_t unseen;       /* processes that were over before they could be looked at */
    uint64_t records_lost; /* of forks, execs and exits, by the kernel */
};

struct cairn_sampler {
    struct cairn_writer *writer;
    struct cairn_perf_watch *watch; /* NULL: children are found by polling */
    bool follow_children;
    bool single; /* a single tick is all there will be: ask the kernel for each state */
    uint64_t quantum_ns;
    uint64_t last_ns; /* time of the tick before */
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

/* Observes a process from now on. `from_birth`: it starts under our eyes. `parent`: who made it; 0:
 * as the kernel says, which forgets that when the parent is gone. */
int cairn_sampler_add(struct cairn_sampler *sampler, pid_t pid, pid_t parent, bool from_birth,
                      uint64_t now_ns);

/* Takes tick `number` at `now_ns`. 0; -CAIRN_ELIMIT when the open chunk is full: flush, and take it
 * again; or another negative code, which ends the recording. */
int cairn_sampler_tick(struct cairn_sampler *sampler, uint64_t number, uint64_t now_ns);

/* Each tick does so first; when no tick will follow, who was born since the last one is in the
 * recording by this, or counted as unseen. */
void cairn_sampler_read_records(struct cairn_sampler *sampler, uint64_t now_ns);

/* The process is gone, and its threads ran for so long altogether: brings its rows to that, at tick
 * `number`, which is the last. */
void cairn_sampler_end(struct cairn_sampler *sampler, pid_t pid, uint64_t process_ns,
                       uint64_t number, uint64_t now_ns);

/* Closes the open runs into rows and brings the counters up to date: before each flush. */
int cairn_sampler_settle(struct cairn_sampler *sampler);

/* False when no observed process is left. */
bool cairn_sampler_alive(const struct cairn_sampler *sampler);

/* No tick will follow: a Python that did not fit so far is not asked again, but `unsupported`. */
void cairn_sampler_give_up(struct cairn_sampler *sampler);

/* Whether a runtime was met that was not initialised when last looked at. */
bool cairn_sampler_has_idle_runtime(const struct cairn_sampler *sampler);

#endif
