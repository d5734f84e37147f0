/* pylost.h: calls that were over when they were copied, and whose frames do not tell any more who
 * called them (3.8 to 3.10).
 *
 * A frame keeps its code and its caller until it serves another call, if it is the one that its
 * code keeps for the next call. Of a function that is on the stack more than once others are left
 * over; they go to a list of free ones, and the next of those stands where the caller stood
 * (frame_dealloc of Objects/frameobject.c). So whoever was called for a moment leads away from the
 * stack, by itself or by a caller that is over as well. Whose calls they were is known; they belong
 * onto the innermost frame of another moment of the same read that makes such a call.
 * Threads: one.
 */
#ifndef CAIRN_PYLOST_H
#define CAIRN_PYLOST_H

#include "pythread.h"

/* Keeps what the walk, which led to no root, begins with, as far as callers are told. 0 or a
 * negative code. */
int cairn_pylost_keep(struct cairn_pycontext *ctx, const struct cairn_pykept *kept);

/* Puts what was kept onto the walk, which holds. *ret_count: how many frames that are, 0 where
 * nobody is known to have called them. 0 or a negative code. */
int cairn_pylost_graft(struct cairn_pycontext *ctx, const struct cairn_pykept *kept,
                       size_t *ret_count);

#endif
