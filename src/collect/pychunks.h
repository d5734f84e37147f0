/* pychunks.h: the chunks of a thread's data stack: which there are, and how much of each to read.
 *
 * They are learned from their heads and believed until a copy contradicts. A thread that runs
 * greenlets has a chain of chunks for each, and goes from one to the other. Threads: one.
 */
#ifndef CAIRN_PYCHUNKS_H
#define CAIRN_PYCHUNKS_H

#include "pythread.h"

/* Takes up the chain that the hot chunk of the header belongs to, if it is known; what lies further
 * in than that chunk is gone. */
void cairn_pychunks_turn(struct cairn_pykept *kept);

/* Goes from the hot chunk to the root; only heads that are new are read. 0, or -CAIRN_ENOMEM. */
int cairn_pychunks_learn(const struct cairn_pycontext *ctx, struct cairn_pykept *kept);

/* How far the frames of the hot chunk reach, by the header: as much of it is to be read.
 * `may_shrink`: somewhat less than before, if that was more; once a tick. */
void cairn_pychunks_stretch_hot(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                                bool may_shrink);

/* A frame lies behind what was read of its chunk. */
void cairn_pychunks_stretch(const struct cairn_pycontext *ctx, struct cairn_pychunk *chunk,
                            uint64_t frame);

/* Whether the chunks that were read are the chunks there are. */
bool cairn_pychunks_hold(const struct cairn_pycontext *ctx, const struct cairn_pykept *kept);

#endif
