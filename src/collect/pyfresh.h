/* pyfresh.h: for how long what is known of a code object is believed.
 *
 * An address is all that a frame tells of its code, and other code may have come to lie there:
 * since the address was last looked at, or between the copy of the frame and that look. Threads: as
 * the code cache.
 */
#ifndef CAIRN_PYFRESH_H
#define CAIRN_PYFRESH_H

#include "pycode.h"

#define CAIRN_PYCODE_LATE_NS 15000u  /* the least in which code is freed and other made */
#define CAIRN_PYCODE_INNER_FRAMES 16 /* from the leaf on: these come and go */

/* Of the frame whose code is asked for: code that runs is not freed. */
enum cairn_pycode_place {
    CAIRN_PYCODE_OUTER, /* it was there before, and is far from the leaf */
    CAIRN_PYCODE_INNER, /* it stands as one did before, which may have been another */
    CAIRN_PYCODE_NEW,   /* it was not there when the thread was last read */
};

/* Whether code took over the address of other code lately. */
bool cairn_pycodes_takes_over(const struct cairn_pycodes *codes, uint64_t now_ns);

/* Whether code came lately that was not known. */
bool cairn_pycodes_is_busy(const struct cairn_pycodes *codes, uint64_t now_ns);

/* Whether the code of an entry comes and goes: it did so lately. */
bool cairn_pycodes_moves(const struct cairn_pycodes *codes, const struct cairn_pycode_entry *entry);

/* Whether `entry` (NULL allowed) was seen to hold so lately that it can be believed: after the
 * frame was copied, where code took over the address of other code lately, and of a new frame while
 * other code comes; else for a while, which is ten times as long for an outer frame. */
bool cairn_pycodes_is_fresh(const struct cairn_pycodes *codes,
                            const struct cairn_pycode_entry *entry, enum cairn_pycode_place place,
                            uint64_t now_ns);

/* Whether what was seen by the last load was seen so soon after the frames were copied that no code
 * can have been freed and other made there in between. */
bool cairn_pycodes_in_time(const struct cairn_pycodes *codes);

struct cairn_pycodes_mark { /* what was known before some frames' code was asked for */
    uint64_t loads, unsure, nameless_late;
};

static inline struct cairn_pycodes_mark cairn_pycodes_mark(const struct cairn_pycodes *codes)
{
    return (struct cairn_pycodes_mark){codes->loads, codes->unsure, codes->nameless_late};
}

/* Whether what was loaded since the mark may have come to its address after the frames were copied,
 * whose own code it was not: it comes and goes, and was seen so long after that other code can have
 * been freed and this be made; or it was over by the time its names were looked for, which was late
 * as when who looks is put off its processor. Another read of the frames is after both. */
bool cairn_pycodes_came_late(const struct cairn_pycodes *codes, struct cairn_pycodes_mark mark);

#endif
