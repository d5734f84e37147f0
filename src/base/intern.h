/* intern.h: byte strings stored once, named by dense 32-bit ids in order of arrival.
 *
 * Id 0 is always the empty string. Strings may hold any byte, NUL included. A span handed out is
 * borrowed and stays valid for the life of the table: its bytes live in an arena and never move.
 * Threads: one at a time.
 */
#ifndef CAIRN_INTERN_H
#define CAIRN_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "cursor.h"
#include "idset.h"
#include "vec.h"

struct cairn_intern {
    struct cairn_arena arena;
    struct cairn_idset ids;
    CAIRN_VEC(struct cairn_span) strings;
};

/* `max_bytes` bounds the sum of all strings, each with its NUL. 0 or -CAIRN_ENOMEM. */
int cairn_intern_init(struct cairn_intern *table, size_t max_bytes);
void cairn_intern_release(struct cairn_intern *table);

/* 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT. */
int cairn_intern_add(struct cairn_intern *table, struct cairn_span bytes, uint32_t *ret_id);
int cairn_intern_str(struct cairn_intern *table, const char *str, uint32_t *ret_id);

/* The bytes of an id; the empty span for one that was never given out. NUL-terminated behind
 * the last byte, so `data` can go to printf when the caller knows there is no NUL inside. */
struct cairn_span cairn_intern_get(const struct cairn_intern *table, uint32_t id);
size_t cairn_intern_count(const struct cairn_intern *table);

#endif
