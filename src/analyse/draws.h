/* draws.h: counts how many independent draws the shares of a tally rest on (see tally.h). */
#ifndef CAIRN_DRAWS_H
#define CAIRN_DRAWS_H

#include "samples.h"
#include "vec.h"

/* A sample's time is idle or not, of the program phase or not. */
enum { CAIRN_DRAW_IDLE = 1, CAIRN_DRAW_PROGRAM = 2, CAIRN_DRAW_CLASSES = 4 };

struct cairn_draws {
    uint64_t block;
    uint32_t block_ticks;
    CAIRN_VEC(double) ticks[CAIRN_DRAW_CLASSES]; /* of the block: the metric's sum at each tick */
    double sum[2][2], square_sum[2][2];          /* [with idle][program only], of past blocks */
};

void cairn_draws_init(struct cairn_draws *draws);
void cairn_draws_release(struct cairn_draws *draws);

/* Adds `value_ns` of a sample, spread over its ticks by their length. 0 or -CAIRN_ENOMEM. */
int cairn_draws_add(struct cairn_draws *draws, const struct cairn_sample *sample,
                    unsigned draw_class, uint64_t value_ns);

/* Behind the last sample. */
void cairn_draws_finish(struct cairn_draws *draws, double ret_draws[2][2]);

#endif
