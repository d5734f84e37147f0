/* stackids.h: frames as a recording numbers them. Threads: one at a time. */
#ifndef CAIRN_STACKIDS_H
#define CAIRN_STACKIDS_H

#include "pyread.h"
#include "writer.h"

/* The code object's id in the recording; it is written when it is first met. 0 or a negative code
 * of the writer. */
int cairn_stackids_code(struct cairn_writer *writer, struct cairn_pycode *code, uint32_t *ret_id);

/* The stack that `frame` makes on top of `parent`; one without code is the location
 * `unknown_loc`. As above. */
int cairn_stackids_frame(struct cairn_writer *writer, uint32_t unknown_loc, uint32_t parent,
                         const struct cairn_pyframe *frame, uint32_t *ret_stack);

#endif
