/* pynotes.h: what was seen most often, of things that were seen too late now and then.
 *
 * A map holds, for each key, the value that was noted more often than all others together, and by
 * how much. Threads: one.
 */
#ifndef CAIRN_PYNOTES_H
#define CAIRN_PYNOTES_H

#include "map.h"
#include "pystack.h"

/* 0 or -CAIRN_ENOMEM; what does not fit any more is left out. */
int cairn_pynotes_add(struct cairn_map *map, uint64_t key_a, uint64_t key_b, uint32_t value);

/* False: nothing was seen often enough to be relied on. */
bool cairn_pynotes_known(const struct cairn_map *map, uint64_t key_a, uint64_t key_b,
                         uint32_t *ret_value);

/* A code object in such keys and values: never 0. The frame's code is known. */
static inline uint32_t cairn_pynotes_key(const struct cairn_pyraw *raw)
{
    return raw->entry->code.number + 1;
}

#endif
