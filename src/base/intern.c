#include "intern.h"

#include <string.h>
#include <xxhash.h>

#include "err.h"

int cairn_intern_init(struct cairn_intern *table, size_t max_bytes)
{
    memset(table, 0, sizeof(*table));
    cairn_arena_init(&table->arena, max_bytes);
    cairn_idset_init(&table->ids);
    CAIRN_TRY(cairn_vec_reserve(&table->strings, 1, UINT32_MAX));
    table->strings.items[0] = (struct cairn_span){(const uint8_t *)"", 0};
    table->strings.count = 1;
    return 0;
}

void cairn_intern_release(struct cairn_intern *table)
{
    cairn_vec_release(&table->strings);
    cairn_idset_release(&table->ids);
    cairn_arena_release(&table->arena);
}

/* The id of the bytes, or 0. */
static uint32_t find(const struct cairn_intern *table, struct cairn_span bytes, uint64_t hash)
{
    size_t at;
    uint32_t id = cairn_idset_first(&table->ids, hash, &at);

    for (; id != 0; id = cairn_idset_next(&table->ids, hash, &at)) {
        struct cairn_span known = table->strings.items[id];

        if (known.size_bytes == bytes.size_bytes &&
            memcmp(known.data, bytes.data, bytes.size_bytes) == 0)
            break;
    }
    return id;
}

int cairn_intern_add(struct cairn_intern *table, struct cairn_span bytes, uint32_t *ret_id)
{
    struct cairn_arena *arena = &table->arena;
    size_t id = table->strings.count;
    uint64_t hash;
    uint32_t known;
    uint8_t *copy;

    if (bytes.size_bytes == 0) {
        *ret_id = 0;
        return 0;
    }
    hash = XXH3_64bits_withSeed(bytes.data, bytes.size_bytes, table->ids.seed);
    known = find(table, bytes, hash);
    if (known != 0) {
        *ret_id = known;
        return 0;
    }
    if (bytes.size_bytes >= arena->max_bytes - arena->used_bytes)
        return -CAIRN_ELIMIT;

    /* What can fail comes first and the count last: a failure may cost bytes of the arena, but
     * leaves no id without its string. */
    CAIRN_TRY(cairn_vec_reserve(&table->strings, id + 1, UINT32_MAX));
    copy = cairn_arena_dup(arena, bytes.data, bytes.size_bytes);
    if (copy == NULL)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(cairn_idset_add(&table->ids, hash, (uint32_t)id));
    table->strings.items[id] = (struct cairn_span){copy, bytes.size_bytes};
    table->strings.count = id + 1;
    *ret_id = (uint32_t)id;
    return 0;
}

int cairn_intern_str(struct cairn_intern *table, const char *str, uint32_t *ret_id)
{
    return cairn_intern_add(table, (struct cairn_span){(const uint8_t *)str, strlen(str)}, ret_id);
}

struct cairn_span cairn_intern_get(const struct cairn_intern *table, uint32_t id)
{
    static const struct cairn_span empty = {(const uint8_t *)"", 0};

    return id < table->strings.count ? table->strings.items[id] : empty;
}

size_t cairn_intern_count(const struct cairn_intern *table)
{
    return table->strings.count;
}
