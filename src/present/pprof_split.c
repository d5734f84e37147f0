#include "pprof_split.h"

size_t cairn_pprof_split(const struct cairn_cell *cell, bool counted,
                         struct cairn_pprof_part *ret_parts)
{
    uint64_t sum_ns = 0, seen_ns = 0, seen_ticks = 0;
    size_t count = 0;

    for (int state = 0; state < CAIRN_STATE_COUNT; state++)
        sum_ns += cell->state_ns[state];
    for (int state = 0; state < CAIRN_STATE_COUNT; state++) {
        uint64_t ns = cell->state_ns[state], until;
        struct cairn_pprof_part *part = &ret_parts[count];

        if (ns == 0 && !(sum_ns == 0 && state == CAIRN_STATE_UNKNOWN))
            continue;
        /* What has gone out before is subtracted, so that nothing is lost by rounding. */
        seen_ns += ns;
        until = seen_ns == sum_ns
                    ? cell->weight.ticks
                    : (uint64_t)((unsigned __int128)cell->weight.ticks * seen_ns / sum_ns);
        *part = (struct cairn_pprof_part){.state = (enum cairn_state)state,
                                          .values = {0, (int64_t)ns, 0, 0, 0}};
        if (counted)
            part->values[0] = (int64_t)(until - seen_ticks);
        seen_ticks = until;
        if (state == CAIRN_STATE_RUNNING)
            part->values[2] = (int64_t)ns;
        else if (state == CAIRN_STATE_RUNNABLE)
            part->values[3] = (int64_t)ns;
        else if (state == CAIRN_STATE_BLOCKED)
            part->values[4] = (int64_t)ns;
        count++;
    }
    return count;
}
