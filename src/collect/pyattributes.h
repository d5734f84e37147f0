/* pyattributes.h: what an instance or a module of the target has for names.
 *
 * Threads: no shared state.
 */
#ifndef CAIRN_PYATTRIBUTES_H
#define CAIRN_PYATTRIBUTES_H

#include "pydict.h"

/* Replaces what `dict` held by the attributes of an instance of a class written in Python. 0,
 * -CAIRN_ENOTFOUND: it has none, or keeps them in no way that is known; or a negative code. */
int cairn_pyattributes_of(const struct cairn_pysource *src, uint64_t object,
                          struct cairn_pydict *dict);

/* The same by the names of a module that the interpreter has imported. */
int cairn_pyattributes_of_module(const struct cairn_pysource *src, uint64_t interp,
                                 const char *name, struct cairn_pydict *dict);

#endif
