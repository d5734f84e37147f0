/* regiontypes.h: cairn.region(), cairn.mark() and what @cairn.timed makes, for the module. All of
 * it runs under the GIL. */
#ifndef CAIRN_REGIONTYPES_H
#define CAIRN_REGIONTYPES_H

#include "pycompat.h"

#include <stdbool.h>

#include "regions.h"

/* Adds `region`, `mark` and `Timed` to the module. 0; -1 with an exception set. */
int cairn_regions_add(PyObject *module);

/* Whether something records this process. */
bool cairn_region_recorded(void);

/* The region of a name that does not change; `source`: the module's `regions`. Nothing is looked
 * for. A new reference; NULL with an exception set. */
PyObject *cairn_region_kept(PyObject *source, PyObject *name);

/* One of such an object's name begins, while something records, and is over. */
struct cairn_region cairn_region_open(PyObject *region);
void cairn_region_close(const struct cairn_region *opened);

/* The type of a function that @cairn.timed took. A new reference; NULL with an exception set. */
PyObject *cairn_timed_type(void);

#endif
