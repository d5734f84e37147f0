/* pyframe.h: the frame objects of CPython 3.8 to 3.10, each a block of its own on the heap.
 *
 * A frame object outlives what it ran: the code object keeps the last one for its next call, and
 * code, caller and place in it stay as they were until then. So a copy that is made a moment after
 * it was the current one still tells who was called by whom.
 * Threads: no shared state.
 */
#ifndef CAIRN_PYFRAME_H
#define CAIRN_PYFRAME_H

#include "pystack.h"

/* Whether frames of this version are objects. */
static inline bool cairn_pyframe_is_object(const struct cairn_pylayout *layout)
{
    return cairn_pylayout_has(layout->frame_last);
}

/* Decodes the first frame_size bytes of a frame object. `type` is that of all frames; 0: not asked.
 * 0, or -CAIRN_EDAMAGED with the check. */
int cairn_pyframe_decode(const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                         uint64_t address, const uint8_t *data, uint64_t type,
                         struct cairn_pyraw *ret_raw, enum cairn_pycheck *ret_check);

/* Whether the interpreter was running it, or something that it called, when it was copied. */
bool cairn_pyframe_runs(const struct cairn_pytable *table, const struct cairn_pyraw *raw);

#endif
