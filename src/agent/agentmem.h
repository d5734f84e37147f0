/* agentmem.h: memory for what runs inside a program: mapped, never from malloc, under a ceiling.
 *
 * A pool hands out zeroed blocks that do not move and go back all at once; a table maps pairs of
 * words to pointers. Both take from one budget, which several threads may share. A budget with a
 * `grow` takes what it hands out from there, one piece behind the other, and never twice.
 * Threads: a budget any; a pool and a table one at a time. errno is left as it was.
 */
#ifndef CAIRN_AGENTMEM_H
#define CAIRN_AGENTMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_budget {
    size_t max_bytes;
    size_t used_bytes; /* atomic */
    /* NULL: from the system. Else so many zeroed bytes, or NULL, and where they go back to. */
    void *(*grow)(void *context, size_t size_bytes);
    void (*shrink)(void *context, void *block, size_t size_bytes);
    void *context;
};

/* Zeroed pages, or NULL when the budget or the memory is used up. */
void *cairn_budget_map(struct cairn_budget *budget, size_t size_bytes);
void cairn_budget_unmap(struct cairn_budget *budget, void *block, size_t size_bytes);
/* Moves a block into a larger one; NULL, and the old one is as it was, when there is none. */
void *cairn_budget_remap(struct cairn_budget *budget, void *block, size_t old_bytes,
                         size_t new_bytes);

struct cairn_pool_chunk;

struct cairn_pool { /* all 0: an empty one */
    struct cairn_pool_chunk *chunks;
    size_t left_bytes; /* in the newest chunk */
};

/* At most CAIRN_POOL_MOST_BYTES, aligned to 16; NULL when the budget is used up. */
#define CAIRN_POOL_MOST_BYTES 4096
void *cairn_pool_alloc(struct cairn_pool *pool, struct cairn_budget *budget, size_t size_bytes);
void cairn_pool_release(struct cairn_pool *pool, struct cairn_budget *budget);

struct cairn_pairs_slot {
    uintptr_t a, b;
    void *value; /* NULL: free */
};

struct cairn_pairs { /* all 0: an empty one */
    struct cairn_pairs_slot *slots;
    size_t cap, count; /* cap is 0 or a power of two */
};

void cairn_pairs_release(struct cairn_pairs *pairs, struct cairn_budget *budget);

/* Adds a pair that is not there, with a value that is not NULL; 0 or -CAIRN_ENOMEM. */
int cairn_pairs_add(struct cairn_pairs *pairs, struct cairn_budget *budget, uintptr_t a,
                    uintptr_t b, void *value);

static inline size_t cairn_pairs_hash(uintptr_t a, uintptr_t b)
{
    uint64_t mixed = ((uint64_t)a ^ ((uint64_t)b << 1 | (uint64_t)b >> 63)) * 0x9e3779b97f4a7c15u;

    return (size_t)(mixed ^ mixed >> 29);
}

/* NULL: not there. */
static inline void *cairn_pairs_get(const struct cairn_pairs *pairs, uintptr_t a, uintptr_t b)
{
    if (pairs->cap == 0)
        return NULL;
    for (size_t i = cairn_pairs_hash(a, b);; i++) {
        const struct cairn_pairs_slot *slot = &pairs->slots[i & (pairs->cap - 1)];

        if (slot->value == NULL || (slot->a == a && slot->b == b))
            return slot->value;
    }
}

#endif
