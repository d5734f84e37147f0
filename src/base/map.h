/* map.h: a hash map from a 128-bit key to a 64-bit value.
 *
 * Open addressing, seeded per map; no output may take its order from a map. Keys are whatever the
 * caller packs into two words: (parent, location), (address, 0), an XXH3-128 digest.
 * Owner: the map owns its table. Threads: one at a time.
 */
#ifndef CAIRN_MAP_H
#define CAIRN_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_map_slot;

struct cairn_map {
    struct cairn_map_slot *slots;
    size_t count, cap, max_count;
    uint64_t seed;
};

void cairn_map_init(struct cairn_map *map, size_t max_count);
void cairn_map_release(struct cairn_map *map);
void cairn_map_clear(struct cairn_map *map);

/* True and *ret_value filled when the key is there; else false, *ret_value untouched. */
bool cairn_map_get(const struct cairn_map *map, uint64_t key_a, uint64_t key_b,
                   uint64_t *ret_value);

/* Brings the place of a key near: before many are looked up, for all of them, so that the processor
 * waits for memory once. */
void cairn_map_prefetch(const struct cairn_map *map, uint64_t key_a, uint64_t key_b);

/* Sets or replaces. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT (nothing changed). */
int cairn_map_put(struct cairn_map *map, uint64_t key_a, uint64_t key_b, uint64_t value);

/* Removes; false when the key was not there. */
bool cairn_map_remove(struct cairn_map *map, uint64_t key_a, uint64_t key_b);

/* Walks all entries in no particular order: start with *pos = 0, until false. */
bool cairn_map_next(const struct cairn_map *map, size_t *pos, uint64_t *ret_key_a,
                    uint64_t *ret_key_b, uint64_t *ret_value);

#endif
