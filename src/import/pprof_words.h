/* pprof_words.h: what pprof's messages have in common, and words that its profiles are labelled
 * with.
 *
 * Threads: no shared state.
 */
#ifndef CAIRN_PPROF_WORDS_H
#define CAIRN_PPROF_WORDS_H

#include <stdint.h>

#include "cursor.h"

/* ns of one unit; 0: it is none of time. */
uint64_t cairn_pprof_time_unit(struct cairn_span unit);

/* What the label "state" says, as Cairn writes it: one of CAIRN_SAMPLE_… (trace/format.h). */
uint8_t cairn_pprof_state(struct cairn_span text);

struct cairn_pprof_type { /* numbers of strings */
    int64_t type, unit;
};

int cairn_pprof_type(struct cairn_span message, struct cairn_pprof_type *ret_type);

/* The id of a message: field 1. */
int cairn_pprof_id(struct cairn_span message, uint64_t *ret_id);

#endif
