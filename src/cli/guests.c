#include "guests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caged.h"
#include "format.h"
#include "io.h"
#include "mapped.h"
#include "progress_line.h"

#define FILES_MAX 65536

/* Whether it is a file that is there, and no recording: 1 with it open in *ret_fd, or 0. */
static int is_guest(const char *path, int *ret_fd)
{
    char magic[CAIRN_MAGIC_BYTES];
    int fd = cairn_io_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    struct stat info;
    ssize_t got;

    if (fd < 0)
        return 0;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        got = cairn_io_pread(fd, magic, sizeof(magic), 0);
        if (got > 0 && memcmp(magic, CAIRN_MAGIC, (size_t)got) != 0) {
            *ret_fd = fd;
            return 1;
        }
    }
    cairn_io_close(&fd);
    return 0;
}

static int read_guest(int file, const struct cairn_reading *reading, struct cairn_guest_path *item,
                      struct cairn_err *err)
{
    struct cairn_import_options options = {.interval_ns = reading->each_ns};
    struct cairn_sink_options memory = {.path = NULL};
    struct cairn_mapped mapped;
    struct cairn_progress_line line;
    struct cairn_sink *sink;
    int code;

    CAIRN_TRY(cairn_sink_open(&memory, &sink, err));
    cairn_progress_line_begin(&line);
    options.progress = &line.progress;
    cairn_mapped_open(&mapped, file, item->path, reading);
    options.objects = reading->named ? mapped.items : NULL;
    options.object_count = mapped.count;
    code = cairn_caged_import(file, item->path, &options, sink, err);
    cairn_mapped_release(&mapped);
    cairn_progress_line_end(&line);
    if (code == 0) {
        item->fd = fcntl(cairn_sink_fd(sink), F_DUPFD_CLOEXEC, 0);
        if (item->fd < 0)
            code = cairn_err_set(err, -CAIRN_EIO, errno, "import", "%.300s cannot be read",
                                 item->path);
    }
    if (code < 0) {
        cairn_sink_close(sink, NULL);
        return code;
    }
    snprintf(item->name, sizeof(item->name), "/proc/self/fd/%d", item->fd);
    return cairn_sink_close(sink, err);
}

static int open_one(struct cairn_guests *guests, const char *path,
                    const struct cairn_reading *reading, struct cairn_err *err)
{
    struct cairn_guest_path *item;
    int file, code;

    if (cairn_vec_reserve(&guests->items, guests->items.count + 1, FILES_MAX) < 0 ||
        cairn_vec_reserve(&guests->paths, guests->items.count + 1, FILES_MAX) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "import", "cannot read %.300s", path);
    item = &guests->items.items[guests->items.count++];
    *item = (struct cairn_guest_path){.path = path, .fd = -1};
    if (!is_guest(path, &file))
        return 0;
    code = read_guest(file, reading, item, err);
    cairn_io_close(&file);
    return code;
}

int cairn_guests_open(const char *const *paths, size_t count, const struct cairn_reading *reading,
                      struct cairn_guests *ret_guests, struct cairn_err *err)
{
    *ret_guests = (struct cairn_guests){.items = {.items = NULL}};
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(open_one(ret_guests, paths[i], reading, err));
    for (size_t i = 0; i < count; i++) {
        struct cairn_guest_path *item = &ret_guests->items.items[i];

        ret_guests->paths.items[ret_guests->paths.count++] = item->fd < 0 ? item->path : item->name;
    }
    return 0;
}

void cairn_guests_release(struct cairn_guests *guests)
{
    for (size_t i = 0; i < guests->items.count; i++)
        cairn_io_close(&guests->items.items[i].fd);
    cairn_vec_release(&guests->items);
    cairn_vec_release(&guests->paths);
}
