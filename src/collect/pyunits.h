/* pyunits.h: what can be told of each instruction of a code object, a byte for each unit of 2
 * bytes.
 */
#ifndef CAIRN_PYUNITS_H
#define CAIRN_PYUNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"
#include "pylayout.h"

/* A unit's byte: how many units back its instruction starts, and … */
#define CAIRN_PYUNIT_BACK 0x0f
#define CAIRN_PYUNIT_LOOSE 0x10   /* a caller there need not look like one: it was met as such */
#define CAIRN_PYUNIT_RESUMES 0x40 /* it can hand over to a generator without a call of C */
#define CAIRN_PYUNIT_CALLER 0x80  /* a frame can stand there while one that it called runs */
/* Until 3.10, where those have no meaning: something jumps here; it is a call in so many words. */
#define CAIRN_PYUNIT_TARGET 0x10
#define CAIRN_PYUNIT_CALL 0x20

/* `text`: `count` units, caches included; `units`: as many bytes, filled. */
void cairn_pyunits_mark(const struct cairn_pytable *table, struct cairn_span text, uint8_t *units,
                        uint32_t count);

/* Until 3.10: whether the code yields or awaits: that of a generator, whose frame has a caller for
 * as long as it runs. */
bool cairn_pyunits_yield(struct cairn_span text);

#endif
