#include "chunkhead.h"

#include <string.h>
#include <xxhash.h>

#include "err.h"

enum header_offset { /* the table in format.h */
                     AT_FILE_ID = 8,
                     AT_NUMBER = 16,
                     AT_WRITER = 24,
                     AT_KIND = 28,
                     AT_FLAGS = 30,
                     AT_STORED = 32,
                     AT_RAW = 36,
                     AT_FIRST = 40,
                     AT_LAST = 48,
                     AT_MASK = 56,
                     AT_VERSION = 64,
                     AT_RESERVED_MUST = 66,
                     AT_PAYLOAD_HASH = 72,
                     AT_HEADER_HASH = 80,
};

static void put(uint8_t *at, uint64_t value, unsigned width_bytes)
{
    for (unsigned i = 0; i < width_bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, unsigned width_bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < width_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

void cairn_chunkhead_encode(const struct cairn_chunkhead *head,
                            uint8_t ret_bytes[CAIRN_HEADER_BYTES])
{
    memset(ret_bytes, 0, CAIRN_HEADER_BYTES);
    memcpy(ret_bytes, CAIRN_MAGIC, CAIRN_MAGIC_BYTES);
    put(ret_bytes + AT_FILE_ID, head->file_id, 8);
    put(ret_bytes + AT_NUMBER, head->number, 8);
    put(ret_bytes + AT_WRITER, head->writer, 4);
    put(ret_bytes + AT_KIND, head->kind, 2);
    put(ret_bytes + AT_FLAGS, head->flags, 2);
    put(ret_bytes + AT_STORED, head->stored_bytes, 4);
    put(ret_bytes + AT_RAW, head->raw_bytes, 4);
    put(ret_bytes + AT_FIRST, head->first_ns, 8);
    put(ret_bytes + AT_LAST, head->last_ns, 8);
    put(ret_bytes + AT_MASK, head->track_mask, 8);
    put(ret_bytes + AT_VERSION, CAIRN_FORMAT_VERSION, 2);
    put(ret_bytes + AT_PAYLOAD_HASH, head->payload_hash, 8);
    put(ret_bytes + AT_HEADER_HASH, XXH3_64bits(ret_bytes, AT_HEADER_HASH), 8);
}

int cairn_chunkhead_decode(const uint8_t bytes[CAIRN_HEADER_BYTES],
                           struct cairn_chunkhead *ret_head)
{
    const uint16_t known_flags = CAIRN_FLAG_PLAIN | CAIRN_FLAG_UNSEALED;

    if (memcmp(bytes, CAIRN_MAGIC, CAIRN_MAGIC_BYTES) != 0)
        return -CAIRN_EDAMAGED;
    if (get(bytes + AT_HEADER_HASH, 8) != XXH3_64bits(bytes, AT_HEADER_HASH))
        return -CAIRN_EDAMAGED;
    if (get(bytes + AT_VERSION, 2) != CAIRN_FORMAT_VERSION || get(bytes + AT_RESERVED_MUST, 2) != 0)
        return -CAIRN_ETOONEW;

    *ret_head = (struct cairn_chunkhead){
        .file_id = get(bytes + AT_FILE_ID, 8),
        .number = get(bytes + AT_NUMBER, 8),
        .writer = (uint32_t)get(bytes + AT_WRITER, 4),
        .kind = (uint16_t)get(bytes + AT_KIND, 2),
        .flags = (uint16_t)get(bytes + AT_FLAGS, 2),
        .stored_bytes = (uint32_t)get(bytes + AT_STORED, 4),
        .raw_bytes = (uint32_t)get(bytes + AT_RAW, 4),
        .first_ns = get(bytes + AT_FIRST, 8),
        .last_ns = get(bytes + AT_LAST, 8),
        .track_mask = get(bytes + AT_MASK, 8),
        .payload_hash = get(bytes + AT_PAYLOAD_HASH, 8),
    };
    if (ret_head->flags & CAIRN_FLAGS_MUST & ~known_flags)
        return -CAIRN_ETOONEW;
    if (ret_head->kind & CAIRN_KIND_MUST && ret_head->kind != CAIRN_CHUNK_DATA)
        return -CAIRN_ETOONEW;
    if (ret_head->file_id == 0 || ret_head->stored_bytes > CAIRN_CHUNK_MAX_BYTES ||
        ret_head->raw_bytes > CAIRN_CHUNK_MAX_BYTES)
        return -CAIRN_EDAMAGED;
    return 0;
}
