/* pynames.h: the names that threading gives its threads.
 *
 * Best effort: reads sys.modules["threading"]._active, a dictionary that the target may be
 * changing; what does not fit is left out. Threads: no shared state.
 */
#ifndef CAIRN_PYNAMES_H
#define CAIRN_PYNAMES_H

#include <stdbool.h>

#include "pydict.h"

struct cairn_pynames_places { /* of objects, as once found, which saves the way there; 0 at first */
    uint64_t active;          /* threading._active */
    uint64_t name, ident, native_id; /* the words: every Thread has the same ones for keys */
};

struct cairn_pynames {                             /* who asks */
    bool (*wants)(void *ctx, uint64_t pthread_id); /* whose names; NULL: all */
    /* `native_id`: 0 where that is not known; of the parent where a program forked without telling
     * Python. `name`: in UTF-8. */
    void (*named)(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name);
    void *ctx;
};

/* Calls back for each thread of the interpreter that has a name and is wanted. How many, or a
 * negative code. `places` is the interpreter's. */
int cairn_pynames_read(const struct cairn_pysource *src, uint64_t interp,
                       struct cairn_pynames_places *places, const struct cairn_pynames *names);

/* Whether the interpreter's modules could be read, and threading is none of them. */
bool cairn_pynames_are_nowhere(const struct cairn_pysource *src, uint64_t interp);

#endif
