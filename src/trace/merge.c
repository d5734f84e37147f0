#include "merge.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "alloc.h"
#include "buf.h"
#include "chunkhead.h"
#include "decode.h"
#include "io.h"
#include "map.h"
#include "set.h"
#include "vec.h"

#define ITEMS_MAX ((size_t)1 << 20)
#define PIECE_BYTES ((size_t)1 << 20)
#define SECTION_MAX_BYTES 64

struct part { /* a file */
    struct cairn_reader *reader;
    uint64_t sequence;  /* in the set it came in */
    uint64_t parent;    /* the file id that its SET names */
    uint64_t set_bytes; /* of a first chunk that is its SET alone; 0: there is none */
};

struct recording {       /* files that one sink wrote */
    uint64_t id;         /* of the first of them */
    size_t first, count; /* parts */
    uint64_t bytes;      /* without SET chunks, so that a copy weighs what its original does */
    bool ended;
};

struct merge {
    CAIRN_VEC(struct cairn_set *) sets;
    CAIRN_VEC(struct part) parts;
    CAIRN_VEC(struct recording) recordings;
    struct cairn_map writers; /* {recording, writer id} to the new one */
    CAIRN_VEC(uint64_t) made; /* sequences of files that were begun: removed on failure */
    const char *path;
    bool force;
    uint64_t set_id, sequence; /* of the next file */
    size_t again;
    struct cairn_buf buf; /* what is to be written next */
};

/* What the first chunk says of the file's place. */
static int read_place(struct part *part, struct cairn_err *err)
{
    const struct cairn_chunk_info *info = cairn_reader_chunk(part->reader, 0);
    struct cairn_section section, more;
    struct cairn_span sections;
    struct cairn_cursor cur;
    struct cairn_buf buf;
    uint64_t set_id, sequence, skipped = 0;
    int code;

    if (!info || info->number != 0 || info->offset != 0)
        return 0;
    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    code = cairn_reader_load(part->reader, 0, &buf, &sections, err);
    if (code == 0) {
        cairn_cursor_init(&cur, sections);
        if (cairn_section_next(&cur, &section, &skipped) == 0 &&
            section.kind == CAIRN_SECTION_SET &&
            cairn_decode_set(section.bytes, &set_id, &sequence, &part->parent) == 0 &&
            cairn_section_next(&cur, &more, &skipped) == -CAIRN_EEND)
            part->set_bytes = CAIRN_HEADER_BYTES + info->stored_bytes;
    }
    cairn_buf_release(&buf);
    return code == -CAIRN_EDAMAGED ? 0 : code;
}

static uint64_t file_id(const struct part *part)
{
    return cairn_reader_stats(part->reader)->file_id;
}

/* A file goes on with the recording before it when it says so; or when that one's next file is
 * missing, or it cannot say anything. */
static bool goes_on(const struct part *part, const struct part *before)
{
    if (part->set_bytes == 0 || part->parent == file_id(before))
        return true;
    return part->parent != 0 && part->sequence > before->sequence + 1;
}

static int add_part(struct merge *m, const struct part *part, bool is_first)
{
    struct recording *last;

    CAIRN_TRY(cairn_vec_reserve(&m->parts, m->parts.count + 1, ITEMS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&m->recordings, m->recordings.count + 1, ITEMS_MAX));
    m->parts.items[m->parts.count++] = *part;
    if (is_first || !goes_on(part, &m->parts.items[m->parts.count - 2]))
        m->recordings.items[m->recordings.count++] =
            (struct recording){.id = file_id(part), .first = m->parts.count - 1};
    last = &m->recordings.items[m->recordings.count - 1];
    last->count++;
    last->bytes += cairn_reader_stats(part->reader)->file_bytes - part->set_bytes;
    last->ended = cairn_reader_stats(part->reader)->ended;
    return 0;
}

