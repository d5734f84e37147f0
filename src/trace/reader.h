/* reader.h: opens a recording, finds its chunks, hands out their sections.
 *
 * Opening scans headers only. Behind a bad chunk the reader goes to the next header that holds
 * and counts what it jumped; END of data, damaged, too new and foreign are four different
 * answers. A file that is still being written can be followed: cairn_reader_refresh().
 * Owner: the reader owns the descriptors; spans of a section borrow the buffer the chunk was
 * loaded into. Threads: one per reader.
 */
#ifndef CAIRN_READER_H
#define CAIRN_READER_H

#include "buf.h"
#include "err.h"
#include "wire.h"

struct cairn_reader; /* opaque: one file */

struct cairn_chunk_info {
    uint64_t offset, number; /* place in the file, running number */
    uint32_t writer;
    uint16_t kind, flags;
    uint32_t stored_bytes, raw_bytes;
    uint64_t first_ns, last_ns; /* first > last: no time */
    uint64_t track_mask;
    bool understood; /* false: of a kind this reader may skip */
};

struct cairn_reader_stats {
    uint64_t file_bytes;
    uint64_t jumped_bytes;  /* not part of any whole chunk, a torn tail included */
    uint64_t jumped_chunks; /* running numbers that are missing before the last one seen */
    uint64_t skipped_chunks, skipped_sections; /* of kinds not known here that may be skipped */
    uint64_t damaged_chunks;                   /* header holds, payload does not */
    bool ended;                                /* closed on purpose: an END chunk is there */
    uint64_t file_id;
};

/* -CAIRN_EFOREIGN: not a recording; -CAIRN_ETOONEW; -CAIRN_EDAMAGED: not one chunk holds (an empty
 * file, or one cut inside its first chunk, among them). */
int cairn_reader_open(const char *path, struct cairn_reader **ret_reader, struct cairn_err *err);
int cairn_reader_open_fd(int fd, struct cairn_reader **ret_reader,
                         struct cairn_err *err); /* dups */
void cairn_reader_free(struct cairn_reader *reader);

/* Borrowed: for another reader of the same file. */
int cairn_reader_fd(const struct cairn_reader *reader);

/* Looks for chunks that were appended since; number of new ones, or a negative code. */
int cairn_reader_refresh(struct cairn_reader *reader, struct cairn_err *err);

size_t cairn_reader_chunk_count(const struct cairn_reader *reader);
/* Borrowed until the next refresh; NULL past the last. */
const struct cairn_chunk_info *cairn_reader_chunk(const struct cairn_reader *reader, size_t index);
const struct cairn_reader_stats *cairn_reader_stats(const struct cairn_reader *reader);

/* Checks and unpacks chunk `index` into `buf` (cleared first); a damaged payload is counted once
 * and answered with -CAIRN_EDAMAGED: go on with the next chunk. */
int cairn_reader_load(struct cairn_reader *reader, size_t index, struct cairn_buf *buf,
                      struct cairn_span *ret_sections, struct cairn_err *err);

struct cairn_section {
    uint32_t kind; /* enum cairn_section_kind */
    bool must;
    struct cairn_span bytes;
};

/* 0, -CAIRN_EEND behind the last section, -CAIRN_EDAMAGED. A section of unknown kind with the
 * must bit is -CAIRN_ETOONEW; without it, it is passed over and counted in *ret_skipped. */
int cairn_section_next(struct cairn_cursor *cur, struct cairn_section *ret_section,
                       uint64_t *ret_skipped);

#endif
