#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "alloc.h"
#include "blocks.h"
#include "chunkhead.h"
#include "clock.h"
#include "io.h"
#include "rng.h"
#include "writing.h"

#define ZSTD_LEVEL 3
#define RESERVE_BYTES ((uint64_t)1 << 20)
#define SYNC_DISTANCE_NS 1000000000u
#define FIRST_OF_SET 1 /* the chunk behind the one that tells of the set */

struct cairn_sink {
    char *base, *path; /* as given, and of the current file; both "" for a memfd */
    const struct cairn_owner *owner;
    bool force, sync;
    bool made; /* the current file */
    uint64_t rotate_bytes;
    uint64_t set_id, sequence;

    int fd;
    uint64_t file_id, number; /* number: of the next chunk */
    uint64_t file_bytes, closed_bytes;
    uint64_t reserved_bytes, synced_bytes, synced_ns;
    bool can_reserve;

    ZSTD_CCtx *zstd;
    uint8_t *chunk; /* header and payload, sized for the largest chunk so far */
    size_t chunk_cap_bytes;
    struct cairn_err failed; /* code 0 until an append fails; then every one does */
};

static uint64_t new_id(void)
{
    uint64_t id = cairn_rng_seed();

    return id == 0 ? 1 : id;
}

/* An existing file goes away first, so that who reads it keeps it whole. Only a plain file: a
 * device is written to, never unlinked, and was not made. */
static int open_path(const char *path, bool force, bool *ret_made)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOCTTY;
    struct stat info;

    *ret_made = true;
    if (force && lstat(path, &info) == 0) {
        if (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode)) {
            *ret_made = false;
            return cairn_io_open(path, O_WRONLY | O_NOCTTY, 0);
        }
        if (!S_ISDIR(info.st_mode) && unlink(path) < 0)
            return -errno;
    }
    return cairn_io_open(path, flags, 0600);
}

/* Under sudo every file of the set, also one that rotation begins in an hour, is the user's. */
static int open_owned(struct cairn_sink *sink)
{
    struct cairn_owner_saved saved;
    int fd;

    if (cairn_owner_enter(sink->owner, &saved) < 0)
        return -EPERM;
    fd = open_path(sink->path, sink->force, &sink->made);
    cairn_owner_leave(&saved);
    return fd;
}

/* The name of the set's file number `sequence`; free() it. NULL when memory is short. */
static char *member_path(const char *base, uint64_t sequence)
{
    size_t room_bytes = strlen(base) + 24;
    char *path = cairn_malloc(room_bytes);

    if (path != NULL)
        snprintf(path, room_bytes, "%s.%" PRIu64, base, sequence);
    return path;
}

/* Whether the place of the set's next file is taken, which is better known now than in an hour. */
static int check_next(const struct cairn_sink *sink, struct cairn_err *err)
{
    char *path = member_path(sink->base, 1);
    struct stat info;
    int code = 0;

    if (path == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "sink", "cannot start a recording");
    if (!sink->force && lstat(path, &info) == 0)
        code = cairn_err_set(err, -CAIRN_EEXISTS, EEXIST, "sink", "cannot create the recording %s",
                             path);
    free(path);
    return code;
}

/* The name of a new file is kept by its folder, which is synced apart. Best effort: not every file
 * system can, and the file itself is what counts. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    int fd = folder == NULL ? -1 : cairn_io_open(folder, O_RDONLY | O_DIRECTORY, 0);

    if (fd >= 0)
        fsync(fd);
    cairn_io_close(&fd);
    free(folder);
}

static int open_file(struct cairn_sink *sink, struct cairn_err *err)
{
    int fd;

    if (sink->path[0] == '\0') {
        fd = memfd_create("cairn", MFD_CLOEXEC);
        fd = fd < 0 ? -errno : fd;
    } else {
        fd = open_owned(sink);
    }
    if (fd < 0) {
        int code = cairn_err_from_errno(fd);

        /* "Not found" is said of programs, and has a status that scripts rely on. */
        return cairn_err_set(err, code == -CAIRN_ENOTFOUND ? -CAIRN_EIO : code, -fd, "sink",
                             "cannot create the recording %s", sink->path);
    }
    cairn_writing_hold(fd);
    sink->fd = fd;
    sink->file_id = new_id();
    sink->number = 0;
    sink->file_bytes = 0;
    sink->reserved_bytes = 0;
    sink->synced_bytes = 0;
    sink->can_reserve = true;
    if (sink->sync && sink->path[0] != '\0')
        sync_folder(sink->path);
    return 0;
}

