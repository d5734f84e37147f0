/* engines.h: what recorded, and what that took: sampling, counting, tracing, in the order in which
 * they slow a program down. */
#ifndef CAIRN_ENGINES_H
#define CAIRN_ENGINES_H

#include "tally.h"

struct cairn_engine {
    const char *name;
    double slowdown; /* of what it counted, with those before it: times longer; NAN: not known */
    uint64_t bytes;  /* in the files */
    uint64_t events, lost;
};

#define CAIRN_ENGINES_MAX 3

/* Of a recording in which something was counted; else none. 0 or -CAIRN_ENOMEM. */
int cairn_engines_make(const struct cairn_tally *tally,
                       struct cairn_engine ret_engines[CAIRN_ENGINES_MAX], size_t *ret_count);

#endif
