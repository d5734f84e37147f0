/* pypassed.h: code that is over before it could be read whole: what is told of it.
 *
 * What a frame ran is known by its address until that code is freed, which can be a few
 * microseconds later. So the names are read first, and with them, in the same call, whether it is
 * still there. Threads: as the code cache.
 */
#ifndef CAIRN_PYPASSED_H
#define CAIRN_PYPASSED_H

#include "pylook.h"

#define CAIRN_PYPASSED_NAMES (CAIRN_PYPART_FILE + 1)
#define CAIRN_PYPASSED_HEAD_BYTES 192 /* what a usual name has room in */

/* What code is called, by CAIRN_PYPART_, as it was read first. */
struct cairn_pycalled {
    bool looked;                     /* that was done, … */
    bool whole;                      /* … and the code was there before and afterwards */
    uint64_t read_ns;                /* when */
    bool read[CAIRN_PYPASSED_NAMES]; /* some text lay there */
    struct cairn_span names[CAIRN_PYPASSED_NAMES]; /* in the heads */
    uint8_t heads[CAIRN_PYPASSED_NAMES][CAIRN_PYPASSED_HEAD_BYTES];
};

/* Reads what code is called that was not known at its address, is gone, or may go soon, of those
 * whose fixed part was read a moment ago: as soon as can be. Names that are not ASCII, or longer
 * than usual, are left for later. 0, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pypassed_look(struct cairn_pycodes *codes, const struct cairn_pyarrival *batch,
                        const struct cairn_pylook *looks, size_t count,
                        struct cairn_pycalled *ret_called);

/* Gives code that was there a moment after the frames that ran it were copied, and is gone, an
 * entry without lines: with the names that are known to be its own, its file among them; where its
 * name is not, one that stands for other code later. 0 or -CAIRN_ENOMEM. */
int cairn_pypassed_add(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                       const struct cairn_pycalled *called, uint64_t now_ns);

/* What `entry` is, of which no name is known, and which `caller` called (NULL: nobody did): a
 * module, or a text that is evaluated, of no file, where a class cannot begin at the first line;
 * and where importlib runs what is no function, or is gone (NULL). *ret_code NULL: it is not that.
 * 0 or -CAIRN_ENOMEM. */
int cairn_pypassed_called_by(struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                             const struct cairn_pycode_entry *entry,
                             struct cairn_pycode **ret_code);

#endif
