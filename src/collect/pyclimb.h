/* pyclimb.h: from frames that are known to be there further in, by the copy of the data stack
 * alone.
 *
 * The current frame is read a moment before the data stack that it lies in, and short calls come
 * and go in between. Each frame of the copy tells whether one that it called runs, so the stack of
 * the moment of that copy can be read off it: what is over is left out, what has come since is
 * taken in; what was there when its caller was copied, and is over in its own copy, is not left
 * out. Leaving out alone would show callers more often, and what they call less often, than they
 * run. Pure but for the notes in the code cache; threads: as the code cache.
 */
#ifndef CAIRN_PYCLIMB_H
#define CAIRN_PYCLIMB_H

#include <stdbool.h>

#include "pystack.h"

/* Adds the frames that the last one of `raws` (outermost first, room for `max_frames`) called, in
 * turn; of those that C called for it, what it was seen to call so again and again.
 * *ret_code_address: a code object that must be known to go on, else 0. *ret_again: the address of
 * a frame that must be copied a second time to go on, else 0. 0 or -CAIRN_ENOMEM. */
int cairn_pystack_climb(const struct cairn_pyimage *image, struct cairn_pycodes *codes,
                        struct cairn_pyraws *raws, size_t max_frames, uint64_t *ret_code_address,
                        uint64_t *ret_again);

/* Where the frame on top of the last of `raws`, of which there is one, lies on the data stack, if
 * it is in the same chunk, whose index goes to *ret_chunk. 0: not known. */
uint64_t cairn_pystack_end(const struct cairn_pycodes *codes, const struct cairn_pyraws *raws,
                           int32_t *ret_chunk);

/* Whether what lies on top of the last of `raws` was not copied, though the data stack reached
 * further when its header was. */
bool cairn_pystack_is_short(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                            const struct cairn_pyraws *raws);

/* The walk (cairn_pystack_walk(), as which it answers) from the innermost frame of `good`
 * (outermost first) that lies on the data stack where it did, as all above it do where they did;
 * where that leads nowhere, or if it is the `last` try to what was not copied, from the next one
 * outside of it, at last from the first of the first chunk. -CAIRN_EDAMAGED, and
 * CAIRN_PYCHECK_ROOT: there is none either. Sets image->current_frame.
 */
int cairn_pystack_walk_foothold(struct cairn_pyimage *image, const struct cairn_pyraws *good,
                                bool last, struct cairn_pyraws *raws, size_t max_frames,
                                uint64_t *ret_missing, enum cairn_pycheck *ret_check);

#endif
