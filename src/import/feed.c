#include "feed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "alloc.h"
#include "io.h"

#define PIECE_BYTES ((size_t)256 << 10)
#define LINE_MAX_BYTES ((size_t)32 << 20)
/* A packed file that unpacks to more is a trap, or too much to read in reasonable time. */
#define UNPACKED_MAX_BYTES ((uint64_t)8 << 30)
#define GZIP_WINDOW (15 + 16)

struct cairn_feed_gzip {
    z_stream stream;
    uint8_t packed[64 << 10];
    bool between; /* one member has ended, the next has not begun */
};

static ssize_t read_packed(struct cairn_feed *feed, uint8_t *data, size_t size_bytes)
{
    ssize_t got;

    if (feed->fd < 0) {
        size_t left = feed->memory.size_bytes - (size_t)feed->offset_bytes;

        got = (ssize_t)(left < size_bytes ? left : size_bytes);
        if (got > 0)
            memcpy(data, feed->memory.data + feed->offset_bytes, (size_t)got);
    } else {
        got = cairn_io_pread(feed->fd, data, size_bytes, feed->offset_bytes);
    }
    if (got > 0)
        feed->offset_bytes += (uint64_t)got;
    if (feed->offset_bytes < feed->size_bytes)
        cairn_progress_tell(feed->progress,
                            feed->share * (double)feed->offset_bytes / (double)feed->size_bytes);
    return got < 0 ? cairn_err_from_errno((int)-got) : got;
}

/* Unpacks into the room there is. Bytes, 0 at the end, or a code. */
static ssize_t unpack(struct cairn_feed *feed, uint8_t *data, size_t size_bytes)
{
    struct cairn_feed_gzip *gzip = feed->gzip;
    z_stream *stream = &gzip->stream;

    stream->next_out = data;
    stream->avail_out = (uInt)size_bytes;
    while (stream->avail_out == size_bytes) {
        int state;

        if (stream->avail_in == 0) {
            ssize_t got = read_packed(feed, gzip->packed, sizeof(gzip->packed));

            if (got < 0)
                return got;
            if (got == 0)
                return gzip->between ? 0 : -CAIRN_EDAMAGED; /* cut off */
            stream->next_in = gzip->packed;
            stream->avail_in = (uInt)got;
        }
        if (gzip->between && inflateReset(stream) != Z_OK)
            return -CAIRN_EDAMAGED;
        gzip->between = false;
        state = inflate(stream, Z_NO_FLUSH);
        if (state == Z_STREAM_END)
            gzip->between = true;
        else if (state != Z_OK && state != Z_BUF_ERROR)
            return state == Z_MEM_ERROR ? -CAIRN_ENOMEM : -CAIRN_EDAMAGED;
    }
    return (ssize_t)(size_bytes - stream->avail_out);
}

static int grow(struct cairn_feed *feed, size_t cap_bytes)
{
    size_t next = (size_t)(feed->next - feed->data), end = (size_t)(feed->end - feed->data);
    uint8_t *data = cairn_realloc(feed->data, cap_bytes);

    if (!data)
        return -CAIRN_ENOMEM;
    feed->data = data;
    feed->next = data + next;
    feed->end = data + end;
    feed->cap_bytes = cap_bytes;
    return 0;
}

/* Room for a piece behind `end`, in a window of at most `max_bytes`. */
static int make_room(struct cairn_feed *feed, size_t max_bytes)
{
    size_t kept = (size_t)(feed->end - feed->next), cap = feed->cap_bytes;

    if (feed->next > feed->data) {
        feed->passed_bytes += (uint64_t)(feed->next - feed->data);
        memmove(feed->data, feed->next, kept);
        feed->next = feed->data;
        feed->end = feed->data + kept;
    }
    if (cap - kept >= PIECE_BYTES / 2)
        return 0;
    cap *= 2;
    return cap > max_bytes ? -CAIRN_ELIMIT : grow(feed, cap);
}

static int more(struct cairn_feed *feed, size_t max_bytes)
{
    size_t room;
    ssize_t got;

    if (feed->over)
        return -CAIRN_EEND;
    CAIRN_TRY(make_room(feed, max_bytes));
    room = feed->cap_bytes - (size_t)(feed->end - feed->data);
    got = feed->gzip ? unpack(feed, feed->end, room) : read_packed(feed, feed->end, room);
    if (got < 0) {
        feed->is_torn = got == -CAIRN_EDAMAGED;
        return (int)got;
    }
    feed->end += got;
    feed->over = got == 0;
    if (feed->gzip && feed->passed_bytes + (uint64_t)(feed->end - feed->data) > UNPACKED_MAX_BYTES)
        return -CAIRN_ELIMIT;
    return got == 0 ? -CAIRN_EEND : 0;
}

