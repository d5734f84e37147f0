/* pprof_units.h: numbers as google/pprof prints them: scaled to a unit of their kind, two digits
 * behind the point, shares in five columns.
 *
 * Units are words ("nanoseconds", "ns", "bytes", "count"); "minimum" and "auto" ask for the largest
 * unit in which the value is at least 1. Threads: any.
 */
#ifndef CAIRN_PPROF_UNITS_H
#define CAIRN_PPROF_UNITS_H

#include "buf.h"

/* The value in the unit `to`, or in the default unit of the kind of `from` when that does not know
 * `to`. *ret_unit: how that unit is written, "" for one that is not worth it; borrowed from `to` or
 * static. */
double cairn_pprof_scale(int64_t value, const char *from, const char *to, const char **ret_unit);

/* Appends "1.50s", "37", "0". */
void cairn_pprof_label(struct cairn_buf *out, int64_t value, const char *from, const char *to);

/* Appends the share as "12.34%", " 0.57%", "  100%": five columns and a sign at least. */
void cairn_pprof_share(struct cairn_buf *out, int64_t value, int64_t total);

#endif
