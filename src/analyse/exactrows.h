/* exactrows.h: functions with their calls, exact: what cProfile's table has, and who called whom.
 *
 * A call is primitive when no other call of the same function is below it on the stack; total
 * counts those alone, so recursion counts once. The same holds of a pair of caller and callee.
 * What another tool counted (pairs.h) is added as it stands: it knows what recursed.
 * Of the whole recording, whatever span of time was chosen; of the threads that the filter keeps.
 */
#ifndef CAIRN_EXACTROWS_H
#define CAIRN_EXACTROWS_H

#include "table.h"
#include "vec.h"

struct cairn_exact_line { /* a row; times in ns */
    uint32_t function;    /* of the model */
    const char *kind;     /* "python", "c", "type"; "label" for [truncated] and [unknown] */
    uint64_t calls, primitive_calls, resumes;
    uint64_t untimed_calls; /* of calls: those that have no times, and may recurse unseen */
    uint64_t self_ns, total_ns, suspended_ns;
    double self_s, total_s; /* the same; of what another tool counted, as it says to the last bit */
    double self_cost_ns, total_cost_ns; /* so much of them is what counting took (countingcost.h) */
    size_t first_caller, caller_count;
    bool unsure; /* primitive_calls are not known, and total is inferred; no calls: nor are they */
    uint8_t let_go; /* in any process: flags of struct cairn_call_sum (model.h) */
};

struct cairn_exact_caller { /* of what it belongs to, called from this function */
    uint32_t callee, function;
    uint64_t calls, primitive_calls, self_ns, total_ns;
    double self_s, total_s; /* as of a row */
    bool plain;             /* another tool counted the calls, and no times */
    bool inferred;          /* self is */
    bool unsure;            /* primitive_calls are not known */
};

struct cairn_exact_table {
    CAIRN_VEC(struct cairn_exact_line) lines; /* sorted */
    CAIRN_VEC(struct cairn_exact_caller) callers;
    uint64_t calls, resumes, self_ns; /* sums */
    bool cost_known;
    double cost_ns, tracing_ns; /* of self_ns: what counting took; what a timeline did of that */
    size_t let_go;              /* functions: calls of theirs are missing */
    size_t untimed;      /* other functions: their calls are all there, but not their times */
    bool natives_let_go; /* calls of C may be missing, of whichever function */
    bool stopped;        /* counting ended in some process: any may be missing */
};

/* Whether no call of a row is missing: what is counted, and the time with what it calls, is whole.
 */
bool cairn_exact_is_whole(const struct cairn_exact_table *table,
                          const struct cairn_exact_line *line);

/* Whether no call of a row is missing, though times may be. */
bool cairn_exact_counts_all(const struct cairn_exact_table *table,
                            const struct cairn_exact_line *line);

/* Whether times of a row are missing of calls that are there. */
bool cairn_exact_is_untimed(const struct cairn_exact_line *line);

/* Whether any call, or the time of any, may be missing: own times may hold that of what was let go
 * then, and the sums are too small. */
bool cairn_exact_misses(const struct cairn_exact_table *table);

/* How far a row's own time can be trusted once the cost is taken off: "good", "fair", "poor";
 * NULL: the cost is not known. */
const char *cairn_exact_confidence(const struct cairn_exact_table *table,
                                   const struct cairn_exact_line *line);

/* A time without what counting took of it, ns. */
uint64_t cairn_exact_corrected(uint64_t time_ns, double cost_ns);

/* How many times longer something took for what that took of it; NAN: not known. */
double cairn_exact_factor(double with_ns, double cost_ns);

/* Whether rows by function are these: calls were counted, and wall time is asked for. */
bool cairn_exact_table_has(const struct cairn_tally *tally);

/* Whether what another tool counted is among them: it knows no stacks and no moments, so a choice
 * of these leaves it out. */
bool cairn_exact_table_is_told(const struct cairn_tally *tally);

/* 0 or -CAIRN_ENOMEM; to be released in any case. */
int cairn_exact_table_make(const struct cairn_tally *tally, enum cairn_sort sort,
                           struct cairn_exact_table *ret_table);
void cairn_exact_table_release(struct cairn_exact_table *table);

#endif
