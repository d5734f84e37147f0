/* idset.h: finds the id of an entry by its content, for tables whose entries have dense ids.
 *
 * A set of ids under hashes: the entries themselves stand where their owner keeps them, and are
 * compared there. A slot is 8 bytes, a quarter of what a map takes whose keys are copies.
 * Ids are 1 and up. Open addressing.
 * Owner: the set owns its slots. Threads: one at a time.
 */
#ifndef CAIRN_IDSET_H
#define CAIRN_IDSET_H

#include <stddef.h>
#include <stdint.h>

struct cairn_idset_slot {
    uint32_t hash, id; /* id 0: the slot is free */
};

struct cairn_idset {
    struct cairn_idset_slot *slots;
    size_t count, cap;
    uint64_t seed; /* for the caller's hashes, other in each set */
};

void cairn_idset_init(struct cairn_idset *set);
void cairn_idset_release(struct cairn_idset *set);

/* The ids under a hash, one after the other, and 0 when there is none left. Some may have come
 * under another hash: the caller compares. *at is what cairn_idset_next() goes on from. */
uint32_t cairn_idset_first(const struct cairn_idset *set, uint64_t hash, size_t *at);
uint32_t cairn_idset_next(const struct cairn_idset *set, uint64_t hash, size_t *at);

/* The id must not be there yet. 0, -CAIRN_ENOMEM (nothing changed). */
int cairn_idset_add(struct cairn_idset *set, uint64_t hash, uint32_t id);

/* Takes an id out that came under this hash; nothing happens when it is not there. */
void cairn_idset_remove(struct cairn_idset *set, uint64_t hash, uint32_t id);

#endif
