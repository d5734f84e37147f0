#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "alloc.h"
#include "chunkhead.h"
#include "io.h"
#include "vec.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define CHUNKS_MAX ((size_t)1 << 26)
/* A file that does not begin with the magic is searched for a header only so far: behind a first
 * chunk of any size there must be another one. */
#define FOREIGN_SEARCH_BYTES ((uint64_t)CAIRN_CHUNK_MAX_BYTES + 2 * CAIRN_HEADER_BYTES)

struct chunk {
    struct cairn_chunk_info info;
    uint64_t payload_hash;
    bool damaged; /* and counted */
};

struct cairn_reader {
    int fd;
    CAIRN_VEC(struct chunk) chunks;
    struct cairn_reader_stats stats;
    uint64_t next_number;  /* one behind that of the last chunk seen */
    uint64_t whole_bytes;  /* end of the last whole chunk */
    uint64_t search_bytes; /* from here on no header was looked for yet */
    uint64_t closed_hole_bytes;
    struct cairn_buf window, stored;
    ZSTD_DCtx *zstd;
};

static int fail_read(int sys, struct cairn_err *err)
{
    return cairn_err_set(err, cairn_err_from_errno(sys), -sys, "reader",
                         "cannot read the recording");
}

/* Fills `buf` with up to `size_bytes` of the file from `offset`. 0 or a negative code; fewer bytes
 * at the end of the file. */
static int read_piece(struct cairn_reader *reader, uint64_t offset, size_t size_bytes,
                      struct cairn_buf *buf, struct cairn_err *err)
{
    ssize_t got;

    cairn_buf_clear(buf);
    if (cairn_buf_reserve(buf, size_bytes) < 0)
        return cairn_err_set(err, buf->code, 0, "reader", "cannot read the recording");
    if (size_bytes == 0)
        return 0;
    got = cairn_io_pread(reader->fd, buf->data, size_bytes, offset);
    if (got < 0)
        return fail_read((int)got, err);
    buf->size_bytes = (size_t)got;
    return 0;
}

/* Takes the header at `bytes`, which stands at `offset`, into the list if a whole chunk is there
 * that can be the next one. 1: yes; 0: no; -CAIRN_ETOONEW or another failure. */
static int take_chunk(struct cairn_reader *reader, const uint8_t *bytes, uint64_t offset)
{
    struct cairn_reader_stats *stats = &reader->stats;
    struct cairn_chunkhead head;
    struct chunk *chunk;
    int code = cairn_chunkhead_decode(bytes, &head);

    if (code == -CAIRN_EDAMAGED)
        return 0;
    if (code < 0)
        return code;
    /* Of another file, or a number that was there already: bytes that look like a chunk, from
     * inside a payload or from what the disk held before. */
    if (stats->file_id != 0 && head.file_id != stats->file_id)
        return 0;
    if (head.number < reader->next_number || head.number == UINT64_MAX)
        return 0;
    if (head.stored_bytes > stats->file_bytes - offset - CAIRN_HEADER_BYTES)
        return 0;

    CAIRN_TRY(cairn_vec_reserve(&reader->chunks, reader->chunks.count + 1, CHUNKS_MAX));
    chunk = &reader->chunks.items[reader->chunks.count++];
    *chunk = (struct chunk){
        .info = {.offset = offset,
                 .number = head.number,
                 .writer = head.writer,
                 .kind = head.kind,
                 .flags = head.flags,
                 .stored_bytes = head.stored_bytes,
                 .raw_bytes = head.raw_bytes,
                 .first_ns = head.first_ns,
                 .last_ns = head.last_ns,
                 .track_mask = head.track_mask,
                 .understood = head.kind == CAIRN_CHUNK_DATA || head.kind == CAIRN_CHUNK_END},
        .payload_hash = head.payload_hash,
    };
    stats->file_id = head.file_id;
    stats->jumped_chunks += head.number - reader->next_number;
    stats->skipped_chunks += !chunk->info.understood;
    stats->ended |= head.kind == CAIRN_CHUNK_END;
    reader->next_number = head.number + 1;
    reader->closed_hole_bytes += offset - reader->whole_bytes;
    reader->whole_bytes = offset + CAIRN_HEADER_BYTES + head.stored_bytes;
    reader->search_bytes = reader->whole_bytes;
    return 1;
}

/* Looks at every place where a header could start, from search_bytes on, in one window of the
 * file. 1: a chunk was taken; 0: none in it, search_bytes moved on or the end is reached. */
static int search_window(struct cairn_reader *reader, uint64_t offset, struct cairn_span window)
{
    size_t at = 0;

    while (window.size_bytes - at >= CAIRN_HEADER_BYTES) {
        /* Only where the magic stands: hashing 80 bytes at each place would take minutes. */
        const uint8_t *found = memchr(window.data + at, CAIRN_MAGIC[0] & 0xff,
                                      window.size_bytes - at - CAIRN_HEADER_BYTES + 1);
        int code;

        if (found == NULL)
            break;
        at = (size_t)(found - window.data);
        code = take_chunk(reader, found, offset + at);
        if (code != 0)
            return code;
        at++;
    }
    if (window.size_bytes >= CAIRN_HEADER_BYTES)
        reader->search_bytes = offset + window.size_bytes - CAIRN_HEADER_BYTES + 1;
    return 0;
}

