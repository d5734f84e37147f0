/* pyverify.h: whether a table of 3.8 to 3.12 fits the Python it is used on.
 *
 * Those versions tell nothing of their layout to a debugger. But their types say how large their
 * objects are and where the members lie that Python code may see, and what lies between these is
 * the same in every build. So a build with other structures is refused, not misread.
 * Threads: no shared state.
 */
#ifndef CAIRN_PYVERIFY_H
#define CAIRN_PYVERIFY_H

#include <stdbool.h>

#include "pyruntime.h"

/* `thread` is the first thread state. 0; -CAIRN_ENOTFOUND: no thread runs Python now, and nothing
 * can be said; -CAIRN_EUNSUPPORTED: something does not fit, *ret_what (static) is what. */
int cairn_pyverify(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                   uint64_t thread, const char **ret_what);

#endif
