/* pickle.h: what a pickle of line_profiler holds. A pickle may name anything to be called when it
 * is loaded; here nothing ever is: the few opcodes that a LineStats is made of are followed,
 * everything else is refused. No size is believed, memory is bounded, and what holds itself does no
 * harm to who reads it level by level.
 *
 * Owner: the caller, from cairn_pickle_read() to cairn_pickle_release(); texts are borrowed from
 * the bytes. Threads: one at a time.
 */
#ifndef CAIRN_PICKLE_H
#define CAIRN_PICKLE_H

#include <stdbool.h>

#include "cursor.h"
#include "err.h"
#include "map.h"
#include "vec.h"

enum cairn_pickle_kind {
    CAIRN_PICKLE_NONE,
    CAIRN_PICKLE_NUMBER,
    CAIRN_PICKLE_TEXT,
    CAIRN_PICKLE_TUPLE,
    CAIRN_PICKLE_LIST,
    CAIRN_PICKLE_DICT,
    CAIRN_PICKLE_OBJECT, /* a LineStats */
    CAIRN_PICKLE_CLASS,  /* its type; on the way only, as is the next */
    CAIRN_PICKLE_MARK
};

struct cairn_pickle_value {
    uint8_t kind;
    uint32_t first, last; /* cells of what it holds; of an object first: the value it was set to */
    uint32_t count;       /* of cells; a dict has two for each key */
    double number;
    struct cairn_span text;
};

struct cairn_pickle_cell {
    uint32_t value, next; /* next: 0 behind the last */
};

struct cairn_pickle {
    struct cairn_cursor cur;
    struct cairn_err *err;
    CAIRN_VEC(struct cairn_pickle_value) values; /* [0] is none, and so is [0] of the cells */
    CAIRN_VEC(struct cairn_pickle_cell) cells;
    CAIRN_VEC(uint32_t) stack;
    struct cairn_map memo;
    uint64_t memo_count;
};

/* 0 and which of the values the pickle is of; -CAIRN_EDAMAGED, with `err` filled where there is
 * more to say; -CAIRN_ELIMIT; -CAIRN_ENOMEM. Release in any case. */
int cairn_pickle_read(struct cairn_pickle *pickle, struct cairn_span bytes, struct cairn_err *err,
                      uint32_t *ret_value);
void cairn_pickle_release(struct cairn_pickle *pickle);

/* The value of a key of a dict, or 0. */
uint32_t cairn_pickle_value_of(const struct cairn_pickle *pickle, uint32_t dict, const char *key);

/* The items of a tuple or list of just so many; false when it is something else. */
bool cairn_pickle_items(const struct cairn_pickle *pickle, uint32_t value, size_t count,
                        const struct cairn_pickle_value *ret_items[]);

#endif
