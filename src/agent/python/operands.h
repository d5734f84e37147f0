/* operands.h: what an instruction is about to be given, as it lies on the stack of its frame: types
 * of values, or what is called, counted in the spots of its code (spots.h). Under the GIL.
 */
#ifndef CAIRN_OPERANDS_H
#define CAIRN_OPERANDS_H

#include "pycompat.h"

#include "lines.h"

/* A frame of the code stands at a spot and has not executed it yet. */
#if CAIRN_MONITORS
void cairn_operands_look(struct cairn_lines_hub *hub, struct cairn_spots *spots, uint32_t index,
                         PyObject *code, const struct _PyInterpreterFrame *frame);
#else
void cairn_operands_look(struct cairn_lines_hub *hub, struct cairn_spots *spots, uint32_t index,
                         PyFrameObject *frame);
#endif

#endif
