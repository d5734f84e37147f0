/* timeline.h: when each call was: what exact.c notes beside its tree, 16 bytes a call.
 *
 * A file of its own beside the one of the tree, in pages. A thread has one page at a time and puts
 * its calls into it in the order in which they begin; how long one lasted is added when it is over,
 * so what is open when the process ends is there as well. Where the file may not grow, calls are
 * counted and not kept, or, in a ring, the oldest page goes to whoever needs one.
 * Threads: under the engine's lock. Owner: as the spool (spool.h).
 */
#ifndef CAIRN_TIMELINE_H
#define CAIRN_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "spool.h"

struct cairn_exact_thread;

struct cairn_event {
    int64_t start; /* ticks; 0: there is none, nor behind it */
    uint64_t what; /* from the top: 26 bits of node, 2 of scale, 36 of duration */
};

#define CAIRN_EVENT_NODE_SHIFT 38 /* node: offset in the file of the tree, in units of 16 bytes */
#define CAIRN_EVENT_SCALE_SHIFT 36
#define CAIRN_EVENT_SCALE_BITS                                                                     \
    10 /* the duration is in units of 1 << scale * 10 ticks, rounded down */
#define CAIRN_EVENT_DURATION_MAX (((uint64_t)1 << CAIRN_EVENT_SCALE_SHIFT) - 1)
#define CAIRN_EVENT_OPEN (((uint64_t)1 << CAIRN_EVENT_NODE_SHIFT) - 1) /* it is not over */

#define CAIRN_EVENTS_A_PAGE 255

struct cairn_event_page {
    const struct cairn_exact_thread *thread;
    uint64_t number; /* of the pages that were begun, from 1; 0: this one never was */
    struct cairn_event events[CAIRN_EVENTS_A_PAGE];
};

struct cairn_timeline {
    struct cairn_spool spool; /* head->lost: calls that were not kept; head->gone: kept, and gone */
    size_t max_bytes;         /* of pages */
    bool ring, full;          /* full: no more pages can be had */
    uintptr_t base;           /* where the file of the tree is mapped */
    size_t begun;             /* pages that were handed out for the first time */
    size_t oldest;            /* of a ring: the page to be taken next */
    uint64_t number;
};

/* Begins the file beside `tree`, which is open. 0 or -CAIRN_EIO. */
int cairn_timeline_open(struct cairn_timeline *timeline, const struct cairn_spool *tree,
                        size_t max_bytes, bool ring);

/* The same in a child made by fork, which leaves its parent's alone; without a file nothing is
 * kept. */
void cairn_timeline_again(struct cairn_timeline *timeline, const struct cairn_spool *tree);

/* A page for this thread: its first place, and the end in *ret_end; NULL: there is none, which is
 * counted. */
__attribute__((noinline)) struct cairn_event *cairn_timeline_turn(
    struct cairn_timeline *timeline, const struct cairn_exact_thread *thread,
    struct cairn_event **ret_end);

/* Ticks that it takes to keep a call. Before the first one: nothing is left of those it is tried
 * on. 0 without a file. */
double cairn_timeline_measure(struct cairn_timeline *timeline);

static inline uint64_t cairn_event_node(const struct cairn_timeline *timeline, const void *node)
{
    return ((uintptr_t)node - timeline->base) / 16 << CAIRN_EVENT_NODE_SHIFT;
}

/* A call begins. The start comes last: without one there is no event, whatever happens here. */
static inline void cairn_event_begin(struct cairn_event *event, uint64_t node, int64_t start)
{
    event->what = node | CAIRN_EVENT_OPEN;
    __atomic_store_n(&event->start, start, __ATOMIC_RELEASE);
}

/* It is over; unless its place went to another. */
static inline void cairn_event_end(struct cairn_event *event, uint64_t node, int64_t start,
                                   int64_t ticks)
{
    uint64_t duration = ticks > 0 ? (uint64_t)ticks : 0, scale = 0;

    if (event->start != start || event->what != (node | CAIRN_EVENT_OPEN))
        return;
    for (; __builtin_expect(duration > CAIRN_EVENT_DURATION_MAX, 0); scale++)
        duration >>= CAIRN_EVENT_SCALE_BITS;
    event->what = node | scale << CAIRN_EVENT_SCALE_SHIFT | duration;
}

#endif
