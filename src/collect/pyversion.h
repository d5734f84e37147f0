/* pyversion.h: which CPython a file may hold, by the strings in it, when it has no Py_Version:
 * until 3.10, and later where a program took Python into itself and was stripped.
 *
 * Other things have versions, too, so what is found is a guess, to be held against structures.
 * Threads: no shared state.
 */
#ifndef CAIRN_PYVERSION_H
#define CAIRN_PYVERSION_H

#include "elffile.h"

#define CAIRN_PYVERSIONS_MAX 5 /* 3.8 to 3.12: who is newer tells its version itself */

/* Versions as PY_VERSION_HEX that end a string among the constants of the file, one for each minor
 * that there is a table for, in order of appearance, and 0 behind the last. When there is none: the
 * first that could be an older Python's, or 0. */
void cairn_pyversions_find(struct cairn_elffile *file, uint32_t ret_versions[CAIRN_PYVERSIONS_MAX]);

#endif
