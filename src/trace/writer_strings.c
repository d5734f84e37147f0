#include "writer_strings.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "alloc.h"
#include "err.h"

#define TEXT_MAX_BYTES ((size_t)1 << 30) /* all that are kept */
#define BLOCKS_MAX ((size_t)UINT32_MAX / CAIRN_STRING_BLOCK)

void cairn_writer_strings_init(struct cairn_writer_strings *strings)
{
    *strings = (struct cairn_writer_strings){.count = 1};
    cairn_map_init(&strings->blocks, BLOCKS_MAX);
    cairn_idset_init(&strings->ids);
}

static struct cairn_string_block *block_of(uint64_t value)
{
    return (struct cairn_string_block *)(uintptr_t)value;
}

void cairn_writer_strings_release(struct cairn_writer_strings *strings)
{
    uint64_t number, none, block;
    size_t at = 0;

    while (cairn_map_next(&strings->blocks, &at, &number, &none, &block)) {
        for (size_t i = 0; i < CAIRN_STRING_BLOCK; i++)
            free(block_of(block)->items[i].bytes);
        free(block_of(block));
    }
    cairn_map_release(&strings->blocks);
    cairn_idset_release(&strings->ids);
}

/* NULL: it went, or its block was never made. */
static struct cairn_kept_string *find(const struct cairn_writer_strings *strings, uint32_t id)
{
    struct cairn_kept_string *kept;
    uint64_t block;

    if (!cairn_map_get(&strings->blocks, id / CAIRN_STRING_BLOCK, 0, &block))
        return NULL;
    kept = &block_of(block)->items[id % CAIRN_STRING_BLOCK];
    return kept->bytes ? kept : NULL;
}

static uint64_t hash_of(const struct cairn_writer_strings *strings, struct cairn_span bytes)
{
    return XXH3_64bits_withSeed(bytes.data, bytes.size_bytes, strings->ids.seed);
}

static uint32_t find_alike(const struct cairn_writer_strings *strings, struct cairn_span bytes,
                           uint64_t hash)
{
    size_t at;
    uint32_t id = cairn_idset_first(&strings->ids, hash, &at);

    for (; id != 0; id = cairn_idset_next(&strings->ids, hash, &at)) {
        const struct cairn_kept_string *kept = find(strings, id);

        if (kept->size_bytes == bytes.size_bytes &&
            memcmp(kept->bytes, bytes.data, bytes.size_bytes) == 0)
            break;
    }
    return id;
}

/* The block of the next id. */
static int open_block(struct cairn_writer_strings *strings, struct cairn_string_block **ret_block)
{
    uint64_t number = strings->count / CAIRN_STRING_BLOCK, known;
    struct cairn_string_block *block;
    int code;

    if (cairn_map_get(&strings->blocks, number, 0, &known)) {
        *ret_block = block_of(known);
        return 0;
    }
    block = cairn_calloc(1, sizeof(*block));
    if (!block)
        return -CAIRN_ENOMEM;
    code = cairn_map_put(&strings->blocks, number, 0, (uintptr_t)block);
    if (code < 0)
        free(block);
    else
        *ret_block = block;
    return code;
}

static int add_new(struct cairn_writer_strings *strings, struct cairn_span bytes, uint64_t hash)
{
    uint32_t id = (uint32_t)strings->count;
    struct cairn_string_block *block;
    uint8_t *copy;
    int code;

    if (bytes.size_bytes > TEXT_MAX_BYTES - strings->used_bytes || strings->count == UINT32_MAX)
        return -CAIRN_ELIMIT;
    CAIRN_TRY(open_block(strings, &block));
    copy = cairn_malloc(bytes.size_bytes);
    if (!copy)
        return -CAIRN_ENOMEM;
    code = cairn_idset_add(&strings->ids, hash, id);
    if (code < 0) {
        free(copy);
        return code;
    }
    memcpy(copy, bytes.data, bytes.size_bytes);
    block->items[id % CAIRN_STRING_BLOCK] =
        (struct cairn_kept_string){.bytes = copy, .size_bytes = (uint32_t)bytes.size_bytes};
    strings->used_bytes += bytes.size_bytes;
    strings->count++;
    return 0;
}

int cairn_writer_strings_add(struct cairn_writer_strings *strings, struct cairn_span bytes,
                             bool lasting, uint32_t *ret_id)
{
    uint64_t hash;
    uint32_t id;

    *ret_id = 0;
    if (bytes.size_bytes == 0)
        return 0;
    hash = hash_of(strings, bytes);
    id = find_alike(strings, bytes, hash);
    if (!id) {
        id = (uint32_t)strings->count;
        CAIRN_TRY(add_new(strings, bytes, hash));
    }
    find(strings, id)->lasting |= lasting;
    *ret_id = id;
    return 0;
}

struct cairn_span cairn_writer_strings_get(const struct cairn_writer_strings *strings, uint32_t id)
{
    const struct cairn_kept_string *kept = find(strings, id);

    return kept ? (struct cairn_span){kept->bytes, kept->size_bytes}
                : (struct cairn_span){(const uint8_t *)"", 0};
}

uint32_t *cairn_writer_strings_stamp(const struct cairn_writer_strings *strings, uint32_t id)
{
    struct cairn_kept_string *kept = find(strings, id);

    return kept ? &kept->stamp : NULL;
}

void cairn_writer_strings_hold(struct cairn_writer_strings *strings, uint32_t id)
{
    struct cairn_kept_string *kept = find(strings, id);

    if (!kept)
        return;
    kept->tracks++;
    if (kept->idle)
        strings->idle[kept->idle - 1] = 0;
    kept->idle = 0;
}

static void drop(struct cairn_writer_strings *strings, uint32_t id)
{
    struct cairn_kept_string *kept = find(strings, id);
    uint64_t number = id / CAIRN_STRING_BLOCK, block = 0;

    if (!kept)
        return;
    kept->idle = 0;
    if (kept->lasting)
        return;
    cairn_idset_remove(&strings->ids,
                       hash_of(strings, (struct cairn_span){kept->bytes, kept->size_bytes}), id);
    strings->used_bytes -= kept->size_bytes;
    free(kept->bytes);
    kept->bytes = NULL;
    cairn_map_get(&strings->blocks, number, 0, &block);
    if (++block_of(block)->gone == CAIRN_STRING_BLOCK) {
        cairn_map_remove(&strings->blocks, number, 0);
        free(block_of(block));
    }
}

void cairn_writer_strings_let_go(struct cairn_writer_strings *strings, uint32_t id)
{
    struct cairn_kept_string *kept = find(strings, id);

    if (!kept || --kept->tracks || kept->lasting)
        return;
    drop(strings, strings->idle[strings->idle_next]);
    strings->idle[strings->idle_next] = id;
    kept->idle = (uint32_t)strings->idle_next + 1;
    strings->idle_next = (strings->idle_next + 1) % CAIRN_STRINGS_IDLE;
}
