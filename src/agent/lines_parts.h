/* lines_parts.h: what lineskept.c keeps in a spool, and linespool.c reads from there. For these
 * alone.
 */
#ifndef CAIRN_LINES_PARTS_H
#define CAIRN_LINES_PARTS_H

#include "lines.h"

/* The lines of one code object; the spool's root is the newest. Behind the texts, which end on a
 * multiple of 8, lie `line_count` sums. */
struct cairn_lines_block {
    const struct cairn_lines_block *next;
    uint32_t code_line;              /* where the code object begins */
    uint32_t first_line, line_count; /* of the sums */
    uint32_t name_bytes, qualname_bytes, file_bytes;
    char text[]; /* the three, one behind the other */
};

static inline size_t cairn_lines_text_bytes(const struct cairn_lines_block *block)
{
    size_t bytes = (size_t)block->name_bytes + block->qualname_bytes + block->file_bytes;

    return (bytes + 7) & ~(size_t)7;
}

static inline struct cairn_line_sum *cairn_lines_sums(const struct cairn_lines_block *block)
{
    return (struct cairn_line_sum *)(uintptr_t)(block->text + cairn_lines_text_bytes(block));
}

/* Before anything that writes: whether this is a child made by fork that has yet to begin its own.
 */
void cairn_lines_look_for_fork(struct cairn_lines_hub *hub);

/* A line that began, or a function's lines, cannot be counted. */
void cairn_lines_lose(struct cairn_lines_hub *hub);

/* In a child made by fork: blocks in a file of its own, with sums of 0. */
void cairn_lines_again(struct cairn_lines_hub *hub);

#endif
