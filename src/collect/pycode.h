/* pycode.h: code objects of the target, copied once and told apart for ever.
 *
 * An entry is found by address and believed for a while; then its fingerprint (the addresses of
 * name, qualified name, file name and line table, and the first line) and the beginnings of its
 * names and line table are read again. An address that another code object took over gets another
 * entry, unless one like it was there before, or anywhere where it is not any more: who evaluates a
 * text in a loop makes the same code object ever again, for days. Other entries stay as they were,
 * but for those of code that was gone before it could be read whole (pypassed.h): each is for one
 * object after the other.
 * Owner: the cache owns all entries until it is released. Threads: one.
 */
#ifndef CAIRN_PYCODE_H
#define CAIRN_PYCODE_H

#include <stdbool.h>

#include "arena.h"
#include "intern.h"
#include "map.h"
#include "pylayout.h"
#include "pyread.h"
#include "pysites.h"
#include "pyunits.h"
#include "remote.h"
#include "vec.h"

/* What tells two code objects apart: addresses in the target, the first line, how many units. */
enum {
    CAIRN_PYPART_NAME,
    CAIRN_PYPART_QUALNAME,
    CAIRN_PYPART_FILE,
    CAIRN_PYPART_LINETABLE,
    CAIRN_PYPART_LINE,
    CAIRN_PYPART_CODE,
    CAIRN_PYPART_UNITS,
    CAIRN_PYCODE_PARTS
};

struct cairn_pycode_entry {
    struct cairn_pycode code; /* first: the public part */
    bool named;               /* its strings could be read; else the code is [unknown] */
    bool hidden;              /* the interpreter's own, no traceback shows it */
    bool passed;              /* it was gone before it was read whole: see pypassed.h */
    bool body;                /* of those: it is no function, but of a module or a class */
    bool yields;              /* until 3.10: its frame is a generator's: it yields, or awaits */
    uint64_t parts[CAIRN_PYCODE_PARTS]; /* the fingerprint */
    struct cairn_span text;         /* until 3.10: the instructions, as long as `units` is known */
    uint64_t start;                 /* of the instructions, in the target */
    uint32_t frame_bytes;           /* of a frame on the data stack; 0: not known */
    uint32_t unit_count;            /* instructions and caches, 2 bytes each */
    uint32_t first_unit;            /* in front of it, a frame is still being set up */
    uint32_t stack_slots;           /* locals and stack: what a frame's stacktop cannot pass … */
    uint32_t local_slots;           /* … and of these, the locals */
    uint8_t *units;                 /* NULL: not known */
    struct cairn_pycallsite *sites; /* until 3.10: where it calls what by name … */
    uint32_t site_count;
    uint32_t name_count; /* … the addresses of its names, asked for when they are needed … */
    uint64_t *names;
    uint64_t names_at;   /* … and of the tuple that holds them; 0: it was asked */
    uint64_t checked_ns; /* at which tick the fingerprint was last seen to hold … */
    uint64_t looked_ns;  /* … and when: a stack is read more than once at a tick; … */
    uint64_t gone_ns;    /* … or that there is none; 0: it was not; … */
    uint64_t moved_ns; /* … or came again, or where other code had been, or was gone; 0: never */
    uint32_t alike;    /* one more than the number of the one before it whose content hashes to
                          the same; 0: none */
};

#define CAIRN_PYCODE_PASSED 16

struct cairn_pycodes {
    struct cairn_remote *remote; /* borrowed */
    const struct cairn_pylayout *layout;
    const struct cairn_pytable *table;
    uint64_t type; /* of all code objects; 0: not met yet */
    struct cairn_map by_address;
    struct cairn_map by_content; /* hash of it -> one more than the number of the latest entry */
    struct cairn_map holds; /* number of a code, offset -> which slots hold what is resumed there */
    struct cairn_map
        counts; /* the same -> how often it was the end of a stack, the contrary, a call */
    struct cairn_map
        entered; /* numbers of caller and callee -> how often C called the one from the other */
    struct cairn_map called;   /* the same of a generator, without C: it was sure to be so */
    struct cairn_map seen;     /* the same without C -> pyseen's */
    struct cairn_map nameless; /* {address, its parts} without names -> first met, ns */
    struct cairn_map doubts;   /* number of a code, place -> how often it was confirmed, and when */
    struct cairn_intern strings;
    struct cairn_arena arena;
    CAIRN_VEC(struct cairn_pycode_entry *) entries;
    CAIRN_VEC(uint64_t) wanted;
    struct cairn_pycode_entry *passed[CAIRN_PYCODE_PASSED]; /* of what was over before its … */
    size_t passed_next;                                     /* … names were read, in turn */
    struct cairn_pycode_entry *imported;                    /* a module that was; NULL: none yet */
    struct cairn_pyread_stats *stats;
    uint64_t came_ns;       /* when the last entry was made; … */
    uint64_t taken_over_ns; /* … at an address that had been another's */
    uint64_t loads;         /* calls of load that had something to do */
    uint64_t unsure;        /* how often code was met that may have come a moment ago, … */
    uint64_t nameless_late; /* … or was over when its names were looked for, which was late */
    uint64_t looked_ns;     /* when the last load began, … */
    uint64_t seen_ns;       /* … and when it had seen what lies at the addresses */
    uint64_t copied_ns;     /* the reader's: when the frames whose code is asked for were copied */
};

/* 0 or -CAIRN_ENOMEM. */
int cairn_pycodes_init(struct cairn_pycodes *codes, struct cairn_remote *remote,
                       const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                       struct cairn_pyread_stats *stats);
void cairn_pycodes_release(struct cairn_pycodes *codes);

/* The entry at `address`, however old; NULL: none. */
struct cairn_pycode_entry *cairn_pycodes_find(const struct cairn_pycodes *codes, uint64_t address);

/* Notes an address that is not known, or not fresh, for the next load. 0 or -CAIRN_ENOMEM. */
int cairn_pycodes_want(struct cairn_pycodes *codes, uint64_t address);

/* Something that speaks against a check at `place` of a code was seen at `now_ns`. *ret_often: so
 * it was at several moments, far enough from each other that the program cannot have stood still in
 * between. 0 or -CAIRN_ENOMEM. */
int cairn_pycodes_confirm(struct cairn_pycodes *codes, const struct cairn_pycode_entry *entry,
                          uint32_t place, uint64_t now_ns, bool *ret_often);

/* Until 3.10: where `caller` calls a function of the name of `callee` by that name: of several
 * places, the last one up to `instr` (bytes), else the last one. 1: *ret_instr is it; 0: there is
 * none; or -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pycodes_site(struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                       const struct cairn_pycode_entry *callee, uint64_t instr,
                       uint64_t *ret_instr);

/* Reads all that was noted, in few reads. What is no code object gets no entry, and loses the one
 * it had, at once or when the tick is over; what is left of one keeps its entry, or gets one
 * without lines, and where its name is not known without that. 0, -CAIRN_ENOMEM, -CAIRN_EGONE or
 * -CAIRN_EPERM. */
int cairn_pycodes_load(struct cairn_pycodes *codes, uint64_t now_ns);

#endif
