#include "arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define FIRST_BLOCK_BYTES ((size_t)4 << 10)
#define LAST_BLOCK_BYTES ((size_t)1 << 20)
#define ALIGN_BYTES ((size_t)16)

struct cairn_arena_block {
    struct cairn_arena_block *next;
    size_t used_bytes, size_bytes;
    alignas(ALIGN_BYTES) uint8_t bytes[];
};

void cairn_arena_init(struct cairn_arena *arena, size_t max_bytes)
{
    *arena = (struct cairn_arena){.max_bytes = max_bytes};
}

void cairn_arena_release(struct cairn_arena *arena)
{
    struct cairn_arena_block *block = arena->blocks;

    while (block != NULL) {
        struct cairn_arena_block *next = block->next;

        free(block);
        block = next;
    }
    cairn_arena_init(arena, arena->max_bytes);
}

/* A block with room for `size_bytes`. It becomes the head, whose rest is used next, unless it has
 * no rest because the request was larger than blocks are now. */
static struct cairn_arena_block *add_block(struct cairn_arena *arena, size_t size_bytes)
{
    struct cairn_arena_block *head = arena->blocks;
    struct cairn_arena_block *block;
    size_t room = FIRST_BLOCK_BYTES;
    bool is_large;

    if (head != NULL)
        room = head->size_bytes < LAST_BLOCK_BYTES / 2 ? head->size_bytes * 2 : LAST_BLOCK_BYTES;
    is_large = size_bytes > room;
    if (is_large)
        room = size_bytes;
    if (room > SIZE_MAX - sizeof(*block))
        return NULL;
    /* Calloc, because large blocks come as fresh pages, which are zero without being touched. */
    block = cairn_calloc(1, sizeof(*block) + room);
    if (block == NULL)
        return NULL;
    block->size_bytes = room;
    if (is_large && head != NULL) {
        block->next = head->next;
        head->next = block;
    } else {
        block->next = head;
        arena->blocks = block;
    }
    return block;
}

static void *take(struct cairn_arena *arena, size_t size_bytes, size_t align_bytes)
{
    struct cairn_arena_block *block = arena->blocks;
    size_t start = block == NULL ? 0 : (block->used_bytes + align_bytes - 1) & ~(align_bytes - 1);

    if (size_bytes > arena->max_bytes - arena->used_bytes)
        return NULL;
    if (block == NULL || start > block->size_bytes || size_bytes > block->size_bytes - start) {
        block = add_block(arena, size_bytes);
        if (block == NULL)
            return NULL;
        start = 0;
    }
    block->used_bytes = start + size_bytes;
    arena->used_bytes += size_bytes;
    return block->bytes + start;
}

void *cairn_arena_alloc(struct cairn_arena *arena, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX - ALIGN_BYTES)
        return NULL;
    if (size_bytes == 0)
        size_bytes = 1; /* NULL would say that memory is short */
    return take(arena, (size_bytes + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1), ALIGN_BYTES);
}

void *cairn_arena_dup(struct cairn_arena *arena, const void *data, size_t size_bytes)
{
    void *copy;

    if (size_bytes == SIZE_MAX)
        return NULL;
    /* Not aligned: thousands of short strings would pay for it. */
    copy = take(arena, size_bytes + 1, 1);
    if (copy != NULL && size_bytes > 0)
        memcpy(copy, data, size_bytes);
    return copy;
}
