/* pypublish.h: the public form of a stack that was judged.
 *
 * Threads: one.
 */
#ifndef CAIRN_PYPUBLISH_H
#define CAIRN_PYPUBLISH_H

#include "pythread.h"

/* Publishes the first `count` good frames of `kept`, of which `same` did not change since they were
 * published last. 0 or -CAIRN_ENOMEM. */
int cairn_pypublish(struct cairn_pycontext *ctx, struct cairn_pykept *kept,
                    const struct cairn_pyimage *image, size_t same, size_t count,
                    enum cairn_pystack_status status);

#endif
