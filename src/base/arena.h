/* arena.h: memory that is given back all at once.
 *
 * Owner: the arena owns every block until cairn_arena_release(); nothing is freed alone. Memory
 * handed out is zeroed and never moves. `max_bytes` bounds the sum of what is handed out, each
 * rounded up to 16 (a dup: with its NUL, not rounded). Threads: one at a time.
 */
#ifndef CAIRN_ARENA_H
#define CAIRN_ARENA_H

#include <stddef.h>

struct cairn_arena_block;

struct cairn_arena {
    struct cairn_arena_block *blocks;
    size_t used_bytes, max_bytes;
};

void cairn_arena_init(struct cairn_arena *arena, size_t max_bytes);
void cairn_arena_release(struct cairn_arena *arena);

/* Zeroed, aligned to 16 bytes; NULL when memory or the ceiling is reached. */
void *cairn_arena_alloc(struct cairn_arena *arena, size_t size_bytes);

/* A copy with a NUL behind it, not aligned; NULL as above. */
void *cairn_arena_dup(struct cairn_arena *arena, const void *data, size_t size_bytes);

#endif
