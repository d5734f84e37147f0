/* pyclimb.h: from frames that are known to be there further in, by the copy of the data stack
 * alone.
 *
 * The current frame is read a moment before the data stack that it lies in, and short calls come
 * and go in between. Each frame of the copy tells whether one that it called runs, so the stack of
 * the moment of that copy can be read off it: what is over is left out, what has come since is
 * taken in. Leaving out alone would show callers more often, and what they call less often, than
 * they run. Pure but for the notes in the code cache; threads: as the code cache.
 */
#ifndef CAIRN_PYCLIMB_H
#define CAIRN_PYCLIMB_H

#include "pystack.h"

/* Adds the frames that the last one of `raws` (outermost first, room for `max_frames`) called, in
 * turn, without calls of C in between. *ret_code_address: a code object that must be known to go
 * on, else 0. *ret_again: the address of a frame that must be copied a second time to go on, else
 * 0. 0 or -CAIRN_ENOMEM. */
int cairn_pystack_climb(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                        struct cairn_pyraws *raws, size_t max_frames, uint64_t *ret_code_address,
                        uint64_t *ret_again);

/* The innermost frame of `good` (outermost first) that lies on the data stack where it did, as all
 * above it do where they did; with none, the first of the first chunk. 0: there is none either. */
uint64_t cairn_pystack_foothold(const struct cairn_pyimage *image, const struct cairn_pyraws *good);

#endif
