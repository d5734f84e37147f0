/* markvalues.h: what values and names of Python are in a file of regions. Under the GIL. */
#ifndef CAIRN_MARKVALUES_H
#define CAIRN_MARKVALUES_H

#include "pycompat.h"

#include "cursor.h"
#include "regions.h"

/* A str as UTF-8, as long as it lives; "?" where there is none of it. */
struct cairn_span cairn_span_of(PyObject *text);

/* The values of a mark, without their names: what is no number becomes a text, of which a reference
 * stands in the bits. This may run anything, and cairn_values_number() has to follow. -1, and
 * nothing is to follow, with an exception set. */
int cairn_values_convert(PyObject *const *from, struct cairn_region_value *values,
                         Py_ssize_t count);

/* Puts the texts into the file, and runs nothing of the program. One without room loses its name.
 */
void cairn_values_number(struct cairn_regions *regions, struct cairn_region_value *values,
                         Py_ssize_t count);

#endif
