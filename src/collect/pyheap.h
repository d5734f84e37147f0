/* pyheap.h: a thread's part of a tick where frames are objects on the heap (3.8 to 3.10).
 *
 * The moment of a stack is the one at which the thread state was copied; the pages in which the
 * last ticks found frames are copied after it, others with what lies beside them. A frame that was
 * over by then still tells its code and its caller, and the caller's place in its code is the one
 * it is known to call from. So short functions count as much as they run: waiting for a moment at
 * which nothing moves would leave them out. What hangs together at none of a read's moments is read
 * again. Threads: one.
 */
#ifndef CAIRN_PYHEAP_H
#define CAIRN_PYHEAP_H

#include "pythread.h"

/* As cairn_pykept_settle(), which calls it for these versions. */
int cairn_pyheap_settle(struct cairn_pycontext *ctx, struct cairn_pykept *kept, bool last);

#endif
