/* blockers.h: what threads waited for, added up: system calls with the file, socket, process or
 * lock they were about. */
#ifndef CAIRN_BLOCKERS_H
#define CAIRN_BLOCKERS_H

#include "samples.h"
#include "vec.h"

struct cairn_blocker {
    struct cairn_span text; /* "recvfrom socket 127.0.0.1:5432"; empty: not known. Borrowed */
    uint64_t waited_ns;     /* blocked, or waiting for the GIL */
    uint64_t idle_ns;       /* of that: waiting for work */
};

CAIRN_VEC_DECLARE(cairn_blockers, struct cairn_blocker);

/* One being made. */
struct cairn_blocker_sums {
    const struct cairn_model *model;
    uint32_t *index; /* of each of the model's texts: place in `sums` + 1 */
    struct cairn_blockers sums;
};

/* 0 or -CAIRN_ENOMEM; release in both cases. */
int cairn_blocker_sums_init(struct cairn_blocker_sums *sums, const struct cairn_model *model);
void cairn_blocker_sums_release(struct cairn_blocker_sums *sums);

/* Room for a text that nobody waited for yet. 0 or -CAIRN_ENOMEM. */
int cairn_blocker_sums_new(struct cairn_blocker_sums *sums, uint32_t on);

/* 0 or -CAIRN_ENOMEM. */
static inline int cairn_blocker_sums_add(struct cairn_blocker_sums *sums, uint32_t on,
                                         uint64_t waited_ns, uint64_t idle_ns)
{
    struct cairn_blocker *blocker;
    int code = sums->index[on] ? 0 : cairn_blocker_sums_new(sums, on);

    if (code < 0)
        return code;
    blocker = &sums->sums.items[sums->index[on] - 1];
    blocker->waited_ns += waited_ns;
    blocker->idle_ns += idle_ns;
    return 0;
}

/* Hands them over, the longest first, idle waiting left out; then by all of it. */
void cairn_blocker_sums_finish(struct cairn_blocker_sums *sums, struct cairn_blockers *ret);

#endif
