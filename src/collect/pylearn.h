/* pylearn.h: which places to read of a thread besides its data stack.
 *
 * Threads: one.
 */
#ifndef CAIRN_PYLEARN_H
#define CAIRN_PYLEARN_H

#include "pythread.h"

/* Something was found to have moved: looks where it is now, by reads of their own, as far as the
 * copied chunks reach. The next round reads all again at once. 0, or -CAIRN_ENOMEM, -CAIRN_EGONE,
 * -CAIRN_EPERM. */
int cairn_pylearn_chain(const struct cairn_pycontext *ctx, struct cairn_pykept *kept);

/* Notes which places the stack went through, and to read more of a generator's frame once its size
 * is known. 0 or -CAIRN_ENOMEM. */
int cairn_pylearn_touch(const struct cairn_pycontext *ctx, struct cairn_pykept *kept);

/* Notes the frames that resume generators, or that these called, of the stack that was read from
 * `image`: to be read a second time. 0 or -CAIRN_ENOMEM. */
int cairn_pylearn_resumers(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                           const struct cairn_pyimage *image);

/* Notes one more frame to be read a second time. 0 or -CAIRN_ENOMEM. */
int cairn_pylearn_again(const struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                        uint64_t address);

#endif
