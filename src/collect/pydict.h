/* pydict.h: a copy of one dictionary of the target, and what it maps a string to.
 *
 * The target may change it meanwhile; whatever does not fit together is simply not found.
 * Owner: the caller releases the copy. Threads: one.
 */
#ifndef CAIRN_PYDICT_H
#define CAIRN_PYDICT_H

#include "buf.h"
#include "pyruntime.h"
#include "vec.h"

#define CAIRN_PYDICT_ENTRIES_MAX 65536

struct cairn_pydict_entry {
    uint64_t key, value; /* addresses of objects, not 0 */
    uint64_t hash;       /* of the key; 0 where it is not kept, as in newer ones of strings alone */
};

struct cairn_pydict {
    CAIRN_VEC(struct cairn_pydict_entry) entries;
};

struct cairn_pysource { /* whom to ask, and what its structures look like; borrowed */
    struct cairn_remote *remote;
    const struct cairn_pyruntime *runtime;
};

/* Replaces what `dict` held by the dictionary at `address`. 0, or a negative code. */
int cairn_pydict_read(const struct cairn_pysource *src, uint64_t address,
                      struct cairn_pydict *dict);

/* The same from keys and values that stand apart (an instance's). */
int cairn_pydict_read_split(const struct cairn_pysource *src, uint64_t keys, uint64_t values,
                            struct cairn_pydict *dict);

/* The entry of the string `name`, in `dict`. 0, -CAIRN_ENOTFOUND, or a negative code. */
int cairn_pydict_seek(const struct cairn_pysource *src, const struct cairn_pydict *dict,
                      const char *name, const struct cairn_pydict_entry **ret_entry);

/* The object that the string `name` maps to; the same codes. */
int cairn_pydict_find(const struct cairn_pysource *src, const struct cairn_pydict *dict,
                      const char *name, uint64_t *ret_value);

void cairn_pydict_release(struct cairn_pydict *dict);

#endif
