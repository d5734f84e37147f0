/* pytasks.h: the asyncio tasks of a process, and what each of them waits in.
 *
 * From 3.14 on `_asyncio` tells where its tasks are linked and what they look like (the section
 * .AsyncioDebug, pytaskplaces.h), before they are in a set of Python's (pytasksets.h). A task is
 * followed from its coroutine over what that awaits to the innermost frame (pychains.h). The target
 * goes on meanwhile: each link of the list must point back, and a task is looked at again when its
 * coroutine was; a chain that changed while it was read ends in front of the first frame that did.
 * Owner: the reader of the process owns its tasks. Threads: one at a time.
 */
#ifndef CAIRN_PYTASKS_H
#define CAIRN_PYTASKS_H

#include "map.h"
#include "pyread.h"
#include "vec.h"

#define CAIRN_PYTASKS_MAX 2000 /* in a round; the rest is counted */

struct cairn_pytask {
    const struct cairn_pythread *thread; /* whose loop runs it; NULL: that thread is over */
    struct cairn_span name;              /* UTF-8; empty: it was given none */
    bool runs;            /* it was its thread's current task, or its coroutine ran */
    bool torn, truncated; /* the chain changed; it is deeper than is followed */
    uint64_t frame;       /* address of its coroutine's frame … */
    const struct cairn_pycode *coroutine; /* … and its code; NULL: it could not be read */
    /* Its chain, as far as it holds: the coroutine, what that awaits, … */
    uint32_t depth;
    const struct cairn_pyframe *frames;
};

struct cairn_pytasks; /* opaque */

/* Reads them. *ret_tasks is borrowed until the next round, *ret_left_out how many more there were.
 * 0; -CAIRN_ENOTFOUND: asyncio is not in use; -CAIRN_EUNSUPPORTED, -CAIRN_ENOMEM, -CAIRN_EGONE or
 * -CAIRN_EPERM. */
int cairn_pytasks_read(struct cairn_pyread *read, const struct cairn_pytask **ret_tasks,
                       size_t *ret_count, uint64_t *ret_left_out);

/* How far out from the root, on its thread's stack, the frames of a task that runs begin: with its
 * coroutine's; the depth of that stack: nowhere. */
uint32_t cairn_pytask_start(const struct cairn_pytask *task);

/* NULL allowed. */
void cairn_pytasks_free(struct cairn_pytasks *tasks);

#endif
