/* pyoverlay.h: what Python threads do whether they run or wait: one holds the GIL, one collects
 * garbage, some handle an exception.
 *
 * All of it comes with the read of the stacks: two small parts an interpreter, fields of the header
 * of each thread, and the item of the exception that a generator handles, where it was last time.
 * Threads: one.
 */
#ifndef CAIRN_PYOVERLAY_H
#define CAIRN_PYOVERLAY_H

#include "pyread_parts.h"

/* Adds the parts of every interpreter; the address of its GIL is read when it is first wanted. 0,
 * or -CAIRN_ENOMEM, -CAIRN_ELIMIT, -CAIRN_EGONE, -CAIRN_EPERM. */
int cairn_pyoverlay_plan(struct cairn_pyread *read);
int cairn_pyoverlay_plan_thread(struct cairn_pyread *read, struct cairn_pykept *kept);

/* Takes a part that was read; what those say that were not is not known. */
void cairn_pyoverlay_take(struct cairn_pyread *read, const struct cairn_pyslot *slot,
                          const uint8_t *data);

/* Takes what the header of a thread says, which was just read. */
void cairn_pyoverlay_take_header(struct cairn_pyread *read, struct cairn_pykept *kept);

/* Nothing is known of this tick. */
void cairn_pyoverlay_forget(struct cairn_pyread *read);

#endif
