#include "vec.h"

#include <stdint.h>
#include <string.h>

#include "alloc.h"
#include "err.h"

#define FIRST_CAP 8

int cairn_vec_grow(void **items, size_t *cap, size_t need, size_t item_bytes, size_t max_items)
{
    size_t room = *cap;
    char *grown;

    if (need > max_items)
        return -CAIRN_ELIMIT;
    if (need <= *cap)
        return 0;
    room = room > max_items / 2 ? max_items : room * 2;
    if (room < FIRST_CAP)
        room = FIRST_CAP < max_items ? FIRST_CAP : max_items;
    if (room < need)
        room = need;
    if (room > SIZE_MAX / item_bytes)
        return -CAIRN_ENOMEM;

    /* Pages that are fresh are zero without being touched, and cost nothing before they are. */
    grown = *items ? cairn_realloc(*items, room * item_bytes) : cairn_calloc(room, item_bytes);
    if (grown == NULL)
        return -CAIRN_ENOMEM;
    if (*items)
        memset(grown + *cap * item_bytes, 0, (room - *cap) * item_bytes);
    *items = grown;
    *cap = room;
    return 0;
}
