#include "ids.h"

#include "err.h"

/* How far beyond what was seen an id may lie and still be given array room: a writer's lost
 * chunk leaves a gap about as large as its neighbours. */
#define SLACK 65536u
#define COUNT_MAX (1u << 31)

void cairn_ids_init(struct cairn_ids *ids)
{
    *ids = (struct cairn_ids){.count = 0};
    cairn_map_init(&ids->far, COUNT_MAX);
}

void cairn_ids_release(struct cairn_ids *ids)
{
    cairn_vec_release(&ids->near);
    cairn_map_release(&ids->far);
    ids->count = 0;
}

int cairn_ids_put(struct cairn_ids *ids, uint32_t id, uint32_t value)
{
    uint64_t reach = 4 * (uint64_t)ids->count + SLACK;
    uint64_t old;

    if (id >= ids->near.count && (id > reach || cairn_map_get(&ids->far, id, 0, &old))) {
        CAIRN_TRY(cairn_map_put(&ids->far, id, 0, value));
    } else {
        if (id >= ids->near.count) {
            CAIRN_TRY(cairn_vec_reserve(&ids->near, (size_t)id + 1, COUNT_MAX));
            ids->near.count = (size_t)id + 1;
        } else if (cairn_map_get(&ids->far, id, 0, &old)) {
            /* The array has grown over it since. */
            cairn_map_remove(&ids->far, id, 0);
        }
        ids->near.items[id] = value + 1;
    }
    ids->count++;
    return 0;
}

uint32_t cairn_ids_get_far(const struct cairn_ids *ids, uint32_t id)
{
    uint64_t value;

    if (ids->far.count && cairn_map_get(&ids->far, id, 0, &value))
        return (uint32_t)value;
    return CAIRN_IDS_LOST;
}

int cairn_ids_translate(struct cairn_ids *ids, const uint32_t *values)
{
    struct cairn_map moved;
    uint64_t id, zero, value;
    size_t pos = 0;

    /* A map may not change under its own walk. */
    cairn_map_init(&moved, COUNT_MAX);
    while (cairn_map_next(&ids->far, &pos, &id, &zero, &value)) {
        int code = cairn_map_put(&moved, id, zero, values[value]);

        if (code < 0) {
            cairn_map_release(&moved);
            return code;
        }
    }
    cairn_map_release(&ids->far);
    ids->far = moved;
    for (size_t i = 0; i < ids->near.count; i++)
        if (ids->near.items[i])
            ids->near.items[i] = values[ids->near.items[i] - 1] + 1;
    return 0;
}

uint64_t cairn_ids_mask(const struct cairn_ids *ids, const bool *chosen)
{
    uint64_t id, zero, value, mask = 0;
    size_t pos = 0;

    for (size_t i = 0; i < ids->near.count; i++)
        if (ids->near.items[i] && chosen[ids->near.items[i] - 1])
            mask |= UINT64_C(1) << i % 64;
    while (cairn_map_next(&ids->far, &pos, &id, &zero, &value))
        if (value != CAIRN_IDS_LOST && chosen[value])
            mask |= UINT64_C(1) << id % 64;
    return mask;
}
