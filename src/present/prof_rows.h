/* prof_rows.h: a tally as cProfile would have counted it: functions and their direct callers.
 *
 * Where calls were counted, and wall time is asked for, they are those. Else calls are samples: how
 * often a function was met, once for each stack that holds it, and the sum of self_s is the tally's
 * total. A function that is not Python's has the file "~" and line 0, as
 * builtins have with cProfile; names are plain ones, not qualified.
 */
#ifndef CAIRN_PROF_ROWS_H
#define CAIRN_PROF_ROWS_H

#include "prof.h"
#include "tally.h"

/* Fills an empty table. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT. */
int cairn_prof_rows(const struct cairn_tally *tally, struct cairn_prof *prof);

#endif