static int add_set(struct merge *m, const char *path, struct cairn_err *err)
{
    struct cairn_set *set;
    size_t count;

    if (cairn_vec_reserve(&m->sets, m->sets.count + 1, ITEMS_MAX) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "merge", "cannot list the recordings");
    CAIRN_TRY(cairn_set_open(path, &set, err));
    m->sets.items[m->sets.count++] = set;
    count = cairn_set_count(set);
    for (size_t i = 0; i < count; i++) {
        struct part part = {.reader = cairn_set_reader(set, i),
                            .sequence = cairn_set_sequence(set, i)};

        CAIRN_TRY(read_place(&part, err));
        if (add_part(m, &part, i == 0) < 0)
            return cairn_err_set(err, -CAIRN_ENOMEM, 0, "merge", "cannot list the recordings");
    }
    return 0;
}

/* What was not closed stands last: a set is closed when its last file is. */
static int by_place(const void *left, const void *right)
{
    const struct recording *a = left, *b = right;

    if (a->ended != b->ended)
        return a->ended ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static int by_id(const void *left, const void *right)
{
    const struct recording *a = left, *b = right;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Of several copies the longest is left; then the order that all files are in. */
static void order_recordings(struct merge *m)
{
    struct recording *items = m->recordings.items;
    size_t kept = 0;

    qsort(items, m->recordings.count, sizeof(*items), by_id);
    for (size_t i = 0; i < m->recordings.count; i++) {
        uint8_t bytes[8];

        if (kept > 0 && items[kept - 1].id == items[i].id) {
            m->again++;
            continue;
        }
        for (unsigned k = 0; k < sizeof(bytes); k++)
            bytes[k] = (uint8_t)(items[i].id >> (8 * k));
        m->set_id = XXH3_64bits_withSeed(bytes, sizeof(bytes), m->set_id);
        items[kept++] = items[i];
    }
    m->recordings.count = kept;
    if (m->set_id == 0)
        m->set_id = 1;
    qsort(items, m->recordings.count, sizeof(*items), by_place);
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* The recording's writers, in the order of their numbers, get those from *next on. */
static int number_writers(struct merge *m, size_t recording, uint32_t *next)
{
    const struct recording *r = &m->recordings.items[recording];
    CAIRN_VEC(uint32_t) ids = {0};
    uint64_t seen;
    int code = 0;

    for (size_t i = 0; i < r->count && code == 0; i++) {
        const struct cairn_reader *reader = m->parts.items[r->first + i].reader;

        for (size_t k = 0; k < cairn_reader_chunk_count(reader) && code == 0; k++) {
            uint32_t id = cairn_reader_chunk(reader, k)->writer;

            if (id == 0 || cairn_map_get(&m->writers, recording, id, &seen))
                continue;
            code = cairn_vec_reserve(&ids, ids.count + 1, ITEMS_MAX);
            if (code == 0)
                code = cairn_map_put(&m->writers, recording, id, 0);
            if (code == 0)
                ids.items[ids.count++] = id;
        }
    }
    if (ids.count > 0)
        qsort(ids.items, ids.count, sizeof(*ids.items), by_number);
    for (size_t i = 0; i < ids.count && code == 0; i++)
        code = cairn_map_put(&m->writers, recording, ids.items[i], (*next)++);
    cairn_vec_release(&ids);
    return code;
}

static int write_out(struct merge *m, int fd)
{
    int code = m->buf.code < 0 ? -ENOMEM : cairn_io_write(fd, m->buf.data, m->buf.size_bytes);

    cairn_buf_clear(&m->buf);
    return code;
}

/* The bytes from `offset` up to `end`, as they are. 0 or -errno. */
static int copy_bytes(struct merge *m, int from_fd, uint64_t offset, uint64_t end, int fd)
{
    while (offset < end) {
        size_t size_bytes = end - offset < PIECE_BYTES ? (size_t)(end - offset) : PIECE_BYTES;
        ssize_t got;

        if (m->buf.size_bytes >= PIECE_BYTES) {
            int code = write_out(m, fd);

            if (code < 0)
                return code;
        }
        if (cairn_buf_reserve(&m->buf, size_bytes) < 0)
            return -ENOMEM;
        got = cairn_io_pread(from_fd, m->buf.data + m->buf.size_bytes, size_bytes, offset);
        if (got < 0)
            return (int)got;
        if (got == 0)
            return 0; /* it became shorter: what is there is a recording */
        m->buf.size_bytes += (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

/* The first chunk: the file's place in the set. */
static void put_place(struct merge *m, uint64_t own_id, uint64_t parent)
{
    struct cairn_chunkhead head = {.file_id = own_id,
                                   .kind = CAIRN_CHUNK_DATA,
                                   .flags = CAIRN_FLAG_PLAIN,
                                   .first_ns = UINT64_MAX};
    uint8_t header[CAIRN_HEADER_BYTES];
    struct cairn_buf content, section;

    cairn_buf_init(&content, SECTION_MAX_BYTES);
    cairn_buf_init(&section, SECTION_MAX_BYTES);
    cairn_buf_u64(&content, m->set_id);
    cairn_buf_uvarint(&content, m->sequence);
    cairn_buf_u64(&content, parent);
    cairn_buf_uvarint(&section, CAIRN_SECTION_SET << 1);
    cairn_buf_bytes(&section, cairn_buf_span(&content));
    head.stored_bytes = head.raw_bytes = (uint32_t)section.size_bytes;
    head.payload_hash = XXH3_64bits(section.data, section.size_bytes);
    cairn_chunkhead_encode(&head, header);
    cairn_buf_add(&m->buf, header, sizeof(header));
    cairn_buf_add(&m->buf, section.data, section.size_bytes);
    if (content.code < 0 || section.code < 0)
        m->buf.code = -CAIRN_ENOMEM;
    cairn_buf_release(&content);
    cairn_buf_release(&section);
}

/* A chunk's header with its new numbers. 0 or -errno. */
static int put_header(struct merge *m, size_t recording, const struct part *part, uint64_t offset)
{
    uint8_t header[CAIRN_HEADER_BYTES];
    struct cairn_chunkhead head;
    uint64_t writer = 0;
    ssize_t got = cairn_io_pread(cairn_reader_fd(part->reader), header, sizeof(header), offset);

    if (got < 0)
        return (int)got;
    if (got != sizeof(header) || cairn_chunkhead_decode(header, &head) < 0)
        return -EIO; /* it was one when the file was opened */
    cairn_map_get(&m->writers, recording, head.writer, &writer);
    head.writer = (uint32_t)writer;
    head.number += part->set_bytes == 0;
    cairn_chunkhead_encode(&head, header);
    return cairn_buf_add(&m->buf, header, sizeof(header)) < 0 ? -ENOMEM : 0;
}

static int copy_part(struct merge *m, size_t recording, const struct part *part, uint64_t parent,
                     int fd)
{
    uint64_t offset = part->set_bytes;
    size_t count = cairn_reader_chunk_count(part->reader);
    int from_fd = cairn_reader_fd(part->reader), code = 0;

    put_place(m, file_id(part), parent);
    for (size_t i = part->set_bytes > 0; i < count && code == 0; i++) {
        const struct cairn_chunk_info *info = cairn_reader_chunk(part->reader, i);

        code = copy_bytes(m, from_fd, offset, info->offset, fd);
        if (code == 0)
            code = put_header(m, recording, part, info->offset);
        offset = info->offset + CAIRN_HEADER_BYTES;
    }
    if (code == 0)
        code = copy_bytes(m, from_fd, offset, cairn_reader_stats(part->reader)->file_bytes, fd);
    return code < 0 ? code : write_out(m, fd);
}

/* PATH, or PATH.<sequence>; free() it. */
static char *name_of(const struct merge *m, uint64_t sequence)
{
    size_t room_bytes = strlen(m->path) + 24;
    char *name = cairn_malloc(room_bytes);

    if (name && sequence == 0)
        snprintf(name, room_bytes, "%s", m->path);
    else if (name)
        snprintf(name, room_bytes, "%s.%" PRIu64, m->path, sequence);
    return name;
}

static int make_file(struct merge *m, size_t recording, const struct part *part, uint64_t parent,
                     struct cairn_err *err)
{
    char *name = name_of(m, m->sequence);
    int fd, code;

    if (!name || cairn_vec_reserve(&m->made, m->made.count + 1, ITEMS_MAX) < 0) {
        free(name);
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "merge", "cannot merge the recordings");
    }
    if (m->force) /* what is being read may be the same file: it stays open */
        (void)unlink(name);
    fd = cairn_io_open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0600);
    if (fd == -EEXIST) {
        code = cairn_err_set(err, -CAIRN_EEXISTS, 0, "merge", "%.300s exists already", name);
        cairn_err_add(err, "Name another file, or write over it with --force.");
    } else if (fd < 0) {
        code = cairn_err_set(err, fd == -EACCES || fd == -EPERM ? -CAIRN_EPERM : -CAIRN_EIO, -fd,
                             "merge", "%.300s cannot be written", name);
    } else {
        m->made.items[m->made.count++] = m->sequence;
        code = copy_part(m, recording, part, parent, fd);
        if (code < 0)
            code = cairn_err_set(err, code == -ENOMEM ? -CAIRN_ENOMEM : -CAIRN_EIO, -code, "merge",
                                 "cannot write %.300s", name);
        cairn_io_close(&fd);
    }
    free(name);
    return code;
}

/* A file that is missing of a recording is missing of the set. */
static int make_files(struct merge *m, struct cairn_err *err)
{
    for (size_t i = 0; i < m->recordings.count; i++) {
        const struct recording *r = &m->recordings.items[i];

        for (size_t k = 0; k < r->count; k++) {
            const struct part *part = &m->parts.items[r->first + k];
            uint64_t parent = part->parent;

            if (k > 0 && part->sequence > part[-1].sequence)
                m->sequence += part->sequence - part[-1].sequence - 1;
            if (k > 0 && part->set_bytes == 0)
                parent = file_id(&part[-1]);
            CAIRN_TRY(make_file(m, i, part, parent, err));
            m->sequence++;
        }
    }
    return 0;
}

static void remove_made(const struct merge *m)
{
    for (size_t i = 0; i < m->made.count; i++) {
        char *name = name_of(m, m->made.items[i]);

        if (name)
            (void)unlink(name);
        free(name);
    }
}

static int merge_all(struct merge *m, const char *const *paths, size_t count, struct cairn_err *err)
{
    uint32_t next = 1;

    for (size_t i = 0; i < count; i++) {
        int code = add_set(m, paths[i], err);

        if (code < 0 && err && strstr(err->text, paths[i]) == NULL)
            cairn_err_add(err, "The file is %.300s.", paths[i]);
        CAIRN_TRY(code);
    }
    order_recordings(m);
    for (size_t i = 0; i < m->recordings.count; i++)
        if (number_writers(m, i, &next) < 0)
            return cairn_err_set(err, -CAIRN_ENOMEM, 0, "merge", "cannot merge the recordings");
    return make_files(m, err);
}

int cairn_merge(const char *const *paths, size_t count, const char *path, bool force,
                struct cairn_merged *ret_merged, struct cairn_err *err)
{
    struct merge m = {.path = path, .force = force};
    int code;

    cairn_map_init(&m.writers, ITEMS_MAX);
    cairn_buf_init(&m.buf, 4 * PIECE_BYTES);
    code = merge_all(&m, paths, count, err);
    if (code < 0)
        remove_made(&m);
    *ret_merged = (struct cairn_merged){m.recordings.count, m.made.count, m.again};
    for (size_t i = 0; i < m.sets.count; i++)
        cairn_set_free(m.sets.items[i]);
    cairn_vec_release(&m.sets);
    cairn_vec_release(&m.parts);
    cairn_vec_release(&m.recordings);
    cairn_vec_release(&m.made);
    cairn_map_release(&m.writers);
    cairn_buf_release(&m.buf);
    return code;
}
