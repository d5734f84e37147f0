/* kinds.h: what each stack of a model is for: which phase it belongs to, whether it only waits for
 * work, what a filter says of it. Pure functions over the model. */
#ifndef CAIRN_KINDS_H
#define CAIRN_KINDS_H

#include "tally.h"

/* One byte a node. */
#define CAIRN_KIND_PHASE 0x03     /* enum cairn_phase, as of the main thread of a program run */
#define CAIRN_KIND_IDLE 0x04      /* its leaf waits for work */
#define CAIRN_KIND_FOCUS 0x08     /* it holds a match of each pattern that the filter focuses on */
#define CAIRN_KIND_IGNORE 0x10    /* and of one that it ignores */
#define CAIRN_KIND_NO_PYTHON 0x80 /* its leaf is [not python] */
#define CAIRN_KIND_TORN 0x20      /* cairn_model_marks() */
#define CAIRN_KIND_TRUNCATED 0x40

/* *ret_kinds: one byte for each node of the model; free() it. -CAIRN_EUSAGE for a bad regex. */
int cairn_kinds_make(const struct cairn_model *model, const struct cairn_filter *filter,
                     uint8_t **ret_kinds, struct cairn_err *err);

#endif
