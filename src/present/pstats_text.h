/* pstats_text.h: the tables of Python's pstats, letter by letter.
 *
 * Control characters in names, and what turns the direction of writing, are shown as \xNN, which
 * is more than pstats does. 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT, or what the outlet said: stop.
 */
#ifndef CAIRN_PSTATS_TEXT_H
#define CAIRN_PSTATS_TEXT_H

#include "outlet.h"
#include "pstats.h"

enum cairn_pstats_table {
    CAIRN_PSTATS_STATS, /* print_stats */
    CAIRN_PSTATS_CALLERS,
    CAIRN_PSTATS_CALLEES,
};

int cairn_pstats_print(struct cairn_pstats *stats, enum cairn_pstats_table table,
                       const struct cairn_pstats_limit *limits, size_t count,
                       struct cairn_outlet *out);

#endif
