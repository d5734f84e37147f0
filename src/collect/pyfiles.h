/* pyfiles.h: what looking for CPython found in each mapped file: many processes map the same ones,
 * and their symbol tables are long.
 *
 * What is kept is where to look, never that it is right: what is found there is judged in every
 * process anew. Owner: the table owns its memory. Threads: one at a time.
 */
#ifndef CAIRN_PYFILES_H
#define CAIRN_PYFILES_H

#include <stdbool.h>

#include "intern.h"
#include "maps.h"
#include "pyversion.h"
#include "vec.h"

/* All by address as the file counts; 0: it is not there. */
struct cairn_pyfile {
    uint64_t base;       /* of the mapping that was looked at */
    uint64_t runtime;    /* .PyRuntime or _PyRuntime */
    uint64_t hexversion; /* Py_Version */
    uint64_t initialize; /* Py_InitializeEx */
    /* No addresses: what cairn_pyversions_find() says of a file without Py_Version. */
    uint32_t versions[CAIRN_PYVERSIONS_MAX];
};

struct cairn_pyfiles {
    struct cairn_intern keys;
    CAIRN_VEC(struct cairn_pyfile) items;
};

int cairn_pyfiles_init(struct cairn_pyfiles *files); /* 0 or -CAIRN_ENOMEM */
void cairn_pyfiles_release(struct cairn_pyfiles *files);

/* Of the file that is mapped at `range`; false: it was not looked into. */
bool cairn_pyfiles_get(struct cairn_pyfiles *files, const struct cairn_map_range *range,
                       struct cairn_pyfile *ret_file);

/* Keeps it, if there is room. */
void cairn_pyfiles_put(struct cairn_pyfiles *files, const struct cairn_map_range *range,
                       const struct cairn_pyfile *file);

#endif
