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

/* What follows is of the block of this sample. 0 or -CAIRN_ENOMEM. */
int cairn_draws_begin(struct cairn_draws *draws, const struct cairn_sample *sample);

/* Adds `value_ns` of a sample, spread over its ticks by their length. 0 or -CAIRN_ENOMEM. */
static inline int cairn_draws_add(struct cairn_draws *draws, const struct cairn_sample *sample,
                                  unsigned draw_class, uint64_t value_ns)
{
    uint64_t wall_ns = sample->last_ns - sample->first_ns, before_ns = sample->first_ns;
    double *ticks, share;

    if (draws->block != sample->block) {
        int code = cairn_draws_begin(draws, sample);

        if (code < 0)
            return code;
    }
    if (!value_ns || !wall_ns)
        return 0;
    ticks = draws->ticks[draw_class].items + sample->tick;
    share = value_ns == wall_ns ? 1 : (double)value_ns / (double)wall_ns;
    for (uint32_t i = 0; i < sample->ticks; i++) {
        ticks[i] += share * (double)(sample->times_ns[i] - before_ns);
        before_ns = sample->times_ns[i];
    }
    return 0;
}

/* Behind the last sample. */
void cairn_draws_finish(struct cairn_draws *draws, double ret_draws[2][2]);

#endif
