#include "agentmem.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "err.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define FIRST_CAP ((size_t)128)

struct cairn_pool_chunk {
    struct cairn_pool_chunk *next;
    uint64_t pad; /* so that what follows is aligned to 16 */
};

_Static_assert(CHUNK_BYTES - sizeof(struct cairn_pool_chunk) >= CAIRN_POOL_MOST_BYTES,
               "a chunk holds the largest block");

static bool take(struct cairn_budget *budget, size_t size_bytes)
{
    size_t used = __atomic_add_fetch(&budget->used_bytes, size_bytes, __ATOMIC_RELAXED);

    if (used <= budget->max_bytes)
        return true;
    __atomic_sub_fetch(&budget->used_bytes, size_bytes, __ATOMIC_RELAXED);
    return false;
}

void *cairn_budget_map(struct cairn_budget *budget, size_t size_bytes)
{
    int saved = errno;
    void *block;

    if (!take(budget, size_bytes))
        return NULL;
    if (budget->grow != NULL) {
        block = budget->grow(budget->context, size_bytes);
        if (block == NULL)
            __atomic_sub_fetch(&budget->used_bytes, size_bytes, __ATOMIC_RELAXED);
        return block;
    }
    block = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (block != MAP_FAILED)
        return block;
    __atomic_sub_fetch(&budget->used_bytes, size_bytes, __ATOMIC_RELAXED);
    return NULL;
}

void cairn_budget_unmap(struct cairn_budget *budget, void *block, size_t size_bytes)
{
    int saved = errno;

    if (block == NULL)
        return;
    if (budget->shrink != NULL)
        budget->shrink(budget->context, block, size_bytes);
    else
        munmap(block, size_bytes);
    errno = saved;
    __atomic_sub_fetch(&budget->used_bytes, size_bytes, __ATOMIC_RELAXED);
}

void *cairn_budget_remap(struct cairn_budget *budget, void *block, size_t old_bytes,
                         size_t new_bytes)
{
    int saved = errno;
    void *moved;

    if (budget->grow != NULL) {
        moved = cairn_budget_map(budget, new_bytes);
        if (moved != NULL) {
            memcpy(moved, block, old_bytes);
            cairn_budget_unmap(budget, block, old_bytes);
        }
        return moved;
    }
    if (!take(budget, new_bytes - old_bytes))
        return NULL;
    moved = mremap(block, old_bytes, new_bytes, MREMAP_MAYMOVE);
    errno = saved;
    if (moved != MAP_FAILED)
        return moved;
    __atomic_sub_fetch(&budget->used_bytes, new_bytes - old_bytes, __ATOMIC_RELAXED);
    return NULL;
}

void *cairn_pool_alloc(struct cairn_pool *pool, struct cairn_budget *budget, size_t size_bytes)
{
    size_t need = (size_bytes + 15) & ~(size_t)15;

    if (need > CAIRN_POOL_MOST_BYTES)
        return NULL;
    if (need > pool->left_bytes) {
        struct cairn_pool_chunk *chunk = cairn_budget_map(budget, CHUNK_BYTES);

        if (chunk == NULL)
            return NULL;
        chunk->next = pool->chunks;
        pool->chunks = chunk;
        pool->left_bytes = CHUNK_BYTES - sizeof(*chunk);
    }
    pool->left_bytes -= need;
    return (char *)pool->chunks + sizeof(*pool->chunks) + pool->left_bytes;
}

void cairn_pool_release(struct cairn_pool *pool, struct cairn_budget *budget)
{
    for (struct cairn_pool_chunk *chunk = pool->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        cairn_budget_unmap(budget, chunk, CHUNK_BYTES);
    }
    *pool = (struct cairn_pool){0};
}

void cairn_pairs_release(struct cairn_pairs *pairs, struct cairn_budget *budget)
{
    cairn_budget_unmap(budget, pairs->slots, pairs->cap * sizeof(*pairs->slots));
    *pairs = (struct cairn_pairs){0};
}

static void put(struct cairn_pairs_slot *slots, size_t cap, struct cairn_pairs_slot what)
{
    size_t i = cairn_pairs_hash(what.a, what.b);

    while (slots[i & (cap - 1)].value != NULL)
        i++;
    slots[i & (cap - 1)] = what;
}

int cairn_pairs_add(struct cairn_pairs *pairs, struct cairn_budget *budget, uintptr_t a,
                    uintptr_t b, void *value)
{
    if ((pairs->count + 1) * 2 > pairs->cap) {
        size_t cap = pairs->cap == 0 ? FIRST_CAP : 2 * pairs->cap;
        struct cairn_pairs_slot *slots = cairn_budget_map(budget, cap * sizeof(*slots));

        if (slots == NULL)
            return -CAIRN_ENOMEM;
        for (size_t i = 0; i < pairs->cap; i++)
            if (pairs->slots[i].value != NULL)
                put(slots, cap, pairs->slots[i]);
        cairn_budget_unmap(budget, pairs->slots, pairs->cap * sizeof(*slots));
        pairs->slots = slots;
        pairs->cap = cap;
    }
    put(pairs->slots, pairs->cap, (struct cairn_pairs_slot){a, b, value});
    pairs->count++;
    return 0;
}
