/* lines_parts.h: what lineskept.c keeps in a spool, and linespool.c reads from there. For these
 * alone.
 */
#ifndef CAIRN_LINES_PARTS_H
#define CAIRN_LINES_PARTS_H

#include "linecounts.h"

/* The lines of one code object, or its units; the spool's root is the newest. Behind the texts,
 * which end on a multiple of 8, lie `line_count` sums; and of `unit_count` units, 64 bits each, how
 * often they were executed, and how often an exception came of them; and `place_count` places at
 * which lines begin, whose hits come on top of those of the sums; and `spot_count` spots.
 *
 * The listing has a line for each instruction, in their order: the unit; the source line, 0: none;
 * whether something jumps there, 0 or 1; whether it leads, 0 or 1; how many values are on the stack
 * behind it, and one more, 0: not known; the form in which it is run, if that is another and known,
 * and how it fares (docs/format.md);
 * each with a tab behind it. Then its name, and behind a blank what it
 * is given. What does not lead is executed whenever what stands before it was, and raised nothing.
 */
struct cairn_lines_block {
    const struct cairn_lines_block *next;
    uint32_t code_line;              /* where the code object begins */
    uint32_t first_line, line_count; /* of the sums */
    uint32_t unit_count, place_count, spot_count;
    uint32_t untimed; /* 1: of the sums hits alone are known */
    uint32_t let_go;  /* 1: it was not counted to the end */
    uint32_t name_bytes, qualname_bytes, file_bytes, listing_bytes;
    uint64_t tid, start_ns; /* of the thread whose lines alone they are; 0: of all the others */
    char text[];            /* the four, one behind the other */
};

static inline size_t cairn_lines_text_bytes(const struct cairn_lines_block *block)
{
    size_t bytes = (size_t)block->name_bytes + block->qualname_bytes + block->file_bytes +
                   block->listing_bytes;

    return (bytes + 7) & ~(size_t)7;
}

static inline struct cairn_line_sum *cairn_lines_sums(const struct cairn_lines_block *block)
{
    return (struct cairn_line_sum *)(uintptr_t)(block->text + cairn_lines_text_bytes(block));
}

static inline uint64_t *cairn_lines_hits(const struct cairn_lines_block *block)
{
    return (uint64_t *)(uintptr_t)(cairn_lines_sums(block) + block->line_count);
}

static inline struct cairn_line_place *cairn_lines_places(const struct cairn_lines_block *block)
{
    return (struct cairn_line_place *)(uintptr_t)(cairn_lines_hits(block) + 2 * block->unit_count);
}

static inline struct cairn_spot *cairn_lines_spots(const struct cairn_lines_block *block)
{
    return (struct cairn_spot *)(uintptr_t)(cairn_lines_places(block) + block->place_count);
}

static inline size_t cairn_lines_block_bytes(const struct cairn_lines_block *block)
{
    return sizeof(*block) + cairn_lines_text_bytes(block) +
           block->line_count * sizeof(struct cairn_line_sum) +
           2 * block->unit_count * sizeof(uint64_t) +
           block->place_count * sizeof(struct cairn_line_place) +
           block->spot_count * sizeof(struct cairn_spot);
}

/* Before anything that writes: whether this is a child made by fork that has yet to begin its own.
 */
void cairn_lines_look_for_fork(struct cairn_lines_hub *hub);

/* What is known of the code with this key, made when it is new; NULL: no memory. */
struct cairn_lines_code *cairn_lines_code_of(struct cairn_lines_hub *hub, const void *key);

/* So many events came of the code, which may be let go for it. */
static inline void cairn_lines_charge(struct cairn_lines_hub *hub, struct cairn_lines_code *code,
                                      unsigned events)
{
    if (__builtin_expect(hub->meter.share > 0, 0))
        cairn_line_meter_charge(hub, code, events);
}

/* A thread's lines, of a counter that is kept, are counted from now on: where they were before, or
 * in a block of their own; of the 65th thread on, in one of all of these. Without room they go on
 * where those of the thread before were counted. */
void cairn_lines_share_out(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter,
                           uint64_t number, uint64_t tid, uint64_t start_ns);

/* A line that began, or a function's lines, cannot be counted. */
void cairn_lines_lose(struct cairn_lines_hub *hub);

/* A block in the spool that is as `head` says, under these words; its numbers are 0. NULL: no room.
 */
struct cairn_lines_block *cairn_lines_block_make(struct cairn_lines_hub *hub,
                                                 struct cairn_lines_block *head,
                                                 const struct cairn_exact_words *words,
                                                 struct cairn_span listing);

/* The counts lie there from now on; NULL: nowhere. */
void cairn_lines_use_block(struct cairn_line_counts *counts, struct cairn_lines_block *block);

/* In a child made by fork: blocks in a file of its own, with sums of 0. */
void cairn_lines_again(struct cairn_lines_hub *hub);

#endif
