/* linecounts.h: how often lines of a code object begin, without their times: of lines.h, which says
 * who calls and who owns what.
 */
#ifndef CAIRN_LINECOUNTS_H
#define CAIRN_LINECOUNTS_H

#include "lines.h"

/* A place in the bytecode at which a line begins. In a run of instructions without a jump one place
 * is counted, the probe; the others begin as often as that, but for the exceptions in between. */
struct cairn_line_place {
    uint32_t unit, line;
    uint32_t probe;      /* its number; its own: it is the probe */
    uint32_t heard;      /* no probe: whether it was told of at all */
    uint64_t hits, gone; /* of a probe; exceptions that came from here up to the next place */
};

struct cairn_line_counts { /* how often lines of a code object begin, without their times */
    uint32_t first_line, line_count;
    bool starts;                 /* for the host: it is to be told that the code begins */
    struct cairn_line_sum *sums; /* NULL: there is no place to count them any more */
    uint32_t unit_count, place_count;
    struct cairn_line_place *places; /* by unit */
    const uint32_t *at; /* of each unit: the number of the place there or before, and 1; 0: none */
    struct cairn_lines_block *block; /* in the spool, with sums and places */
};

struct cairn_line_plan { /* of places: unit, line, probe; three numbers each, `count` in all */
    const uint32_t *numbers;
    size_t count;
    uint32_t unit_count; /* of the code */
};

/* Counts, from now on, how often lines of the code begin, in the spool, under the words that it
 * has; no clock is read. Of a plan that cannot be nothing is believed. 0, -CAIRN_ENOMEM. */
int cairn_lines_count(struct cairn_lines_hub *hub, const void *key, uint32_t first_line,
                      uint32_t line_count, const struct cairn_line_plan *plan,
                      const struct cairn_exact_words *words);

/* A line of such code begins. At a unit: false, and it need not be told of that unit again. */
void cairn_lines_hit(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uint32_t line);
bool cairn_lines_hit_at(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uint32_t unit,
                        uint32_t line);

/* An exception leaves the code's lines at the unit. */
void cairn_lines_gone(struct cairn_lines_hub *hub, const struct cairn_lines_code *code,
                      uint32_t unit);

#endif
