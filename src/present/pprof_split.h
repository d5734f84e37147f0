/* pprof_split.h: a cell of a tally as the samples that pprof's format has of it: one for each state
 * of its thread, so that each has one label and all of its columns.
 */
#ifndef CAIRN_PPROF_SPLIT_H
#define CAIRN_PPROF_SPLIT_H

#include "tally.h"

#define CAIRN_PPROF_VALUES 5 /* samples, wall, cpu, runq, blocked; all but the first in ns */

struct cairn_pprof_part {
    enum cairn_state state;
    int64_t values[CAIRN_PPROF_VALUES];
};

/* Fills up to CAIRN_STATE_COUNT parts; returns how many. The ticks of the cell are shared out among
 * them by time, so that their sum is the cell's; `counted` false: there are none. */
size_t cairn_pprof_split(const struct cairn_cell *cell, bool counted,
                         struct cairn_pprof_part *ret_parts);

#endif
