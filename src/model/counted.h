/* counted.h: lines and instructions that were counted one by one: of model.h, which says who owns
 * what.
 */
#ifndef CAIRN_COUNTED_H
#define CAIRN_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

struct cairn_model;

/* A line of a function, counted each time that it began. */
struct cairn_counted_line {
    uint32_t thread; /* whose line it is; the first of its process, unless: */
    bool apart;      /* it is of this thread alone */
    uint32_t function, line;
    uint64_t hits, total_ns, suspended_ns;
    bool untimed;                  /* hits alone are known: the times are 0 */
    bool let_go;                   /* it cost too much, and was counted until then */
    bool knows_calls;              /* of the total: */
    uint64_t called_ns, native_ns; /* in Python that it called, in C */
};

/* An instruction of a code object, counted each time that it was executed. */
struct cairn_counted_opcode {
    uint32_t thread; /* the first of its process: they are not told apart by thread */
    uint32_t function, offset, line; /* offset in bytes; line 0: none */
    bool target, let_go;             /* something jumps there; as of a line */
    uint32_t depth;                  /* values on the stack behind it, and 1; 0: not known */
    struct cairn_span text;          /* its name, and behind a blank what it is given */
    struct cairn_span form; /* in which it is run, if specialised; empty: not, or not known */
    uint64_t hits;
};

/* What an instruction was given, of the executions that were looked at. */
struct cairn_counted_given {
    uint32_t thread, function, offset; /* as of the instruction */
    struct cairn_span text;            /* likewise */
    struct cairn_span kind;            /* types of values, or what was called; empty: others */
    uint64_t hits;
};

/* Of the whole recording; in no order, and the same may come again. */
size_t cairn_model_counted_lines(const struct cairn_model *model,
                                 const struct cairn_counted_line **ret);
size_t cairn_model_counted_opcodes(const struct cairn_model *model,
                                   const struct cairn_counted_opcode **ret);
size_t cairn_model_counted_given(const struct cairn_model *model,
                                 const struct cairn_counted_given **ret);
#endif
