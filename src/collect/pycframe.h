/* pycframe.h: which frame was current when the places were copied that say so (3.11, 3.12).
 *
 * There the thread state names a structure on the C stack, one for each call of the interpreter by
 * C, and that names the frame. The thread state is copied first, and the structures a moment later:
 * by then C may have called again, or what it called may be over. Whoever takes the frame of the
 * structure that the thread state named shows a caller whenever it was current at either moment,
 * which is twice as often as it is.
 * Owner: all is borrowed. Threads: one.
 */
#ifndef CAIRN_PYCFRAME_H
#define CAIRN_PYCFRAME_H

#include "pyplaces.h"
#include "pystack.h"
#include "remote.h"

#define CAIRN_PYCFRAMES 16

struct cairn_pycframes { /* those that thread states named, all 0: none */
    uint64_t addresses[CAIRN_PYCFRAMES];
    unsigned next; /* the one that is given up for a new one */
};

/* `cframe`: as the thread state names it, which is kept. `still`: the thread stood still meanwhile.
 * Notes at `tick` which structures were used. 0; -CAIRN_ENOTFOUND: it was not copied;
 * -CAIRN_EDAMAGED: a call from C is just being set up, and its frame is not written yet. */
int cairn_pycframes_current(struct cairn_pycframes *known, const struct cairn_pyimage *image,
                            struct cairn_pyplaces *places, uint64_t cframe, bool still,
                            uint64_t tick, uint64_t *ret_frame);

/* Notes where the structure lies by a read of it, and, while nothing runs in that, the one it was
 * called from. *ret_frame: what is current in the last of them. 0; 1: one cannot be read; or
 * -CAIRN_ENOMEM. */
int cairn_pycframes_learn(const struct cairn_pylayout *layout, struct cairn_remote *remote,
                          struct cairn_pyplaces *places, uint64_t cframe, uint64_t tick,
                          uint64_t *ret_frame);

#endif
