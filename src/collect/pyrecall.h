/* pyrecall.h: stacks of generators that had yielded before they were copied (3.11 on).
 *
 * The thread state names the current frame. A generator that was resumed for less than a
 * microsecond has yielded by the time its frame is copied: it has no caller then, and the copies
 * show its driver. Who resumes generators of its code, and from where, is known from stacks that
 * were copied in time: the innermost frame is that of the moment of the read, what lies between it
 * and the frames of the data stack is what has been seen there before.
 * Coroutines and asynchronous generators are generators here. Threads: one.
 */
#ifndef CAIRN_PYRECALL_H
#define CAIRN_PYRECALL_H

#include "pythread.h"

/* Notes who resumes and calls whom in the stack of `kept`, which was read as it is. 0 or
 * -CAIRN_ENOMEM. */
int cairn_pyrecall_note(struct cairn_pycontext *ctx, const struct cairn_pykept *kept);

/* Keeps the walk from the current frame, if it ended at a generator without a caller, for
 * cairn_pyrecall_graft(). 0 or -CAIRN_ENOMEM. */
int cairn_pyrecall_keep(struct cairn_pycontext *ctx, const struct cairn_pyimage *image);

/* Puts what was kept onto the stack of `kept`, in place of what came a moment later. *ret_base: so
 * many outermost frames were read, of which the last may stand elsewhere in its code than before.
 * 1: done; 0: there was nothing, or it cannot be told; -CAIRN_ENOMEM. */
int cairn_pyrecall_graft(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                         const struct cairn_pyimage *image, size_t *ret_base);

#endif
