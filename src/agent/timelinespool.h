/* timelinespool.h: the timeline of a process (timeline.h), as rows of a recording: a call with its
 * beginning, how long it took, and the stack that it stood on.
 *
 * The file may hold anything, and grow meanwhile. Times are those of CLOCK_MONOTONIC; both ends of
 * a call are made of ticks in the same way, so that one call lies within the other in ns as well,
 * but where one was longer than 2^36 ticks, and ends up to 1,024 ticks too early.
 * Owner: the caller has it, zeroed but for `writer`, `err` and `tick_ns`, and releases it.
 */
#ifndef CAIRN_TIMELINESPOOL_H
#define CAIRN_TIMELINESPOOL_H

#include "err.h"
#include "map.h"
#include "spoolfile.h"
#include "vec.h"
#include "writer.h"

struct cairn_timelinespool_page {
    uint64_t thread, number; /* the address of its record */
    uint64_t offset;         /* in the file */
};

struct cairn_timelinespool {
    struct cairn_writer *writer;
    struct cairn_err *err;
    double tick_ns;
    int fd;    /* of the process at hand; -1: it keeps none */
    bool grew; /* it lives on */
    uint64_t base;
    CAIRN_VEC(struct cairn_timelinespool_page) pages; /* by thread, then number */
    struct cairn_map stacks;                          /* address of a node to its stack */
    uint64_t processes, kept, lost, gone;
    uint64_t untold; /* calls of processes that keep none: lost, where others do */
};

void cairn_timelinespool_init(struct cairn_timelinespool *times);
void cairn_timelinespool_release(struct cairn_timelinespool *times);

/* Goes on to the process whose calls are in `calls`. 0, -CAIRN_ENOMEM. */
int cairn_timelinespool_open(struct cairn_timelinespool *times,
                             const struct cairn_spoolfile *calls);

/* The node at this address of the process stands on this stack; the first that is said stays. 0,
 * -CAIRN_ENOMEM. */
int cairn_timelinespool_learn(struct cairn_timelinespool *times, uint64_t node, uint32_t stack);

/* Writes the calls of the thread whose record was at that address; `last`: its last moment, in
 * ticks. 0, -CAIRN_ENOMEM, or what the writer says. */
int cairn_timelinespool_put(struct cairn_timelinespool *times, uint64_t thread, uint32_t track,
                            int64_t last);

/* 0 or what the writer says. */
int cairn_timelinespool_counters(const struct cairn_timelinespool *times);

#endif
