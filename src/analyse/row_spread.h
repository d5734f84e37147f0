/* row_spread.h: how sure the shares of a weighted metric are: cpu, gil, gil-wait, runq, blocked.
 *
 * Their samples weigh unevenly and are not independent, so that no formula over their number holds.
 * Instead the recording is cut into strips of time (strips.h), and each row is made of each strip.
 * What a row's strips deviate from its share, from one strip to the next, is the error that a
 * bootstrap would find which draws strips anew among their neighbours: neighbours, since that a
 * program does first one thing and then another is no error. The mean over all such draws has a
 * closed form, so none is drawn, and a report is the same each time.
 */
#ifndef CAIRN_ROW_SPREAD_H
#define CAIRN_ROW_SPREAD_H

#include "table.h"

/* Makes rows of a tally: the same ones in the same order when only values differ, not ticks. */
typedef int cairn_rows_maker(const struct cairn_tally *tally, const void *ctx,
                             struct cairn_rows *rows);

/* Sets self_draws and total_draws of rows that `make` made of the tally, where that is known. Does
 * nothing for a tally without strips. 0 or -CAIRN_ENOMEM. */
int cairn_rows_spread(const struct cairn_tally *tally, cairn_rows_maker *make, const void *ctx,
                      struct cairn_rows *rows);

#endif
