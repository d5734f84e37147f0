/* spots.h: what values an instruction was given, by a key of the host's and a name: "int, str". Of
 * each such instruction of a code object, a spot, a few kinds are kept apart; what is beyond that
 * is counted as others. The sums lie in the spool of the lines (lines_parts.h).
 *
 * Where being told of an instruction keeps the interpreter from choosing a form for it (from 3.12
 * on), spots are looked at in windows alone: each for its first executions, all of a code object
 * again when one did not fit the form that it had, and those without a form now and then.
 *
 * Threads and memory: as lines.h.
 */
#ifndef CAIRN_SPOTS_H
#define CAIRN_SPOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

#define CAIRN_SPOT_KINDS 4
#define CAIRN_SPOT_NAME_BYTES 256 /* at most, of a kind */

struct cairn_lines_hub;

struct cairn_spot_name { /* in the spool; its text ends on a multiple of 8 */
    uint64_t size_bytes;
    char text[];
};

struct cairn_spot_kind {
    uintptr_t key; /* 0: none yet */
    const struct cairn_spot_name *name;
    uint64_t hits;
};

struct cairn_spot_watch {
    uint32_t left;   /* executions that are looked at, before it is let go */
    uint32_t form;   /* in which it was last seen, as the host tells them apart; 0: none */
    uint32_t missed; /* how often that did not fit then */
    uint32_t lost;   /* the last form that was given up for a window; 0: none */
    uint32_t misses; /* of all of those */
};

struct cairn_spot { /* in the spool */
    uint64_t unit, others;
    struct cairn_spot_watch watch; /* of the process alone */
    struct cairn_spot_kind kinds[CAIRN_SPOT_KINDS];
};

/* Where a spot is, as the host's listing says. */
struct cairn_spot_place {
    uint32_t unit;
    uint32_t run;    /* the unit that leads its run; its own: it leads, and is looked at for good */
    uint32_t opcode; /* the general form */
    uint32_t depth;  /* values on the stack before it, and 1; 0: not known */
    uint32_t below;  /* so far below the top of the stack the first value lies */
    uint32_t count;  /* of values; 0: one that is called, here or, where nothing is, behind it */
};

struct cairn_spots {
    uint32_t count, windows;               /* windows: for what did not fit */
    const struct cairn_spot_place *places; /* by unit; borrowed for good */
    struct cairn_spot *met; /* in the spool; NULL: there is no place to count them any more */
    uint64_t passed;        /* so often runs began in which there are spots */
    uint64_t next, closed;  /* when what has no form is looked at again; when what did not fit, at
                             * the  earliest */
};

/* The first spot at the unit or behind it; `count`: none. */
uint32_t cairn_spots_find(const struct cairn_spots *spots, uint32_t unit);

/* The spots are counted there, anew; NULL: nowhere. `old`: what a parent, or an earlier place, knew
 * of them; NULL: they are new. */
void cairn_spots_use(struct cairn_spots *spots, struct cairn_spot *met,
                     const struct cairn_spot *old);

/* The spot was given values with that key, which is not 0. False: they are to be named first. */
bool cairn_spots_meet(struct cairn_spots *spots, uint32_t index, uintptr_t key);

/* Names them, and counts them; without memory, as others. */
void cairn_spots_name(struct cairn_lines_hub *hub, struct cairn_spots *spots, uint32_t index,
                      uintptr_t key, struct cairn_span name);

/* A run of instructions begins in which the spot lies; it has this form now, 0: none, which did not
 * fit so often since it was chosen. Whether the spots are to be looked at again: that became more,
 * or there is no form, so that nobody tells whether something else is given; not too often. */
bool cairn_spots_see(struct cairn_spots *spots, uint32_t index, uint32_t form, uint32_t missed);

/* A window is opened: the spot's form is lost by it. */
void cairn_spots_open(struct cairn_spots *spots, uint32_t index, uint32_t form, uint32_t missed);

#endif
