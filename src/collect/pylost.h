/* pylost.h: calls that were over when they were copied, and whose frames do not tell any more who
 * called them (3.8 to 3.10).
 *
 * A frame keeps its code and its caller until it serves another call. Of a function that is on the
 * stack more than once not all frames are kept for it, though: what is left over goes to a list of
 * free ones, whose next one stands where the caller stood. So whoever was called for a moment, and
 * its callers that are over as well, lead away from the stack. Whose calls they were is known; they
 * belong onto the innermost frame of the next moment that is known to make such a call.
 * Threads: one.
 */
#ifndef CAIRN_PYLOST_H
#define CAIRN_PYLOST_H

#include "pythread.h"

/* Keeps what the walk begins with, as far as each calls the one in front of it: it led to no root,
 * from a frame that is nobody's generator. Asks for code that is not known, or not for sure. 0 or
 * -CAIRN_ENOMEM. */
int cairn_pylost_keep(struct cairn_pycontext *ctx);

/* Puts what was kept onto the walk, which holds. 0, also where nothing was kept or nobody there
 * makes such a call; or -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pylost_graft(struct cairn_pycontext *ctx);

#endif
