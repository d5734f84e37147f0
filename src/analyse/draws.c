#include "draws.h"

#include <string.h>

#define BLOCK_TICKS_MAX (1u << 30)

void cairn_draws_init(struct cairn_draws *draws)
{
    memset(draws, 0, sizeof(*draws));
    draws->block = UINT64_MAX;
}

void cairn_draws_release(struct cairn_draws *draws)
{
    for (int i = 0; i < CAIRN_DRAW_CLASSES; i++)
        cairn_vec_release(&draws->ticks[i]);
}

static void end_block(struct cairn_draws *draws)
{
    for (uint32_t i = 0; i < draws->block_ticks; i++) {
        double busy_other = draws->ticks[0].items[i];
        double idle_other = draws->ticks[CAIRN_DRAW_IDLE].items[i];
        double busy_program = draws->ticks[CAIRN_DRAW_PROGRAM].items[i];
        double idle_program = draws->ticks[CAIRN_DRAW_PROGRAM | CAIRN_DRAW_IDLE].items[i];
        const double values[2][2] = {
            {busy_other + busy_program, busy_program},
            {busy_other + busy_program + idle_other + idle_program, busy_program + idle_program},
        };

        for (int idle = 0; idle < 2; idle++)
            for (int program = 0; program < 2; program++) {
                draws->sum[idle][program] += values[idle][program];
                draws->square_sum[idle][program] += values[idle][program] * values[idle][program];
            }
    }
}

int cairn_draws_begin(struct cairn_draws *draws, const struct cairn_sample *sample)
{
    end_block(draws);
    draws->block_ticks = 0;
    for (int i = 0; i < CAIRN_DRAW_CLASSES; i++) {
        int code = cairn_vec_reserve(&draws->ticks[i], sample->block_ticks, BLOCK_TICKS_MAX);

        if (code < 0)
            return code;
        memset(draws->ticks[i].items, 0, sample->block_ticks * sizeof(double));
    }
    draws->block = sample->block;
    draws->block_ticks = sample->block_ticks;
    return 0;
}

void cairn_draws_finish(struct cairn_draws *draws, double ret_draws[2][2])
{
    end_block(draws);
    draws->block_ticks = 0;
    for (int idle = 0; idle < 2; idle++)
        for (int program = 0; program < 2; program++) {
            double sum = draws->sum[idle][program];
            double square_sum = draws->square_sum[idle][program];

            ret_draws[idle][program] = square_sum > 0 ? sum * sum / square_sum : 0;
        }
}
