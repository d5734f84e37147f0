/* samples.h: streams the samples of a model's files, one chunk in memory at a time. */
#ifndef CAIRN_SAMPLES_H
#define CAIRN_SAMPLES_H

#include "model.h"

/* Metrics, all in ns of a thread's time. WALL = CPU + RUNQ + GIL_WAIT + BLOCKED + what was stopped
 * or is not known, for every sample. GIL is beside them: WALL of the samples at which
 * the thread held the GIL, and of no others. */
enum cairn_metric {
    CAIRN_METRIC_WALL,
    CAIRN_METRIC_CPU,
    CAIRN_METRIC_GIL,
    CAIRN_METRIC_GIL_WAIT,
    CAIRN_METRIC_RUNQ,
    CAIRN_METRIC_BLOCKED,
    CAIRN_METRIC_SAMPLED, /* so many are of samples */
    /* Of no sample: a call's own time where calls were counted one by one, on its stack. What it
     * weighs in ticks is how often it began or was resumed. */
    CAIRN_METRIC_COUNTED = CAIRN_METRIC_SAMPLED,
    CAIRN_METRIC_COUNT
};
const char *cairn_metric_name(enum cairn_metric metric); /* "gil-wait" */

/* States partition a thread's wall time. */
enum cairn_state {
    CAIRN_STATE_RUNNING,
    CAIRN_STATE_GIL_WAIT,
    CAIRN_STATE_RUNNABLE,
    CAIRN_STATE_BLOCKED,
    CAIRN_STATE_STOPPED,
    CAIRN_STATE_UNKNOWN,
    CAIRN_STATE_COUNT
};
const char *cairn_state_name(enum cairn_state state); /* "gil_wait" */

/* One thread on one stack over `ticks` >= 1 ticks in a row: the time (first_ns, last_ns]. */
struct cairn_sample {
    uint32_t thread, node;
    uint32_t ticks;
    uint64_t first_ns, last_ns;
    uint64_t state_ns[CAIRN_STATE_COUNT]; /* sums to last_ns - first_ns */
    uint32_t on;      /* text of the model: what it waited for; 0: not known, or it did not */
    uint8_t overlays; /* enum cairn_overlay of trace/format.h */

    /* Where it lies among the ticks: threads of one block were looked at at the same moments. */
    uint64_t block;           /* rises from block to block */
    uint32_t tick;            /* its first one in the block */
    uint32_t block_ticks;     /* tick + ticks <= block_ticks */
    const uint64_t *times_ns; /* `ticks` of them; borrowed until the next call */
};

/* Takes the first `ticks` of a sample's ticks off it, 1 at least: times in proportion, so that
 * parts add up to the whole to the nanosecond. Of what was its last tick nothing is left: 0 ticks.
 */
void cairn_sample_split(struct cairn_sample *sample, uint32_t ticks,
                        struct cairn_sample *ret_front);

/* Overlays lie over the states: bit 1 << n of `overlays` says that the n-th held, bit 8 << n that
 * it could not be told. */
#define CAIRN_OVERLAY_COUNT 3
const char *cairn_overlay_name(unsigned overlay); /* "gil_held" "gc" "exception" */

struct cairn_window {
    uint64_t first_ns, last_ns; /* (first, last], absolute */
};

/* The times of each thread that matter: of thread t items[firsts[t]] up to items[firsts[t + 1]], in
 * order, none touching the next. */
struct cairn_windows {
    struct cairn_window *items;
    size_t *firsts; /* of each of cairn_model_threads(), and one behind the last */
};
void cairn_windows_release(struct cairn_windows *windows);

struct cairn_samples; /* opaque */

/* Streams rows that touch (from_ns, to_ns] (absolute MONOTONIC; 0 and UINT64_MAX for all); a row
 * that reaches over an edge is cut at ticks, its times in proportion. Running and runnable time
 * above what a row has room for goes to the thread's next rows. Streams of one model may run at
 * the same time. */
int cairn_samples_open(const struct cairn_model *model, uint64_t from_ns, uint64_t to_ns,
                       struct cairn_samples **ret_samples, struct cairn_err *err);
/* Before the first sample: passes over the threads whose entry is false, and over chunks that hold
 * no other. `chosen` has an entry for each of cairn_model_threads() and must live as long. 0 or
 * -CAIRN_ENOMEM. */
int cairn_samples_choose(struct cairn_samples *samples, const bool *chosen);
/* Before the first sample: of each row only the ticks that lie in a window of its thread, a sample
 * for each run of them. `windows` must live as long. */
void cairn_samples_within(struct cairn_samples *samples, const struct cairn_windows *windows);
/* 0, -CAIRN_EEND, or a negative code (damaged chunks are passed over: they are counted already). */
int cairn_samples_next(struct cairn_samples *samples, struct cairn_sample *ret_sample);
/* The same by the batch: up to CAIRN_SAMPLES_BATCH of one block, 1 at least, borrowed until the
 * next call. Not to be mixed with cairn_samples_next(). */
#define CAIRN_SAMPLES_BATCH 64
int cairn_samples_batch(struct cairn_samples *samples, const struct cairn_sample **ret_samples,
                        size_t *ret_count);
/* Ticks met so far that lie in the chosen time, whoever was seen at them. No sample may be asked
 * for behind it: it ends what was begun. */
uint64_t cairn_samples_ticks(const struct cairn_samples *samples);
void cairn_samples_free(struct cairn_samples *samples);

#endif
