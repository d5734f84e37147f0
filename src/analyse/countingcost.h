/* countingcost.h: what counting itself took of the times that were counted.
 *
 * How long an event takes was measured in each process before its program began, on loops that do
 * nothing else: so this is an estimate, and of code that finds its memory cold too low. A part of
 * it lies within the time of what is called, the rest in that of the caller. Times are ns. Owner:
 * the arrays are owned. Threads: after making, any may read.
 */
#ifndef CAIRN_COUNTINGCOST_H
#define CAIRN_COUNTINGCOST_H

#include "tally.h"

struct cairn_counting_cost {
    bool known; /* it was measured */
    double all_ns,
        tracing_ns; /* of all calls that the filter keeps; so much of it for a timeline */
    double *self_ns,
        *total_ns; /* of each of the model's nodes: in its own time; with what it calls */
};

/* What counting took of the calls of threads that the filter keeps. 0 or -CAIRN_ENOMEM; to be
 * released in any case. */
int cairn_counting_cost_make(const struct cairn_tally *tally, struct cairn_counting_cost *ret_cost);
void cairn_counting_cost_release(struct cairn_counting_cost *cost);

#endif
