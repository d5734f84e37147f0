/* tally_samples.h: the samples behind a tally, for those who show when something was.
 *
 * What is asked here of each sample of a stream decides about the tally's own sums, so that what is
 * made of the samples that are kept adds up to the tally.
 */
#ifndef CAIRN_TALLY_SAMPLES_H
#define CAIRN_TALLY_SAMPLES_H

#include "kinds.h"
#include "tally.h"

/* A stream of the tally's time and threads; `model` is what the tally was made of, or its view. */
int cairn_tally_open(const struct cairn_tally *tally, const struct cairn_model *model,
                     struct cairn_samples **ret_samples, struct cairn_err *err);

/* Whether the filter keeps the stack; and the sample on it. */
static inline bool cairn_tally_keeps_node(const struct cairn_tally *tally, uint32_t node)
{
    uint8_t kinds = tally->kinds[node];

    return (kinds & (CAIRN_KIND_IGNORE | CAIRN_KIND_FOCUS)) == CAIRN_KIND_FOCUS;
}
bool cairn_tally_keeps(const struct cairn_tally *tally, const struct cairn_sample *sample);

/* The metric's value out of the states of a time. */
uint64_t cairn_tally_value(const struct cairn_tally *tally,
                           const uint64_t state_ns[CAIRN_STATE_COUNT]);

/* The same of a metric, where it is not the GIL that is asked for without a sign of it. */
static inline uint64_t cairn_metric_value(enum cairn_metric metric,
                                          const uint64_t state_ns[CAIRN_STATE_COUNT])
{
    uint64_t wall_ns = 0;

    switch (metric) {
    case CAIRN_METRIC_CPU:
        return state_ns[CAIRN_STATE_RUNNING];
    case CAIRN_METRIC_GIL_WAIT:
        return state_ns[CAIRN_STATE_GIL_WAIT];
    case CAIRN_METRIC_RUNQ:
        return state_ns[CAIRN_STATE_RUNNABLE];
    case CAIRN_METRIC_BLOCKED:
        return state_ns[CAIRN_STATE_BLOCKED];
    default: /* GIL keeps samples at which it was held, and those whole */
        for (int i = 0; i < CAIRN_STATE_COUNT; i++)
            wall_ns += state_ns[i];
        return wall_ns;
    }
}

/* One thread on one stack: a sample that counts. */
struct cairn_moment {
    uint32_t thread, node; /* node: of tally->model */
    uint32_t ticks, on;
    uint64_t first_ns, tick_ns, last_ns; /* (first, last]; tick: the end of its first tick */
    uint64_t value_ns, cpu_ns;
    uint8_t state; /* enum cairn_state: what took most of it */
    uint8_t overlays;
};

#define CAIRN_TIMELINE_MAX ((size_t)1 << 26)

struct cairn_timeline {
    struct cairn_moment *items; /* by thread, then time; none overlaps the one before */
    size_t count, cap;
    uint64_t first_ns, last_ns; /* of the tally: what the formats call 0, and their end */
};

/* On success cairn_timeline_release() it. A thread's samples that overlap, as those of two files
 * may, are put one behind the other. -CAIRN_ENOMEM, -CAIRN_ELIMIT when there are more than a viewer
 * could hold, or a failed read. */
int cairn_timeline_make(const struct cairn_tally *tally, struct cairn_timeline *ret_timeline);
void cairn_timeline_release(struct cairn_timeline *timeline);

/* Behind the last moment of the thread of moment `first`. */
size_t cairn_timeline_thread_end(const struct cairn_timeline *timeline, size_t first);

#endif