int cairn_feed_more(struct cairn_feed *feed)
{
    return more(feed, LINE_MAX_BYTES);
}

static void end_gzip(struct cairn_feed *feed)
{
    if (feed->gzip)
        inflateEnd(&feed->gzip->stream);
    free(feed->gzip);
    feed->gzip = NULL;
}

int cairn_feed_rewind(struct cairn_feed *feed)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf}; /* in front of UTF-8, as Windows has it */
    uint8_t magic[3];
    ssize_t got;

    end_gzip(feed);
    feed->offset_bytes = feed->passed_bytes = 0;
    feed->next = feed->end = feed->data;
    feed->over = false;
    got = read_packed(feed, magic, sizeof(magic));
    if (got < 0)
        return (int)got;
    feed->offset_bytes = 0;
    if (got == sizeof(mark) && memcmp(magic, mark, sizeof(mark)) == 0)
        feed->offset_bytes = feed->passed_bytes = sizeof(mark);
    if (got < 2 || magic[0] != 0x1f || magic[1] != 0x8b)
        return 0;
    feed->gzip = cairn_calloc(1, sizeof(*feed->gzip));
    if (!feed->gzip)
        return -CAIRN_ENOMEM;
    if (inflateInit2(&feed->gzip->stream, GZIP_WINDOW) == Z_OK)
        return 0;
    free(feed->gzip);
    feed->gzip = NULL;
    return -CAIRN_ENOMEM;
}

static int open_feed(struct cairn_feed *feed)
{
    CAIRN_TRY(grow(feed, PIECE_BYTES));
    return cairn_feed_rewind(feed);
}

int cairn_feed_open(struct cairn_feed *feed, int fd)
{
    struct stat info;

    *feed = (struct cairn_feed){.fd = fd, .share = 1};
    if (fstat(fd, &info) == 0 && info.st_size > 0)
        feed->size_bytes = (uint64_t)info.st_size;
    return open_feed(feed);
}

int cairn_feed_open_span(struct cairn_feed *feed, struct cairn_span bytes)
{
    *feed = (struct cairn_feed){.fd = -1, .memory = bytes, .share = 1};
    return open_feed(feed);
}

void cairn_feed_release(struct cairn_feed *feed)
{
    end_gzip(feed);
    free(feed->data);
    feed->data = feed->next = feed->end = NULL;
}

int cairn_feed_line(struct cairn_feed *feed, struct cairn_span *ret_line)
{
    size_t seen = 0;

    for (;;) {
        size_t left = (size_t)(feed->end - feed->next);
        uint8_t *end = left > seen ? memchr(feed->next + seen, '\n', left - seen) : NULL;
        int code;

        if (end) {
            *ret_line = (struct cairn_span){feed->next, (size_t)(end - feed->next)};
            feed->next = end + 1;
            break;
        }
        seen = left;
        code = cairn_feed_more(feed);
        if (code == 0)
            continue;
        if (code != -CAIRN_EEND || left == 0)
            return code;
        *ret_line = (struct cairn_span){feed->next, left};
        feed->next = feed->end;
        break;
    }
    if (ret_line->size_bytes > 0 && ret_line->data[ret_line->size_bytes - 1] == '\r')
        ret_line->size_bytes--;
    return 0;
}

int cairn_feed_rest(struct cairn_feed *feed, size_t max_bytes, struct cairn_span *ret_bytes)
{
    int code;

    while ((code = more(feed, 2 * max_bytes)) == 0)
        if ((size_t)(feed->end - feed->next) > max_bytes)
            return -CAIRN_ELIMIT;
    if (code != -CAIRN_EEND)
        return code;
    *ret_bytes = (struct cairn_span){feed->next, (size_t)(feed->end - feed->next)};
    feed->next = feed->end;
    return 0;
}

uint64_t cairn_feed_at(const struct cairn_feed *feed)
{
    return feed->passed_bytes + (uint64_t)(feed->next - feed->data);
}
