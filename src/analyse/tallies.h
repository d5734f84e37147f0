/* tallies.h: the same samples by every metric, gone through once or twice.
 *
 * Each metric's tally is what cairn_tally_make() would make of it: the sums are of all states, so
 * they are shared; how values lie in time is gathered for all metrics at once. Only the GIL's is
 * made of samples of its own, where the recording tells who held it.
 * Owner: the caller; borrowed from the model. Threads: one at a time.
 */
#ifndef CAIRN_TALLIES_H
#define CAIRN_TALLIES_H

#include "tally.h"

struct cairn_tallies; /* opaque */

/* `filter`: of wall time, without slices. *ret_wall is its tally, the caller's. As
 * cairn_tally_make_up_to(). */
int cairn_tallies_make(const struct cairn_model *model, const struct cairn_filter *filter,
                       size_t cells_max, struct cairn_tallies **ret_tallies,
                       struct cairn_tally *ret_wall, struct cairn_err *err);

/* The tally of another metric, once of each: what was gathered for it is handed over. */
int cairn_tallies_take(struct cairn_tallies *tallies, enum cairn_metric metric,
                       struct cairn_tally *ret_tally, struct cairn_err *err);

/* NULL is nothing. */
void cairn_tallies_free(struct cairn_tallies *tallies);

#endif
