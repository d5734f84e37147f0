/* pyblocks.h: the memory that a thread's frame objects lie in (3.8 to 3.10), by pages.
 *
 * Objects of a size lie side by side in few pages, and each piece of a read costs more than a page
 * more in it: so what lies between frames is copied with them, and the fewer, larger pieces take
 * less time, in which the target goes on. A frame that nobody expected mostly lies in a page that
 * others do, and is copied already. Pages are forgotten when no chain goes through them any more.
 * Owner: the caller owns the structure, all zero is empty. Threads: one.
 */
#ifndef CAIRN_PYBLOCKS_H
#define CAIRN_PYBLOCKS_H

#include "pystack.h"

#define CAIRN_PYBLOCKS_TICKS 12 /* that a block is known without being used */
#define CAIRN_PYBLOCKS_FEW 12   /* so many that are not used are read all the same */

struct cairn_pyblock {         /* the frames that begin in one page */
    uint64_t start, end;       /* of memory that the next read asks for */
    struct cairn_pypiece copy; /* what the last one got */
    uint64_t used_tick;        /* when the chain last went through it, … */
    uint32_t from_leaf;        /* … and frames then between the innermost one and those in it */
    size_t run;                /* with which it was copied */
    bool returned;             /* the chain left it and came back */
};

struct cairn_pyrun { /* blocks that are read as one */
    size_t first, count;
    uint64_t address;
    size_t size_bytes;
    uint32_t from_leaf; /* the least of its blocks */
};

struct cairn_pyblocks {
    CAIRN_VEC(struct cairn_pyblock) blocks; /* by address */
    CAIRN_VEC(struct cairn_pyrun) runs;     /* of the next read, in this order */
    size_t last;                            /* block that was looked at last */
};

void cairn_pyblocks_release(struct cairn_pyblocks *blocks);

/* Says that a frame lies there, and is in the chain at `tick`, which is never 0. 0 or
 * -CAIRN_ENOMEM.
 */
int cairn_pyblocks_add(struct cairn_pyblocks *blocks, uint64_t address, size_t size_bytes,
                       uint64_t tick, uint32_t from_leaf);

/* The copy of a frame, borrowed until the next read, or NULL. *ret_run: with which it came. */
const uint8_t *cairn_pyblocks_at(struct cairn_pyblocks *blocks, uint64_t address, size_t size_bytes,
                                 uint64_t tick, uint32_t from_leaf, size_t *ret_run);

/* Makes the runs of the read at `tick`, those nearest to the leaf first, each of `most_pages` at
 * most, and forgets what was not used for CAIRN_PYBLOCKS_TICKS. Where many were not used by the
 * last one, as after the end of a deep stack, only those of them are read that the chain left and
 * came back to before. No block has a copy then. 0 or -CAIRN_ENOMEM. */
int cairn_pyblocks_plan(struct cairn_pyblocks *blocks, uint64_t tick, size_t most_pages);

/* The bytes of a run; NULL: it could not be read, so what was not used since `tick` is forgotten.
 */
void cairn_pyblocks_take(struct cairn_pyblocks *blocks, size_t run, const uint8_t *data,
                         uint64_t tick);

#endif