/* In an undamaged file every chunk starts where the one before ends, so that one small read finds
 * it; only where it does not is a window read and searched. */
static int scan(struct cairn_reader *reader, uint64_t stop_bytes, struct cairn_err *err)
{
    for (;;) {
        uint64_t offset = reader->search_bytes;
        size_t want_bytes = offset == reader->whole_bytes ? CAIRN_HEADER_BYTES : WINDOW_BYTES;
        uint64_t left_bytes = reader->stats.file_bytes - offset;
        int code;

        if (left_bytes < CAIRN_HEADER_BYTES || offset >= stop_bytes)
            return 0;
        if (want_bytes > left_bytes)
            want_bytes = (size_t)left_bytes;
        CAIRN_TRY(read_piece(reader, offset, want_bytes, &reader->window, err));
        if (reader->window.size_bytes < CAIRN_HEADER_BYTES)
            return 0; /* cut since its size was asked for */
        code = search_window(reader, offset, cairn_buf_span(&reader->window));
        if (code == -CAIRN_ETOONEW)
            return cairn_err_set(err, code, 0, "reader", "the recording is of a newer format");
        if (code < 0)
            return cairn_err_set(err, code, 0, "reader", "cannot list the recording's parts");
    }
}

int cairn_reader_refresh(struct cairn_reader *reader, struct cairn_err *err)
{
    struct cairn_reader_stats *stats = &reader->stats;
    size_t count_before = reader->chunks.count;
    struct stat info;
    size_t added;

    if (fstat(reader->fd, &info) < 0)
        return fail_read(-errno, err);
    if ((uint64_t)info.st_size < reader->whole_bytes)
        return cairn_err_set(err, -CAIRN_EDAMAGED, 0, "reader",
                             "the recording was cut while it was read");
    stats->file_bytes = (uint64_t)info.st_size;
    if (reader->search_bytes > stats->file_bytes)
        reader->search_bytes = reader->whole_bytes;
    /* A header that holds at the very end may only have waited for its payload. */
    if (reader->search_bytes > reader->whole_bytes)
        reader->search_bytes = reader->whole_bytes;
    CAIRN_TRY(scan(reader, UINT64_MAX, err));
    stats->jumped_bytes = reader->closed_hole_bytes + stats->file_bytes - reader->whole_bytes;
    added = reader->chunks.count - count_before;
    return added > INT32_MAX ? INT32_MAX : (int)added;
}

static int begin(struct cairn_reader *reader, struct cairn_err *err)
{
    uint8_t magic[CAIRN_MAGIC_BYTES];
    struct stat info;
    ssize_t got;

    if (fstat(reader->fd, &info) < 0)
        return fail_read(-errno, err);
    if (!S_ISREG(info.st_mode))
        return cairn_err_set(err, -CAIRN_EFOREIGN, 0, "reader",
                             S_ISDIR(info.st_mode)
                                 ? "a folder is no recording"
                                 : "a pipe or device is no recording: one is read several times");
    reader->stats.file_bytes = (uint64_t)info.st_size;
    got = cairn_io_pread(reader->fd, magic, sizeof(magic), 0);
    if (got < 0)
        return fail_read((int)got, err);
    if (memcmp(magic, CAIRN_MAGIC, (size_t)got) != 0) {
        CAIRN_TRY(scan(reader, FOREIGN_SEARCH_BYTES, err));
        if (reader->chunks.count == 0)
            return cairn_err_set(err, -CAIRN_EFOREIGN, 0, "reader", "this is not a recording");
    }
    CAIRN_TRY(cairn_reader_refresh(reader, err));
    if (reader->chunks.count == 0)
        return cairn_err_set(err, -CAIRN_EDAMAGED, 0, "reader",
                             reader->stats.file_bytes == 0
                                 ? "the file is empty"
                                 : "not one part of the recording is whole");
    return 0;
}

/* Takes `fd` over, also when it fails. */
static int open_owned(int fd, struct cairn_reader **ret_reader, struct cairn_err *err)
{
    struct cairn_reader *reader = cairn_calloc(1, sizeof(*reader));
    int code;

    if (reader == NULL) {
        cairn_io_close(&fd);
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "reader", "cannot read the recording");
    }
    reader->fd = fd;
    cairn_buf_init(&reader->window, WINDOW_BYTES);
    cairn_buf_init(&reader->stored, CAIRN_CHUNK_MAX_BYTES);
    reader->zstd = ZSTD_createDCtx();
    if (reader->zstd == NULL)
        code = cairn_err_set(err, -CAIRN_ENOMEM, 0, "reader", "cannot read the recording");
    else
        code = begin(reader, err);
    if (code < 0) {
        cairn_reader_free(reader);
        return code;
    }
    *ret_reader = reader;
    return 0;
}

