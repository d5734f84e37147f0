/* pprof_numbers.h: the numbers that functions and locations have where a profile is written as it
 * is: from 1 on, as samples first ask for them, the innermost frame first.
 * Owner: the caller, until cairn_pprof_numbers_release(). Threads: one at a time.
 */
#ifndef CAIRN_PPROF_NUMBERS_H
#define CAIRN_PPROF_NUMBERS_H

#include "pprof_samples.h"

struct cairn_pprof_numbers {
    uint32_t *location_of;         /* of each frame; 0: no sample has it */
    uint32_t *function_of;         /* of each location, from 0 on */
    CAIRN_VEC(uint32_t) locations; /* frames */
    CAIRN_VEC(uint32_t) functions; /* frames that are of them */
};

/* 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT; release in every case. */
int cairn_pprof_numbers_make(const struct cairn_pprof *pprof,
                             struct cairn_pprof_numbers *ret_numbers);
void cairn_pprof_numbers_release(struct cairn_pprof_numbers *numbers);

/* Whether it is a sample: one whose values are all 0 is none. */
bool cairn_pprof_is_sample(const struct cairn_pprof_sample *sample);

#endif
