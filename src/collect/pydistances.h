/* pydistances.h: what has lain at the same distance in every CPython, or in those of some years.
 *
 * Structures grow at their ends and between their parts; these members never parted. One that has
 * left its neighbours is not where the table says, or the target is not built as it says.
 * Source: the headers of CPython 3.8 to 3.15 (Include/cpython, Include/internal).
 * Threads: no shared state.
 */
#ifndef CAIRN_PYDISTANCES_H
#define CAIRN_PYDISTANCES_H

#include "pylayout.h"

/* What the first member is of that does not lie as it should ("its threads"; static); NULL: all
 * do. Members that a version does not have, or that are not known, are not asked, nor what the
 * target tells of both. */
const char *cairn_pydistances_misfit(const struct cairn_pylayout *layout,
                                     const struct cairn_pytable *table);

#endif
