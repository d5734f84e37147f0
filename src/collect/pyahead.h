/* pyahead.h: frame objects that no read was planned for (3.8 to 3.10), by pages and ahead.
 *
 * Each read by itself costs far more than a page more in it, and a stack that was never seen lies
 * side by side mostly: so the whole page is copied that such a frame lies in, and when the chain
 * goes on in the page beside what was copied last, twice as many at once, the way it goes; where
 * the last such stack had its most, as many as it had. What is copied ahead is copied sooner than
 * it would be by itself.
 * Owner: the caller owns the structure, all zero is empty. Threads: one.
 */
#ifndef CAIRN_PYAHEAD_H
#define CAIRN_PYAHEAD_H

#include "remote.h"
#include "vec.h"

#define CAIRN_PYAHEAD_PAGES_MAX 32 /* in one read */

struct cairn_pywindow { /* pages that were copied at once */
    uint64_t address;
    size_t size_bytes, place; /* `place`: in the memory of copies */
};

struct cairn_pyrow {           /* frames that lie side by side, one after the other in the chain */
    uint64_t first, low, high; /* of the frames that were looked at */
    size_t number;             /* so many rows, with it, since the last clear */
};

struct cairn_pyahead {
    CAIRN_VEC(struct cairn_pywindow) windows; /* the latest one last */
    uint8_t *copies;
    size_t used_bytes;
    struct cairn_pyrow row, longest; /* the one that the chain is in; so far */
    struct cairn_pyrow expected;     /* the longest one before the last clear */
};

void cairn_pyahead_release(struct cairn_pyahead *ahead);

/* Forgets all copies: those that follow are of another moment. How far they went is remembered. */
void cairn_pyahead_clear(struct cairn_pyahead *ahead);

/* A copy of `size_bytes` (at most a page) at `address`, made since the last clear; borrowed until
 * the next call. 0; -CAIRN_EUNREADABLE: nothing lies there; -CAIRN_ENOMEM, -CAIRN_EGONE,
 * -CAIRN_EPERM. */
int cairn_pyahead_get(struct cairn_pyahead *ahead, struct cairn_remote *remote, uint64_t address,
                      size_t size_bytes, const uint8_t **ret_data);

#endif
