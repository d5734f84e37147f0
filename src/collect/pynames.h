/* pynames.h: the names that threading gives its threads.
 *
 * Best effort: reads sys.modules["threading"]._active, a dictionary that the target may be
 * changing; what does not fit is left out. Threads: no shared state.
 */
#ifndef CAIRN_PYNAMES_H
#define CAIRN_PYNAMES_H

#include "pydict.h"

/* Calls back for each thread of the interpreter that has a name. How many, or a negative code.
 * `active` (0 at first) keeps where _active was found, which saves the way there next time. */
int cairn_pynames_read(const struct cairn_pysource *src, uint64_t interp, uint64_t *active,
                       void (*named)(void *ctx, uint64_t pthread_id, struct cairn_span name),
                       void *ctx);

#endif
