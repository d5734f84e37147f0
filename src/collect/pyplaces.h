/* pyplaces.h: where a thread's frames lie outside of its data stack: on the C stack, in generators.
 *
 * Places are learned from chains that were followed, and forgotten when no chain goes through them
 * any more. They are kept by address, so that those which lie side by side are read in one piece:
 * every piece of a read takes its time, and the target goes on meanwhile.
 * Owner: the caller owns the structure, all zero is empty. Threads: one.
 */
#ifndef CAIRN_PYPLACES_H
#define CAIRN_PYPLACES_H

#include "pystack.h"

struct cairn_pyspot {   /* note on each piece */
    uint64_t used_tick; /* when the chain last went through it */
    uint8_t uses;       /* in how many stacks that were believed, UINT8_MAX at most */
    bool cframe;        /* 3.11, 3.12: the structure that holds the current frame */
};

struct cairn_pyplaces {
    CAIRN_VEC(struct cairn_pypiece) pieces; /* starts and ends ascend */
    CAIRN_VEC(struct cairn_pyspot) spots;   /* one for each */
};

struct cairn_pyrange { /* pieces that are read as one */
    uint64_t address;
    size_t size_bytes;
    bool cframe; /* has one of those */
};

void cairn_pyplaces_release(struct cairn_pyplaces *places);

/* Notes a place used at `tick`. 0; 1: it was noted already, or there are too many; or
 * -CAIRN_ENOMEM. */
int cairn_pyplaces_add(struct cairn_pyplaces *places, uint64_t address, size_t size_bytes,
                       bool cframe, uint64_t tick);

/* The chain went through `address` at `tick`. */
void cairn_pyplaces_touch(struct cairn_pyplaces *places, uint64_t address, uint64_t tick);

/* Whether a place is known that `address` lies in. */
bool cairn_pyplaces_has(const struct cairn_pyplaces *places, uint64_t address);

/* A stack that was believed went through piece `index`. */
void cairn_pyplaces_use(struct cairn_pyplaces *places, size_t index, uint64_t tick);

/* Forgets what was not used for long, as of tick `now`. */
void cairn_pyplaces_age(struct cairn_pyplaces *places, uint64_t now);

/* The next range of pieces from *at on, which moves behind it. False: there is none. */
bool cairn_pyplaces_next(const struct cairn_pyplaces *places, size_t *at,
                         struct cairn_pyrange *ret_range);

/* The bytes of a range, borrowed until the next read; NULL: it could not be read, so what was not
 * used since `tick` is forgotten. */
void cairn_pyplaces_take(struct cairn_pyplaces *places, const struct cairn_pyrange *range,
                         const uint8_t *data, uint64_t tick);

/* No piece has bytes now. */
void cairn_pyplaces_clear(struct cairn_pyplaces *places);

#endif
