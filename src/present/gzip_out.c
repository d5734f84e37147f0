#include "gzip_out.h"

#define GZIP_WINDOW (15 + 16) /* the largest window, gzip around it */
#define PIECE_BYTES ((size_t)64 << 10)

int cairn_gzip_open(struct cairn_gzip *gzip, int level, struct cairn_outlet *out)
{
    *gzip = (struct cairn_gzip){.out = out};
    if (deflateInit2(&gzip->stream, level, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -CAIRN_ENOMEM;
    return 0;
}

/* Compresses straight into the outlet's buffer until the input is used up. */
static int pump(struct cairn_gzip *gzip, int flush)
{
    struct cairn_buf *buf = &gzip->out->buf;
    int state;

    do {
        CAIRN_TRY(cairn_buf_reserve(buf, PIECE_BYTES));
        gzip->stream.next_out = buf->data + buf->size_bytes;
        gzip->stream.avail_out = PIECE_BYTES;
        state = deflate(&gzip->stream, flush);
        buf->size_bytes += PIECE_BYTES - gzip->stream.avail_out;
        CAIRN_TRY(cairn_outlet_drain(gzip->out));
    } while (flush == Z_FINISH ? state != Z_STREAM_END : gzip->stream.avail_in > 0);
    return 0;
}

int cairn_gzip_add(struct cairn_gzip *gzip, const void *data, size_t size_bytes)
{
    const uint8_t *next = data;

    while (size_bytes > 0) {
        uInt piece = size_bytes > PIECE_BYTES ? PIECE_BYTES : (uInt)size_bytes;

        gzip->stream.next_in = (Bytef *)(uintptr_t)next; /* zlib does not write there */
        gzip->stream.avail_in = piece;
        CAIRN_TRY(pump(gzip, Z_NO_FLUSH));
        next += piece;
        size_bytes -= piece;
    }
    return 0;
}

int cairn_gzip_close(struct cairn_gzip *gzip, int code)
{
    if (code == 0)
        code = pump(gzip, Z_FINISH);
    deflateEnd(&gzip->stream);
    return code;
}
