/* tracecalls.h: calls of threads, each from one time to another, put in order: by thread, by when
 * they began, the longer one first, and of two alike the one that came first.
 *
 * A part of them is held in memory; when that is full it is sorted and written to a spill, and what
 * was written is merged when all are there.
 * Owner: frees what it holds; the spill is borrowed. Threads: one at a time.
 */
#ifndef CAIRN_TRACECALLS_H
#define CAIRN_TRACECALLS_H

#include <stddef.h>

#include "spill.h"
#include "vec.h"

struct cairn_tracecall {
    int64_t first_ns, last_ns; /* last_ns >= first_ns */
    uint32_t thread, frame;
    uint32_t number; /* in which order they came: of two alike the first calls the other */
};

struct cairn_tracecalls_run; /* sorted, in the spill */

struct cairn_tracecalls {
    struct cairn_spill *spill; /* NULL, or without a file: what is held is all there may be */
    size_t held_max;
    CAIRN_VEC(struct cairn_tracecall) held;
    CAIRN_VEC(struct cairn_tracecalls_run) runs;
    uint32_t *order; /* of those held, once they are sorted */
    size_t next;     /* of `order` */
};

/* Holds at most `held_max` of them, at least 1. */
void cairn_tracecalls_init(struct cairn_tracecalls *slices, struct cairn_spill *spill,
                           size_t held_max);
void cairn_tracecalls_release(struct cairn_tracecalls *slices);

/* 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT (more than there is room for), or -CAIRN_EIO. */
int cairn_tracecalls_add(struct cairn_tracecalls *slices, const struct cairn_tracecall *slice);

/* When all of them are there, before the first one is asked for. As cairn_tracecalls_add(). */
int cairn_tracecalls_sort(struct cairn_tracecalls *slices);

/* 1 and the next one, 0 behind the last, -CAIRN_EIO. */
int cairn_tracecalls_next(struct cairn_tracecalls *slices, struct cairn_tracecall *ret_slice);

#endif
