/* facts.h: what the head of a report says, gathered from a tally and the recording's environment.
 *
 * Times are ns of the tally's metric unless named otherwise; "busy" leaves idle waiting out.
 * Owner: everything is borrowed from the model.
 */
#ifndef CAIRN_FACTS_H
#define CAIRN_FACTS_H

#include "json_out.h"
#include "tally.h"

#define CAIRN_FACT_NONE UINT64_MAX /* not recorded */

struct cairn_facts {
    bool attached;                        /* else run from its start */
    size_t recordings;                    /* that are shown as one */
    uint64_t wall_ns;                     /* of the run; else the recorded span */
    uint64_t user_ns, sys_ns, peak_bytes; /* or CAIRN_FACT_NONE, as the next two */
    uint64_t exit_status, signal_number;
    double cores;                                 /* usable; 0: not recorded */
    struct cairn_span command, program, children; /* program: "nn.py", a part of the command */
    uint64_t interval_ns;                         /* mean between ticks; 0: none or not recorded */

    struct cairn_span guest;      /* what it was imported from: "pprof"; empty: Cairn recorded it */
    struct cairn_span values;     /* of a guest: what the file calls its numbers */
    struct cairn_span no_time;    /* what they are where they are no time; else empty */
    uint64_t each_ns;             /* as what each of those is kept; 0: they are time */
    struct cairn_span lost;       /* of a guest: what the file holds and the recording does not */
    struct cairn_span incomplete; /* of a guest: what shows that not all of the file is there */
    bool inferred;                /* the file knows no stacks: those that are shown are supposed */
    bool callless;                /* of these: nor who called whom */
    bool timeless;                /* the file does not say when anything was */

    struct cairn_weight busy, busy_phase[CAIRN_PHASE_COUNT];
    uint64_t program_state_ns[CAIRN_STATE_COUNT]; /* of the program phase, busy */
    uint64_t program_state_sum_ns;
    struct cairn_span import; /* the import that took most; may be empty */
    uint64_t import_ns;
    uint32_t idle_function;             /* where most idle waiting is; UINT32_MAX: none */
    size_t thread_count, process_count; /* of those with samples */
};

/* 0 or -CAIRN_ENOMEM. Nothing to release. */
int cairn_facts_make(const struct cairn_tally *tally, struct cairn_facts *ret_facts);

/* Whether the file that it was imported from does not say when anything was. */
bool cairn_facts_is_timeless(const struct cairn_model *model);

/* What of the stacks of a guest is no fact, in words for who takes them elsewhere; NULL: they are
 * its own. */
const char *cairn_facts_inference(const struct cairn_model *model);

/* As what each of the numbers of a guest is kept that are no time; 0: they are time. */
uint64_t cairn_facts_each_ns(const struct cairn_model *model);

/* As a member of an object; null: it was not recorded. */
void cairn_facts_put(struct cairn_json *json, const char *key, uint64_t value);

/* A number of the environment, or CAIRN_FACT_NONE. */
uint64_t cairn_facts_number(const struct cairn_model *model, const char *key);

/* How the layout of the Python that the recording is about was got ("offsets", "table",
 * "table+probe"); empty: not recorded. */
struct cairn_span cairn_facts_layout(const struct cairn_model *model);

/* Enough digits for one that names a signal: "SIGKILL"; NULL for an unknown number. */
const char *cairn_facts_signal(uint64_t number);

#endif
