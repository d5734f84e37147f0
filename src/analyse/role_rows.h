/* role_rows.h: the processes of a tally by what they are there for: of each role how many, the
 * spread of their times, where they spend them. Processes are never added up or averaged. */
#ifndef CAIRN_ROLE_ROWS_H
#define CAIRN_ROLE_ROWS_H

#include "table.h"

struct cairn_spread {
    uint64_t min_ns, median_ns, max_ns;
};

struct cairn_role_row {
    uint32_t role;            /* of tally->roles */
    uint32_t first, last;     /* numbers of its processes that have samples */
    size_t processes;         /* how many of them have */
    struct cairn_spread wall; /* of each process: how long it was seen, by its longest thread */
    struct cairn_spread cpu;  /* of each process: all of its threads */
    uint32_t function; /* with most of the metric as its own, in all of them; UINT32_MAX: none
                          has any, they only wait for work */
    uint64_t function_ns, base_ns; /* that, and what it is a part of: the metric in all of them, of
                                      the program phase where they have any */
};

struct cairn_role_rows {
    struct cairn_role_row *items; /* as tally->roles: in order of birth */
    size_t count;
};

/* `options`: only `with_idle` counts. 0 or -CAIRN_ENOMEM; on success
 * cairn_role_rows_release() them. */
int cairn_role_rows_make(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                         struct cairn_role_rows *ret_rows);
void cairn_role_rows_release(struct cairn_role_rows *rows);

#endif
