/* ids.h: what the ids of one writer stand for here.
 *
 * Ids come in dense runs, so most live in an array; one that lies far beyond what was seen so far
 * (chunks were lost, or the file is hostile) goes into a map, so that no id by itself decides an
 * allocation. A value is a dense index of ours; below UINT32_MAX.
 * Owner: the table owns its memory. Threads: one at a time while it grows, then any.
 */
#ifndef CAIRN_IDS_H
#define CAIRN_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "map.h"
#include "vec.h"

#define CAIRN_IDS_LOST UINT32_MAX

struct cairn_ids {
    CAIRN_VEC(uint32_t) near; /* value + 1 by id; 0: not there */
    struct cairn_map far;
    size_t count; /* of puts: how far ahead the array may reach */
};

void cairn_ids_init(struct cairn_ids *ids);
void cairn_ids_release(struct cairn_ids *ids);

/* Sets or replaces. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT. */
int cairn_ids_put(struct cairn_ids *ids, uint32_t id, uint32_t value);

uint32_t cairn_ids_get_far(const struct cairn_ids *ids, uint32_t id);

/* CAIRN_IDS_LOST when it is not there. Every row asks. */
static inline uint32_t cairn_ids_get(const struct cairn_ids *ids, uint32_t id)
{
    if (id < ids->near.count && ids->near.items[id])
        return ids->near.items[id] - 1;
    return cairn_ids_get_far(ids, id);
}

/* The bits (id mod 64) of all ids whose value v has chosen[v]. */
uint64_t cairn_ids_mask(const struct cairn_ids *ids, const bool *chosen);

/* Replaces every value v by values[v]. 0 or -CAIRN_ENOMEM. */
int cairn_ids_translate(struct cairn_ids *ids, const uint32_t *values);

#endif
