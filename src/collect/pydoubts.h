/* pydoubts.h: links between frames that a check refused though they may be right, and in how many
 * reads of one tick each was seen.
 *
 * The frames of one moment hang together in every read; those of several do so by chance, and
 * otherwise in the next read. Threads: one.
 */
#ifndef CAIRN_PYDOUBTS_H
#define CAIRN_PYDOUBTS_H

#include <stdbool.h>
#include <stdint.h>

#include "pystack.h"

#define CAIRN_PYDOUBTS_MAX 32

struct cairn_pydoubt {
    uint64_t callee, caller, instr; /* addresses of the frames; where the caller stands */
    uint64_t tick;                  /* in which it was seen last … */
    unsigned times;                 /* … and in how many reads of that */
};

struct cairn_pydoubts { /* all 0: none */
    struct cairn_pydoubt items[CAIRN_PYDOUBTS_MAX];
    unsigned next; /* the one that is given up for a new one */
};

/* Counts a read in which the link was seen: how many that makes at this tick. *ret_again: it was
 * seen at this tick or the one before. */
unsigned cairn_pydoubts_count(struct cairn_pydoubts *doubts, uint64_t tick,
                              const struct cairn_pyraw *caller, const struct cairn_pyraw *callee,
                              bool *ret_again);

#endif
