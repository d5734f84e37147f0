#include "idset.h"

#include <stdlib.h>

#include "alloc.h"
#include "err.h"
#include "rng.h"

#define FIRST_CAP 16 /* a power of two, as every capacity */

void cairn_idset_init(struct cairn_idset *set)
{
    *set = (struct cairn_idset){.seed = cairn_rng_seed()};
}

void cairn_idset_release(struct cairn_idset *set)
{
    free(set->slots);
    set->slots = NULL;
    set->count = 0;
    set->cap = 0;
}

/* From `at` on, up to a free slot, of which there is always one. */
static uint32_t find(const struct cairn_idset *set, uint32_t hash, size_t *at)
{
    for (;; *at = (*at + 1) & (set->cap - 1)) {
        const struct cairn_idset_slot *slot = &set->slots[*at];

        if (slot->id == 0 || slot->hash == hash)
            return slot->id;
    }
}

uint32_t cairn_idset_first(const struct cairn_idset *set, uint64_t hash, size_t *at)
{
    if (set->cap == 0)
        return 0;
    *at = hash & (set->cap - 1);
    return find(set, (uint32_t)hash, at);
}

uint32_t cairn_idset_next(const struct cairn_idset *set, uint64_t hash, size_t *at)
{
    *at = (*at + 1) & (set->cap - 1);
    return find(set, (uint32_t)hash, at);
}

static void put(struct cairn_idset *set, struct cairn_idset_slot slot)
{
    size_t at = slot.hash & (set->cap - 1);

    while (set->slots[at].id != 0)
        at = (at + 1) & (set->cap - 1);
    set->slots[at] = slot;
}

static int grow(struct cairn_idset *set)
{
    struct cairn_idset larger = *set;

    larger.cap = set->cap == 0 ? FIRST_CAP : set->cap * 2;
    larger.slots = cairn_calloc(larger.cap, sizeof(*larger.slots));
    if (larger.slots == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < set->cap; i++) {
        if (set->slots[i].id != 0)
            put(&larger, set->slots[i]);
    }
    free(set->slots);
    *set = larger;
    return 0;
}

int cairn_idset_add(struct cairn_idset *set, uint64_t hash, uint32_t id)
{
    if (set->count >= set->cap / 4 * 3)
        CAIRN_TRY(grow(set));
    put(set, (struct cairn_idset_slot){(uint32_t)hash, id});
    set->count++;
    return 0;
}

void cairn_idset_remove(struct cairn_idset *set, uint64_t hash, uint32_t id)
{
    size_t last = set->cap - 1, hole = hash & last;

    if (set->cap == 0)
        return;
    for (; set->slots[hole].id != id; hole = (hole + 1) & last)
        if (set->slots[hole].id == 0)
            return;
    /* Whoever was put off beyond the hole, on the way from its own place, takes it. */
    for (size_t at = (hole + 1) & last; set->slots[at].id != 0; at = (at + 1) & last) {
        size_t put_off = (at - (set->slots[at].hash & last)) & last;

        if (put_off >= ((at - hole) & last)) {
            set->slots[hole] = set->slots[at];
            hole = at;
        }
    }
    set->slots[hole].id = 0;
    set->count--;
}
