/* tally_pass.h: one pass over the samples, for the files that make a tally of it.
 *
 * tally.c chooses what is added up and makes cells of the sums; tally_stream.c adds up.
 */
#ifndef CAIRN_TALLY_PASS_H
#define CAIRN_TALLY_PASS_H

#include "draws.h"
#include "kinds.h"
#include "sums.h"
#include "tally.h"

#define CAIRN_OVERLAYS_MAX 256 /* values of a sample's overlays */

/* A thread, and what it spent, whatever the stack. */
struct cairn_pass_who {
    uint32_t group; /* of threads whose stacks are added up together */
    bool main;      /* has a start-up: the main thread of a program run from its start */
    bool python;    /* is met in Python code somewhere */
    struct cairn_sum sums[CAIRN_PHASE_COUNT][2]; /* [phase][where it may be idle] */
};

/* A further metric of the same samples: what cannot be had of the sums. */
struct cairn_pass_rider {
    enum cairn_metric metric;
    struct cairn_strips strips, thread_strips;
    struct cairn_draws draws;
};

struct cairn_pass {
    const struct cairn_model *model;
    struct cairn_tally *tally;
    struct cairn_pass_who *whos; /* of each thread */
    uint32_t *group_firsts;      /* the first thread of each group; groups are in their order */
    size_t thread_count, group_count;
    unsigned slices;                 /* 1 at least; a group of threads has sums for each */
    size_t items_max;                /* of the sums: more are -CAIRN_ELIMIT */
    struct cairn_pass_rider *riders; /* borrowed; their strips are made by the stream */
    size_t rider_count;
    struct cairn_sums sums;
    struct cairn_draws draws;
    struct cairn_blocker_sums blockers;
    /* Of the samples on stacks that the filter keeps, by their overlays: few values of those come,
     * and what each of them says is added up once. */
    uint64_t overlaid_ns[CAIRN_OVERLAYS_MAX], overlaid_blocked_ns[CAIRN_OVERLAYS_MAX];
};

/* `tally` has model and filter, all else zero. */
void cairn_pass_init(struct cairn_pass *pass, const struct cairn_model *model,
                     struct cairn_tally *tally);
/* Release it and the tally in any case. 0 or a negative code. */
int cairn_pass_begin(struct cairn_pass *pass, struct cairn_err *err);
/* What the sums say becomes the tally's cells. 0 or a negative code. */
int cairn_pass_end(struct cairn_pass *pass, struct cairn_err *err);
void cairn_pass_release(struct cairn_pass *pass);

/* Adds all up: sums, draws, strips, blockers, and what of the tally needs no stack. 0 or a negative
 * code. */
int cairn_pass_stream(struct cairn_pass *pass, struct cairn_err *err);

int cairn_pass_fail(struct cairn_err *err, int code);

static inline enum cairn_phase cairn_pass_phase(const struct cairn_pass *pass, uint32_t thread,
                                                uint32_t node)
{
    enum cairn_phase phase = pass->tally->kinds[node] & CAIRN_KIND_PHASE;

    return phase == CAIRN_PHASE_STARTUP && !pass->whos[thread].main ? CAIRN_PHASE_PROGRAM : phase;
}

/* Whether being blocked here is waiting for work: in a frame where threads wait, or outside Python
 * in a thread that is never in it (a shell that waits for its command, a library's worker). */
static inline bool cairn_pass_may_be_idle(const struct cairn_pass *pass, uint32_t thread,
                                          uint32_t node)
{
    if (pass->tally->kinds[node] & CAIRN_KIND_NO_PYTHON)
        return !pass->whos[thread].python;
    return pass->tally->kinds[node] & CAIRN_KIND_IDLE;
}

static inline uint64_t cairn_pass_idle_value(uint64_t idle_blocked_ns, enum cairn_metric metric)
{
    return metric == CAIRN_METRIC_WALL || metric == CAIRN_METRIC_BLOCKED ? idle_blocked_ns : 0;
}

static inline uint32_t cairn_pass_strips_item(uint32_t thread, int phase, bool idle)
{
    return (thread * CAIRN_PHASE_COUNT + (uint32_t)phase) * 2 + idle;
}

#endif
