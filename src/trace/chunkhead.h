/* chunkhead.h: the header of a chunk, between its bytes (format.h) and a struct.
 *
 * Threads: no shared state.
 */
#ifndef CAIRN_CHUNKHEAD_H
#define CAIRN_CHUNKHEAD_H

#include <stdint.h>

#include "format.h"

struct cairn_chunkhead {
    uint64_t file_id, number;
    uint32_t writer;
    uint16_t kind, flags;
    uint32_t stored_bytes, raw_bytes;
    uint64_t first_ns, last_ns, track_mask;
    uint64_t payload_hash; /* XXH3-64 of the stored bytes; 0 with CAIRN_FLAG_UNSEALED */
};

void cairn_chunkhead_encode(const struct cairn_chunkhead *head,
                            uint8_t ret_bytes[CAIRN_HEADER_BYTES]);

/* 0; -CAIRN_EDAMAGED: no header is here (magic, checksum, or sizes that cannot be);
 * -CAIRN_ETOONEW: one is, and it says something a reader of this version must not pass over. */
int cairn_chunkhead_decode(const uint8_t bytes[CAIRN_HEADER_BYTES],
                           struct cairn_chunkhead *ret_head);

#endif
