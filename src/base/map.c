#include "map.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL /* the length of a key is known here */
#include <xxhash.h>

#include "alloc.h"
#include "err.h"
#include "rng.h"

#define FIRST_CAP 16 /* a power of two, as every capacity */

struct cairn_map_slot {
    uint64_t key_a, key_b, value;
    uint64_t hash; /* 0: the slot is free */
};

void cairn_map_init(struct cairn_map *map, size_t max_count)
{
    *map = (struct cairn_map){.max_count = max_count, .seed = cairn_rng_seed()};
}

void cairn_map_release(struct cairn_map *map)
{
    free(map->slots);
    map->slots = NULL;
    map->count = 0;
    map->cap = 0;
}

void cairn_map_clear(struct cairn_map *map)
{
    if (map->cap > 0)
        memset(map->slots, 0, map->cap * sizeof(*map->slots));
    map->count = 0;
}

static uint64_t hash_key(const struct cairn_map *map, uint64_t key_a, uint64_t key_b)
{
    const uint64_t key[2] = {key_a, key_b};

    /* The top bit keeps it apart from a free slot; the low ones choose the place. */
    return XXH3_64bits_withSeed(key, sizeof(key), map->seed) | (uint64_t)1 << 63;
}

/* Where the key is, or the free slot where it would go. The table is never full. */
static size_t find(const struct cairn_map *map, uint64_t hash, uint64_t key_a, uint64_t key_b)
{
    size_t at = hash & (map->cap - 1);

    for (;; at = (at + 1) & (map->cap - 1)) {
        const struct cairn_map_slot *slot = &map->slots[at];

        if (slot->hash == 0)
            return at;
        if (slot->hash == hash && slot->key_a == key_a && slot->key_b == key_b)
            return at;
    }
}

bool cairn_map_get(const struct cairn_map *map, uint64_t key_a, uint64_t key_b, uint64_t *ret_value)
{
    const struct cairn_map_slot *slot;

    if (map->count == 0)
        return false;
    slot = &map->slots[find(map, hash_key(map, key_a, key_b), key_a, key_b)];
    if (slot->hash == 0)
        return false;
    *ret_value = slot->value;
    return true;
}

void cairn_map_prefetch(const struct cairn_map *map, uint64_t key_a, uint64_t key_b)
{
    if (map->count > 0)
        __builtin_prefetch(&map->slots[hash_key(map, key_a, key_b) & (map->cap - 1)]);
}

static int grow(struct cairn_map *map)
{
    struct cairn_map larger = *map;

    if (map->cap > SIZE_MAX / 2)
        return -CAIRN_ENOMEM;
    larger.cap = map->cap == 0 ? FIRST_CAP : map->cap * 2;
    larger.slots = cairn_calloc(larger.cap, sizeof(*larger.slots));
    if (larger.slots == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < map->cap; i++) {
        const struct cairn_map_slot *slot = &map->slots[i];

        if (slot->hash != 0)
            larger.slots[find(&larger, slot->hash, slot->key_a, slot->key_b)] = *slot;
    }
    free(map->slots);
    *map = larger;
    return 0;
}

int cairn_map_put(struct cairn_map *map, uint64_t key_a, uint64_t key_b, uint64_t value)
{
    uint64_t hash = hash_key(map, key_a, key_b);
    size_t at = 0;

    if (map->cap > 0) {
        at = find(map, hash, key_a, key_b);
        if (map->slots[at].hash != 0) {
            map->slots[at].value = value;
            return 0;
        }
    }
    if (map->count >= map->max_count)
        return -CAIRN_ELIMIT;
    if (map->count >= map->cap / 4 * 3) {
        CAIRN_TRY(grow(map));
        at = find(map, hash, key_a, key_b);
    }
    map->slots[at] = (struct cairn_map_slot){key_a, key_b, value, hash};
    map->count++;
    return 0;
}

bool cairn_map_remove(struct cairn_map *map, uint64_t key_a, uint64_t key_b)
{
    size_t mask = map->cap - 1;
    size_t hole;

    if (map->count == 0)
        return false;
    hole = find(map, hash_key(map, key_a, key_b), key_a, key_b);
    if (map->slots[hole].hash == 0)
        return false;

    /* Whoever stands behind the hole, at or past its own first choice, moves into it: then no
     * search ends too early, and no grave has to be kept. */
    for (size_t at = (hole + 1) & mask; map->slots[at].hash != 0; at = (at + 1) & mask) {
        size_t home = map->slots[at].hash & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].hash = 0;
    map->count--;
    return true;
}

bool cairn_map_next(const struct cairn_map *map, size_t *pos, uint64_t *ret_key_a,
                    uint64_t *ret_key_b, uint64_t *ret_value)
{
    for (; *pos < map->cap; ++*pos) {
        const struct cairn_map_slot *slot = &map->slots[*pos];

        if (slot->hash == 0)
            continue;
        *ret_key_a = slot->key_a;
        *ret_key_b = slot->key_b;
        *ret_value = slot->value;
        ++*pos;
        return true;
    }
    return false;
}
