#include "zipin.h"

#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "buf.h"
#include "err.h"

#define END_BYTES ((size_t)22)
#define END_MAX_BYTES (END_BYTES + 65535)
#define ENTRY_BYTES ((size_t)46)
#define LOCAL_BYTES ((size_t)30)
#define LINE_MAX_BYTES ((size_t)1 << 20)
#define UNPACKED_MAX_BYTES ((uint64_t)2 << 30)
#define PIECE_BYTES ((size_t)64 << 10)
#define ENCRYPTED 1u
#define STORED 0u
#define DEFLATED 8u

static uint32_t u16(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t u32(const uint8_t *at)
{
    return u16(at) | u16(at + 2) << 16;
}

/* Where the list of files is: what the record at the end says, the last that may be one. */
static bool find_list(struct cairn_span archive, struct cairn_span *ret_list)
{
    size_t least = archive.size_bytes > END_MAX_BYTES ? archive.size_bytes - END_MAX_BYTES : 0;

    for (size_t at = archive.size_bytes; at >= least + END_BYTES; at--) {
        const uint8_t *end = archive.data + at - END_BYTES;

        if (memcmp(end, "PK\5\6", 4) == 0) {
            uint32_t size_bytes = u32(end + 12), offset = u32(end + 16);

            if (offset > archive.size_bytes || size_bytes > archive.size_bytes - offset)
                return false;
            *ret_list = (struct cairn_span){archive.data + offset, size_bytes};
            return true;
        }
    }
    return false;
}

/* The bytes of the file that an entry of the list tells of. */
static int locate(struct cairn_span archive, const uint8_t *entry, struct cairn_zipin_file *file)
{
    uint32_t method = u16(entry + 10), size_bytes = u32(entry + 20), offset = u32(entry + 42);
    const uint8_t *local = archive.data + offset;
    size_t from;

    if (u16(entry + 8) & ENCRYPTED || (method != STORED && method != DEFLATED))
        return -CAIRN_EFOREIGN;
    if (offset > archive.size_bytes || archive.size_bytes - offset < LOCAL_BYTES ||
        memcmp(local, "PK\3\4", 4) != 0)
        return -CAIRN_EDAMAGED;
    from = offset + LOCAL_BYTES + u16(local + 26) + u16(local + 28);
    if (from > archive.size_bytes || size_bytes > archive.size_bytes - from)
        return -CAIRN_EDAMAGED;
    *file = (struct cairn_zipin_file){.packed = {archive.data + from, size_bytes},
                                      .is_deflated = method == DEFLATED,
                                      .crc = u32(entry + 16)};
    return 1;
}

int cairn_zipin_find(struct cairn_span archive, const char *name, struct cairn_zipin_file *ret_file)
{
    struct cairn_span list;

    if (!find_list(archive, &list))
        return -CAIRN_EDAMAGED;
    while (list.size_bytes >= ENTRY_BYTES && memcmp(list.data, "PK\1\2", 4) == 0) {
        size_t named = u16(list.data + 28);
        size_t whole = ENTRY_BYTES + named + u16(list.data + 30) + u16(list.data + 32);

        if (whole > list.size_bytes)
            return -CAIRN_EDAMAGED;
        if (named == strlen(name) &&
            strncasecmp((const char *)list.data + ENTRY_BYTES, name, named) == 0)
            return locate(archive, list.data, ret_file);
        list.data += whole;
        list.size_bytes -= whole;
    }
    return 0;
}

struct lines {
    struct cairn_buf line;
    int (*take)(void *context, struct cairn_span line);
    void *context;
    uint64_t size_bytes;
    uLong crc;
};

static int end_line(struct lines *lines)
{
    struct cairn_span line = cairn_buf_span(&lines->line);

    if (line.size_bytes > 0 && line.data[line.size_bytes - 1] == '\r')
        line.size_bytes--;
    CAIRN_TRY(lines->take(lines->context, line));
    cairn_buf_clear(&lines->line);
    return 0;
}

static int take_piece(struct lines *lines, const uint8_t *data, size_t size_bytes)
{
    lines->crc = crc32(lines->crc, data, (uInt)size_bytes);
    lines->size_bytes += size_bytes;
    if (lines->size_bytes > UNPACKED_MAX_BYTES)
        return -CAIRN_ELIMIT;
    while (size_bytes > 0) {
        const uint8_t *end = memchr(data, '\n', size_bytes);
        size_t part = end ? (size_t)(end - data) : size_bytes;

        CAIRN_TRY(cairn_buf_add(&lines->line, data, part));
        if (end)
            CAIRN_TRY(end_line(lines));
        part += end != NULL;
        data += part;
        size_bytes -= part;
    }
    return 0;
}

static int inflate_all(struct lines *lines, struct cairn_span packed)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed.data,
                       .avail_in = (uInt)packed.size_bytes};
    uint8_t piece[PIECE_BYTES];
    int state = Z_OK, code = 0;

    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return -CAIRN_ENOMEM;
    while (state != Z_STREAM_END && code == 0) {
        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        state = inflate(&stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END)
            code = state == Z_MEM_ERROR ? -CAIRN_ENOMEM : -CAIRN_EDAMAGED;
        else
            code = take_piece(lines, piece, sizeof(piece) - stream.avail_out);
    }
    inflateEnd(&stream);
    return code;
}

static int store_all(struct lines *lines, struct cairn_span bytes)
{
    for (size_t at = 0; at < bytes.size_bytes; at += PIECE_BYTES) {
        size_t left = bytes.size_bytes - at;

        CAIRN_TRY(take_piece(lines, bytes.data + at, left < PIECE_BYTES ? left : PIECE_BYTES));
    }
    return 0;
}

int cairn_zipin_lines(const struct cairn_zipin_file *file,
                      int (*take)(void *context, struct cairn_span line), void *context)
{
    struct lines lines = {.take = take, .context = context, .crc = crc32(0, NULL, 0)};
    int code;

    cairn_buf_init(&lines.line, LINE_MAX_BYTES);
    code = file->is_deflated ? inflate_all(&lines, file->packed) : store_all(&lines, file->packed);
    if (code == 0 && lines.line.size_bytes > 0)
        code = end_line(&lines);
    if (code == 0 && lines.crc != file->crc)
        code = -CAIRN_EDAMAGED;
    cairn_buf_release(&lines.line);
    return code;
}
