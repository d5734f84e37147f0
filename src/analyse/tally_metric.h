/* tally_metric.h: whether a recording tells of a metric at all. */
#ifndef CAIRN_TALLY_METRIC_H
#define CAIRN_TALLY_METRIC_H

#include "tally.h"

/* What a metric cannot be told from is said in place of 0: sets `known`, `why` and `counted` of a
 * tally whose sums are made. */
void cairn_tally_judge(struct cairn_tally *tally);

#endif
