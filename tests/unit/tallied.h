/* tallied.h: tallies of a model, for tests of those who count and of those who show.
 *
 * Ends the test when a tally cannot be made: cairn_tally_release() what is returned.
 */
#ifndef CAIRN_TALLIED_H
#define CAIRN_TALLIED_H

#include "tally.h"

/* `filter` NULL: of everything. */
struct cairn_tally tally_of(const struct cairn_model *model, const struct cairn_filter *filter);

/* Of everything, by a metric. */
struct cairn_tally tally_by(const struct cairn_model *model, enum cairn_metric metric);

/* Everything a tally says is a sum of its cells. */
void assert_closed(const struct cairn_tally *tally);

#endif
