/* unitspool.h: units of bytecode that were counted, with their listing, as rows of a recording: an
 * instruction of a code object, and how often it was executed.
 *
 * Some are counted through others. What does not lead (lines_parts.h) was executed as often as what
 * stands before it, less the exceptions that came of that. What stands in front of an instruction
 * to extend what it is given (EXTENDED_ARG) is executed as often as that, whichever of them the
 * interpreter told; and what stands in front of the first RESUME as often as that, for nobody is
 * told of it (of a generator that means: for each body that began).
 *
 * Owner: the caller has it, zeroed but for `writer` and `err`, says of each code
 * whether it was let go, and releases it.
 */
#ifndef CAIRN_UNITSPOOL_H
#define CAIRN_UNITSPOOL_H

#include "err.h"
#include "vec.h"
#include "writer.h"

struct cairn_instruction {
    uint32_t unit, line, depth; /* line 0: none; depth of the stack and 1, 0: not known */
    bool target, leads;         /* something jumps there; it is counted by itself */
    struct cairn_span text, form;
    uint64_t hits, raises;
};

struct cairn_unitspool {
    struct cairn_writer *writer;
    struct cairn_err *err;
    bool let_go; /* the code at hand was not counted to the end */
    CAIRN_VEC(struct cairn_instruction) instructions; /* of it */
};

/* `hits`: of `unit_count` units, and behind them what they raised. What the listing says may be
 * anything: lines of it that cannot be are passed over. Adds what was executed to *instructions. 0,
 * -CAIRN_ENOMEM, -CAIRN_EIO. */
int cairn_unitspool_put(struct cairn_unitspool *units, uint32_t track, uint32_t code,
                        struct cairn_span listing, const uint64_t *hits, uint32_t unit_count,
                        uint64_t *instructions);

/* What one of the instructions that were put last was given, or the one that it extends, and how
 * often; empty: others. */
int cairn_unitspool_given(struct cairn_unitspool *units, uint32_t track, uint32_t code,
                          uint64_t unit, struct cairn_span kind, uint64_t hits);
void cairn_unitspool_release(struct cairn_unitspool *units);

#endif