int cairn_reader_open(const char *path, struct cairn_reader **ret_reader, struct cairn_err *err)
{
    /* Not blocking: a pipe of that name is to be refused, not waited for. */
    int fd = cairn_io_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

    if (fd < 0)
        return cairn_err_set(err, cairn_err_from_errno(fd), -fd, "reader", "cannot open %s", path);
    return open_owned(fd, ret_reader, err);
}

int cairn_reader_open_fd(int fd, struct cairn_reader **ret_reader, struct cairn_err *err)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    return own < 0 ? fail_read(-errno, err) : open_owned(own, ret_reader, err);
}

void cairn_reader_free(struct cairn_reader *reader)
{
    if (reader == NULL)
        return;
    cairn_io_close(&reader->fd);
    cairn_vec_release(&reader->chunks);
    cairn_buf_release(&reader->window);
    cairn_buf_release(&reader->stored);
    ZSTD_freeDCtx(reader->zstd);
    free(reader);
}

int cairn_reader_fd(const struct cairn_reader *reader)
{
    return reader->fd;
}

size_t cairn_reader_chunk_count(const struct cairn_reader *reader)
{
    return reader->chunks.count;
}

const struct cairn_chunk_info *cairn_reader_chunk(const struct cairn_reader *reader, size_t index)
{
    return index < reader->chunks.count ? &reader->chunks.items[index].info : NULL;
}

const struct cairn_reader_stats *cairn_reader_stats(const struct cairn_reader *reader)
{
    return &reader->stats;
}

/* A page of an agent: what is behind its commit counter was being written and is not looked at. */
static int unpack_unsealed(struct cairn_buf *buf, struct cairn_span *ret_sections)
{
    struct cairn_cursor cur;
    uint64_t committed_bytes;

    cairn_cursor_init(&cur, cairn_buf_span(buf));
    if (cairn_cursor_u64(&cur, &committed_bytes) < 0)
        return -CAIRN_EDAMAGED;
    if (committed_bytes == 0) {
        *ret_sections = (struct cairn_span){NULL, 0};
        return 0;
    }
    return cairn_cursor_take(&cur, committed_bytes, ret_sections) < 0 ? -CAIRN_EDAMAGED : 0;
}

static int unpack(struct cairn_reader *reader, const struct chunk *chunk, struct cairn_buf *buf,
                  struct cairn_span *ret_sections)
{
    const struct cairn_chunk_info *info = &chunk->info;
    struct cairn_buf *stored = &reader->stored;
    unsigned long long said_bytes;
    size_t got_bytes;

    if (stored->size_bytes < info->stored_bytes)
        return -CAIRN_EDAMAGED;
    if (!(info->flags & CAIRN_FLAG_UNSEALED) &&
        XXH3_64bits(stored->data, stored->size_bytes) != chunk->payload_hash)
        return -CAIRN_EDAMAGED;

    cairn_buf_clear(buf);
    if (info->flags & (CAIRN_FLAG_PLAIN | CAIRN_FLAG_UNSEALED)) {
        if (info->raw_bytes != info->stored_bytes)
            return -CAIRN_EDAMAGED;
        CAIRN_TRY(cairn_buf_add(buf, stored->data, stored->size_bytes));
        if (info->flags & CAIRN_FLAG_UNSEALED)
            return unpack_unsealed(buf, ret_sections);
        *ret_sections = cairn_buf_span(buf);
        return 0;
    }
    /* The frame must say the same as the header before a byte is asked for on their word. */
    said_bytes = ZSTD_getFrameContentSize(stored->data, stored->size_bytes);
    if (said_bytes != info->raw_bytes)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_buf_reserve(buf, info->raw_bytes));
    got_bytes = ZSTD_decompressDCtx(reader->zstd, buf->data, info->raw_bytes, stored->data,
                                    stored->size_bytes);
    if (got_bytes != info->raw_bytes) /* an error is a number above all sizes */
        return -CAIRN_EDAMAGED;
    buf->size_bytes = got_bytes;
    *ret_sections = cairn_buf_span(buf);
    return 0;
}

int cairn_reader_load(struct cairn_reader *reader, size_t index, struct cairn_buf *buf,
                      struct cairn_span *ret_sections, struct cairn_err *err)
{
    struct chunk *chunk;
    int code;

    if (index >= reader->chunks.count)
        return cairn_err_set(err, -CAIRN_EEND, 0, "reader", "the recording has no such part");
    chunk = &reader->chunks.items[index];
    CAIRN_TRY(read_piece(reader, chunk->info.offset + CAIRN_HEADER_BYTES, chunk->info.stored_bytes,
                         &reader->stored, err));
    code = unpack(reader, chunk, buf, ret_sections);
    if (code == 0)
        return 0;
    if (code == -CAIRN_EDAMAGED && !chunk->damaged) {
        chunk->damaged = true;
        reader->stats.damaged_chunks++;
    }
    return cairn_err_set(err, code, 0, "reader", "cannot unpack a part of the recording");
}
