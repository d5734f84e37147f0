/* tally.h: one pass over the samples: sums per stack, per thread, per state, per phase.
 *
 * Everything a report or export shows is computed from a tally, so their sums agree by
 * construction. Borrowed from the model it was made of; the tally owns its arrays.
 */
#ifndef CAIRN_TALLY_H
#define CAIRN_TALLY_H

#include "blockers.h"
#include "filter.h"
#include "roles.h"
#include "strips.h"

enum cairn_phase {
    CAIRN_PHASE_STARTUP, /* before the program's first frame, and after its last: start-up+exit */
    CAIRN_PHASE_IMPORT,  /* below importlib, once the program runs */
    CAIRN_PHASE_PROGRAM,
    CAIRN_PHASE_COUNT
};
const char *cairn_phase_name(enum cairn_phase phase);

struct cairn_weight {
    uint64_t ticks;    /* samples: one thread at one tick */
    uint64_t value_ns; /* of the filter's metric */
};

/* A stack of one thread, or of all threads of its process that are alike (filter.h), in one slice
 * of the time; what exports with labels iterate. With only_my_code the same stack may have a cell
 * for each phase. */
struct cairn_cell {
    uint32_t thread, node;      /* thread: of several the first */
    uint32_t slice;             /* the ticks in (first + slice * slice_ns, ... + slice_ns] */
    uint8_t phase;              /* enum cairn_phase */
    struct cairn_weight weight; /* of the filter's metric */
    struct cairn_weight idle;   /* of it: waiting for work */
    uint64_t state_ns[CAIRN_STATE_COUNT];
    uint64_t idle_blocked_ns; /* of state_ns[BLOCKED], whatever the metric: waiting for work */
    uint32_t strips_item[2];  /* in the tally's strips, or CAIRN_STRIPS_NONE: [of idle] */
};

/* Their order in a tally, as qsort() asks for it: what is equal is of one place. */
int cairn_cell_compare(const void *left, const void *right);

struct cairn_tally {
    const struct cairn_model *model; /* with only_my_code a folded view: cells' nodes are its own */
    struct cairn_filter filter;      /* a copy; its strings are borrowed */
    bool known;                      /* false: the metric was not recorded (print n/a) */
    const char *why;                 /* when not known: reason and how to get it, static */

    struct cairn_cell *cells; /* by thread, slice, node, phase; only what the filter keeps */
    size_t cell_count;
    struct cairn_cell *thread_cells; /* the same by thread and phase, whatever the stack: node 0 */
    size_t thread_cell_count;

    struct cairn_weight total; /* all cells */
    struct cairn_weight idle;  /* of total: waiting for work (accept, poll, an empty queue) */
    struct cairn_weight phase[CAIRN_PHASE_COUNT]; /* of total */
    uint64_t state_ns[CAIRN_STATE_COUNT];         /* of total */
    uint64_t overlay_ns[CAIRN_OVERLAY_COUNT];     /* wall time that lay under it */
    struct cairn_blockers blockers;               /* what was waited for; owned */

    /* Wall time before the filter's overlay was applied; of it so much not known of each overlay;
     * and of blocked time, whether it was not waiting for the GIL. */
    uint64_t looked_at_ns, overlay_unknown_ns[CAIRN_OVERLAY_COUNT], wait_unknown_ns;

    uint64_t ticks;             /* ticks in the chosen time range */
    uint64_t first_ns, last_ns; /* the chosen range, absolute */
    uint64_t slice_ns;          /* of each slice of it; the last one may end behind it */
    uint64_t torn, truncated;   /* samples among total.ticks whose stack holds such a label */

    /* How many independent draws a share rests on, by [idle counted in][program phase only]: ticks,
     * not samples, since threads looked at in one moment are no draws of their own, and weighed by
     * how evenly the metric lies on them: (sum of v)^2 / (sum of v^2). For several threads that do
     * not move together this is too few rather than too many. */
    double draws[2][2];

    /* False: it was imported from a file that does not tell how many samples its sums are made of,
     * or is made of no samples but of calls, one by one.
     * Then shares have no interval, and `ticks` of weights are no samples. */
    bool counted;
    /* `ticks` are neither samples nor calls, but pieces that the importer of such a file made, or
     * places where tasks were. */
    bool pieces;

    /* For every metric but wall, where there are no slices: when the values of cells and
     * thread_cells came. */
    struct cairn_strips strips, thread_strips;

    struct cairn_windows windows;  /* of the filter's region; empty without one */
    size_t regions, regions_whole; /* that are kept; those that have a length, of them */

    struct cairn_roles roles; /* of the model's processes */

    struct cairn_model *view; /* owned; NULL without folding */
    uint32_t *fold;           /* of each node of the model its node of the view; NULL without */
    bool *kept;               /* of each thread, whether the filter keeps it */
    bool *kept_process;       /* of each thread, whether it keeps any of its process */
    uint8_t *kinds;           /* of each node of the model (kinds.h) */
};

/* 0, or a negative code: -CAIRN_EUSAGE for a bad regex, -CAIRN_ENOMEM, a failed read. On success
 * cairn_tally_release() it. */
int cairn_tally_make(const struct cairn_model *model, const struct cairn_filter *filter,
                     struct cairn_tally *ret_tally, struct cairn_err *err);
/* The same, and -CAIRN_ELIMIT as soon as it is known that there are more cells than that. */
int cairn_tally_make_up_to(const struct cairn_model *model, const struct cairn_filter *filter,
                           size_t cells_max, struct cairn_tally *ret_tally, struct cairn_err *err);
void cairn_tally_release(struct cairn_tally *tally);

#endif
