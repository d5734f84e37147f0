/* slowregions.h: the slow regions of a name beside the middle ones: what they spend more time in.
 *
 * Both are cut out of the recording as a filter's region_length does, and compared as two
 * recordings are (diff.h), in seconds for each region: `before` is the middle, `after` the slow
 * ones.
 */
#ifndef CAIRN_SLOWREGIONS_H
#define CAIRN_SLOWREGIONS_H

#include "diff.h"

struct cairn_slow_regions {
    bool made; /* false: all else is empty, since there are too few regions that have a length */
    struct cairn_tally slow, middle;
    struct cairn_diff diff; /* by function */
};

/* `tally` was made with the filter's region, of any length. Waiting for work is counted in: it is a
 * part of why a region took long. 0 or what cairn_tally_make() says; to be released in any case. */
int cairn_slow_regions_make(const struct cairn_tally *tally, struct cairn_slow_regions *ret_slow,
                            struct cairn_err *err);
void cairn_slow_regions_release(struct cairn_slow_regions *slow);

#endif
