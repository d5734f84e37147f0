/* pybump.h: whether a frame lies where the data stack has it (3.11 on).
 *
 * The data stack only ever grows and shrinks at its end, so frames on it follow each other without
 * gaps, over all that lies elsewhere, and the first in a chunk starts at its beginning. Between two
 * of them may lie what has returned and is being taken down. Pure; threads: as the code cache.
 */
#ifndef CAIRN_PYBUMP_H
#define CAIRN_PYBUMP_H

#include "pystack.h"

/* Frame `index` of `raws` (outermost first), which lies in a chunk. True where that cannot be told.
 */
bool cairn_pybump_holds(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                        const struct cairn_pyraw *raws, size_t index);

/* The code that must be known to tell whether the frame lies behind one that is being taken down;
 * 0: there is none. */
uint64_t cairn_pybump_unknown(const struct cairn_pyimage *image, const struct cairn_pycodes *codes,
                              const struct cairn_pyraw *raws, size_t index);

#endif
