/* engines.h: what recorded, and what that took: sampling, counting of calls, of lines and of
 * instructions, tracing, in the order in which they slow a program down. */
#ifndef CAIRN_ENGINES_H
#define CAIRN_ENGINES_H

#include "tally.h"

struct cairn_engine {
    const char *name;
    double slowdown; /* of what it counted, with those before it: times longer; NAN: not known */
    const char *why; /* where it is not, and ought to be: for "n/a (…)" */
    uint64_t bytes;  /* in the files; of all that counts together, with the first of it */
    bool has_bytes;
    uint64_t events, lost;
    double event_ns; /* what one takes the program; NAN: not known, or nothing */
    /* By the Python that was recorded first; NULL: not known, or of what is beside the program. */
    const char *source; /* what in Python tells of its events */
    const char *unseen; /* what Python tells nobody of, and is not counted */
};

#define CAIRN_ENGINES_MAX 5

/* None where a file of another tool was read. 0 or -CAIRN_ENOMEM. */
int cairn_engines_make(const struct cairn_tally *tally,
                       struct cairn_engine ret_engines[CAIRN_ENGINES_MAX], size_t *ret_count);

#endif