static uint64_t size_limit(void)
{
    struct rlimit limit;

    /* Writing past it would be a signal, SIGXFSZ, before it is an error. */
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

static void reserve(struct cairn_sink *sink, uint64_t end_bytes, uint64_t limit_bytes)
{
    uint64_t want_bytes = end_bytes + RESERVE_BYTES;

    if (!sink->can_reserve || end_bytes <= sink->reserved_bytes || want_bytes > limit_bytes)
        return;
    /* Not a failure here: the write itself knows whether the disk is full. */
    if (fallocate(sink->fd, FALLOC_FL_KEEP_SIZE, (off_t)sink->file_bytes,
                  (off_t)(want_bytes - sink->file_bytes)) == 0)
        sink->reserved_bytes = want_bytes;
    else
        sink->can_reserve = errno == EINTR;
}

/* What is no file of a disk (a device) cannot be synced and need not be. */
static int sync_data(int fd)
{
    return fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* Gives back what was reserved behind the end. Devices refuse; they have nothing reserved. */
static int close_file(struct cairn_sink *sink, struct cairn_err *err)
{
    int code = 0, synced;

    if (sink->reserved_bytes > sink->file_bytes && ftruncate(sink->fd, (off_t)sink->file_bytes) < 0)
        code = cairn_err_set(err, -CAIRN_EIO, errno, "sink", "cannot trim %s", sink->path);
    synced = sink->sync ? sync_data(sink->fd) : 0;
    if (synced < 0)
        code = cairn_err_set(err, -CAIRN_EIO, -synced, "sink", "cannot sync %s", sink->path);
    sink->closed_bytes += sink->file_bytes;
    sink->file_bytes = 0;
    cairn_io_close(&sink->fd);
    return code;
}

static int sync_now_and_then(struct cairn_sink *sink)
{
    uint64_t now_ns = cairn_clock_mono_ns();
    int code;

    if (!sink->sync || (sink->synced_ns != 0 && now_ns - sink->synced_ns < SYNC_DISTANCE_NS))
        return 0;
    code = sync_data(sink->fd);
    if (code < 0)
        return code;
    sink->synced_ns = now_ns;
    sink->synced_bytes = sink->file_bytes;
    return 0;
}

static int write_chunk(struct cairn_sink *sink, size_t size_bytes, struct cairn_err *err)
{
    uint64_t end_bytes = sink->file_bytes + size_bytes;
    uint64_t limit_bytes = size_limit();
    int code;

    if (end_bytes > limit_bytes)
        return cairn_err_set(err, -CAIRN_EIO, EFBIG, "sink", "cannot write to the recording %s",
                             sink->path);
    reserve(sink, end_bytes, limit_bytes);
    code = cairn_io_write(sink->fd, sink->chunk, size_bytes);
    if (code < 0) {
        /* A part may be there: back to the last whole chunk. Where that fails too, the reader
         * takes the part for what it is, a torn tail. */
        if (ftruncate(sink->fd, (off_t)sink->file_bytes) == 0)
            lseek(sink->fd, (off_t)sink->file_bytes, SEEK_SET);
        return cairn_err_set(err, -CAIRN_EIO, -code, "sink", "cannot write to the recording %s",
                             sink->path);
    }
    sink->file_bytes = end_bytes;
    sink->number++;
    code = sync_now_and_then(sink);
    if (code < 0)
        return cairn_err_set(err, -CAIRN_EIO, -code, "sink", "cannot sync the recording %s",
                             sink->path);
    return 0;
}

static int grow_chunk(struct cairn_sink *sink, size_t need_bytes)
{
    uint8_t *grown;

    if (need_bytes <= sink->chunk_cap_bytes)
        return 0;
    grown = cairn_realloc(sink->chunk, need_bytes);
    if (grown == NULL)
        return -CAIRN_ENOMEM;
    sink->chunk = grown;
    sink->chunk_cap_bytes = need_bytes;
    return 0;
}

/* One zstd frame, a block for each sort of bytes. Its size; `room_bytes` or more when it does not
 * fit or fails: the caller then stores the bytes as they are. */
static size_t compress(ZSTD_CCtx *zstd, struct cairn_span sections, uint8_t *ret_data,
                       size_t room_bytes)
{
    ZSTD_outBuffer out = {ret_data, room_bytes, 0};
    size_t ends[CAIRN_BLOCKS_MAX];
    size_t count = cairn_blocks_find(sections, ends), at = 0;

    ZSTD_CCtx_reset(zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(zstd, sections.size_bytes);
    for (size_t i = 0; i < count; i++) {
        ZSTD_inBuffer in = {sections.data + at, ends[i] - at, 0};
        size_t left =
            ZSTD_compressStream2(zstd, &out, &in, i + 1 < count ? ZSTD_e_flush : ZSTD_e_end);

        if (left > 0) /* no room, or out of memory */
            return room_bytes;
        at = ends[i];
    }
    return out.pos;
}

/* Puts header and payload together in sink->chunk. Out of memory leaves all as it was. */
static int seal(struct cairn_sink *sink, struct cairn_chunkhead *head, struct cairn_span sections,
                size_t *ret_size_bytes)
{
    size_t raw_bytes = sections.size_bytes;
    uint8_t *payload;
    size_t stored_bytes;

    if (raw_bytes > CAIRN_CHUNK_MAX_BYTES)
        return -CAIRN_ELIMIT;
    CAIRN_TRY(grow_chunk(sink, CAIRN_HEADER_BYTES + raw_bytes));
    payload = sink->chunk + CAIRN_HEADER_BYTES;
    stored_bytes = raw_bytes == 0 ? 0 : compress(sink->zstd, sections, payload, raw_bytes);
    if (stored_bytes >= raw_bytes) {
        if (raw_bytes > 0)
            memcpy(payload, sections.data, raw_bytes);
        stored_bytes = raw_bytes;
        head->flags |= CAIRN_FLAG_PLAIN;
    }
    head->stored_bytes = (uint32_t)stored_bytes;
    head->raw_bytes = (uint32_t)raw_bytes;
    head->payload_hash = XXH3_64bits(payload, stored_bytes);
    cairn_chunkhead_encode(head, sink->chunk);
    *ret_size_bytes = CAIRN_HEADER_BYTES + stored_bytes;
    return 0;
}

static int append(struct cairn_sink *sink, struct cairn_chunkhead *head, struct cairn_span sections,
                  struct cairn_err *err)
{
    size_t size_bytes;
    int code;

    if (sink->failed.code < 0) {
        if (err != NULL)
            *err = sink->failed;
        return sink->failed.code;
    }
    head->file_id = sink->file_id;
    head->number = sink->number;
    code = seal(sink, head, sections, &size_bytes);
    if (code < 0)
        return cairn_err_set(err, code, 0, "sink", "cannot pack a chunk of the recording");
    code = write_chunk(sink, size_bytes, &sink->failed);
    if (code < 0 && err != NULL)
        *err = sink->failed;
    return code;
}

/* The first chunk of every file of a set: which set, which place in it, which file came before. */
static int append_set(struct cairn_sink *sink, uint64_t parent_file_id, struct cairn_err *err)
{
    struct cairn_chunkhead head = {.kind = CAIRN_CHUNK_DATA, .first_ns = UINT64_MAX, .last_ns = 0};
    uint8_t bytes[64];
    size_t used = 0;
    uint64_t sequence = sink->sequence;

    bytes[used++] = CAIRN_SECTION_SET << 1;
    bytes[used++] = 0; /* the length, below */
    for (unsigned i = 0; i < 8; i++)
        bytes[used++] = (uint8_t)(sink->set_id >> (8 * i));
    for (; sequence >= 0x80; sequence >>= 7)
        bytes[used++] = (uint8_t)(sequence | 0x80);
    bytes[used++] = (uint8_t)sequence;
    for (unsigned i = 0; i < 8; i++)
        bytes[used++] = (uint8_t)(parent_file_id >> (8 * i));
    bytes[1] = (uint8_t)(used - 2);
    return append(sink, &head, (struct cairn_span){bytes, used}, err);
}

/* On to PATH.1, PATH.2 …: the old file is closed on purpose, the new one stands alone. */
static int rotate(struct cairn_sink *sink, struct cairn_err *err)
{
    struct cairn_chunkhead end = {.kind = CAIRN_CHUNK_END, .first_ns = UINT64_MAX, .last_ns = 0};
    uint64_t parent_file_id = sink->file_id;
    char *path;
    int code;

    code = append(sink, &end, (struct cairn_span){NULL, 0}, err);
    if (code < 0)
        return code;
    code = close_file(sink, err);
    if (code < 0)
        return code;
    path = member_path(sink->base, sink->sequence + 1);
    if (path == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "sink", "cannot go on in a new file");
    free(sink->path);
    sink->path = path;
    sink->sequence++;
    CAIRN_TRY(open_file(sink, err));
    return append_set(sink, parent_file_id, err);
}

int cairn_sink_append(struct cairn_sink *sink, uint16_t kind, uint32_t writer, uint64_t first_ns,
                      uint64_t last_ns, uint64_t track_mask, struct cairn_span sections,
                      struct cairn_err *err)
{
    struct cairn_chunkhead head = {.writer = writer,
                                   .kind = kind,
                                   .first_ns = first_ns,
                                   .last_ns = last_ns,
                                   .track_mask = track_mask};

    return append(sink, &head, sections, err);
}

int cairn_sink_turn(struct cairn_sink *sink, struct cairn_err *err)
{
    struct cairn_err why = {0};
    int code;

    if (sink->failed.code < 0 || sink->rotate_bytes == 0 || sink->file_bytes < sink->rotate_bytes ||
        sink->number <= FIRST_OF_SET)
        return 0;
    code = rotate(sink, &why);
    if (code < 0) {
        sink->failed = why;
        if (err != NULL)
            *err = why;
    }
    return code;
}

int cairn_sink_open(const struct cairn_sink_options *options, struct cairn_sink **ret_sink,
                    struct cairn_err *err)
{
    const char *path = options->path == NULL ? "" : options->path;
    struct cairn_sink *sink = cairn_calloc(1, sizeof(*sink));
    int code;

    if (sink == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "sink", "cannot start a recording");
    sink->fd = -1;
    sink->owner = options->owner;
    sink->force = options->force;
    sink->sync = options->sync;
    sink->rotate_bytes = options->path == NULL ? 0 : options->rotate_bytes;
    sink->set_id = new_id();
    sink->base = cairn_malloc(strlen(path) + 1);
    sink->path = cairn_malloc(strlen(path) + 1);
    sink->zstd = ZSTD_createCCtx();
    if (sink->zstd != NULL)
        ZSTD_CCtx_setParameter(sink->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    if (sink->base == NULL || sink->path == NULL || sink->zstd == NULL) {
        cairn_sink_close(sink, NULL);
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "sink", "cannot start a recording");
    }
    memcpy(sink->base, path, strlen(path) + 1);
    memcpy(sink->path, path, strlen(path) + 1);
    code = sink->rotate_bytes > 0 ? check_next(sink, err) : 0;
    if (code == 0)
        code = open_file(sink, err);
    if (code == 0 && sink->rotate_bytes > 0)
        code = append_set(sink, 0, err);
    if (code < 0) {
        cairn_sink_close(sink, NULL);
        return code;
    }
    *ret_sink = sink;
    return 0;
}

uint32_t cairn_sink_generation(const struct cairn_sink *sink)
{
    return (uint32_t)sink->sequence + 1;
}

uint64_t cairn_sink_bytes(const struct cairn_sink *sink)
{
    return sink->closed_bytes + sink->file_bytes;
}

uint64_t cairn_sink_synced_bytes(const struct cairn_sink *sink)
{
    return sink->synced_bytes;
}

int cairn_sink_fd(const struct cairn_sink *sink)
{
    return sink->fd;
}

bool cairn_sink_made(const struct cairn_sink *sink)
{
    return sink->made;
}

const char *cairn_sink_path(const struct cairn_sink *sink)
{
    return sink->path;
}

int cairn_sink_close(struct cairn_sink *sink, struct cairn_err *err)
{
    int code = 0;

    if (sink == NULL)
        return 0;
    if (sink->fd >= 0)
        code = close_file(sink, err);
    ZSTD_freeCCtx(sink->zstd);
    free(sink->chunk);
    free(sink->path);
    free(sink->base);
    free(sink);
    return code;
}
