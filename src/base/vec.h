/* vec.h: arrays that grow, up to a ceiling.
 *
 * CAIRN_VEC(type) is a struct {type *items; size_t count, cap;}; all zero is an empty one. The
 * owner frees `items` (cairn_vec_release). Growth moves the items: hold indexes, not pointers.
 */
#ifndef CAIRN_VEC_H
#define CAIRN_VEC_H

#include <stddef.h>
#include <stdlib.h>

#define CAIRN_VEC(type)                                                                            \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, cap;                                                                         \
    }

/* The same with a name, for declarations that are shared. */
#define CAIRN_VEC_DECLARE(name, type)                                                              \
    struct name {                                                                                  \
        type *items;                                                                               \
        size_t count, cap;                                                                         \
    }

/* Makes room for `need` items of `item_bytes`, doubling; 0, -CAIRN_ENOMEM, or -CAIRN_ELIMIT when
 * `need` is above `max_items`. New room is zeroed. On failure nothing changed. */
int cairn_vec_grow(void **items, size_t *cap, size_t need, size_t item_bytes, size_t max_items);

#define cairn_vec_reserve(vec, need, max_items)                                                    \
    cairn_vec_grow((void **)&(vec)->items, &(vec)->cap, (need), sizeof(*(vec)->items), (max_items))

#define cairn_vec_release(vec)                                                                     \
    do {                                                                                           \
        free((vec)->items);                                                                        \
        (vec)->items = NULL;                                                                       \
        (vec)->count = (vec)->cap = 0;                                                             \
    } while (0)

#endif
