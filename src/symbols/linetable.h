/* linetable.h: which source line, and which columns, an instruction of a Python code object is of.
 *
 * Three layouts: lnotab (3.8, 3.9), the line table of 3.10, the location table of 3.11 on. The
 * bytes are foreign: every step is checked, a table that does not fit ends as damaged.
 * Owner: the caller keeps the bytes; a table walks over them. Threads: one per table.
 */
#ifndef CAIRN_LINETABLE_H
#define CAIRN_LINETABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"

#define CAIRN_COLUMN_NONE UINT32_MAX

/* The instructions [start_bytes, end_bytes) of the code are of one place. */
struct cairn_line_entry {
    uint32_t start_bytes, end_bytes; /* end UINT32_MAX: to the end of the code */
    uint32_t line, end_line;         /* 0: of no line; end_line is `line` where not recorded */
    uint32_t column, end_column;     /* UTF-8 bytes from 0; CAIRN_COLUMN_NONE: not recorded */
};

struct cairn_linetable {
    struct cairn_cursor cur;
    uint8_t kind; /* enum cairn_linetable_kind */
    bool done;
    uint32_t offset_bytes; /* where the next entry starts */
    int64_t line;          /* computed so far; CPython lets it leave the range in between */
};

/* `first_line` is co_firstlineno. */
void cairn_linetable_init(struct cairn_linetable *table, uint8_t kind, struct cairn_span bytes,
                          uint32_t first_line);

/* Entries in ascending order without gaps, never empty: 0, -CAIRN_EEND, or -CAIRN_EDAMAGED (a
 * kind that is not known is damaged too; CAIRN_LINES_NONE is an empty table). */
int cairn_linetable_next(struct cairn_linetable *table, struct cairn_line_entry *ret_entry);

/* The entry of one instruction; `offset_bytes` below 0 (before the first instruction) is the first
 * line. 0, -CAIRN_EEND when the table ends before it, -CAIRN_EDAMAGED. */
int cairn_linetable_find(uint8_t kind, struct cairn_span bytes, uint32_t first_line,
                         int64_t offset_bytes, struct cairn_line_entry *ret_entry);

#endif
