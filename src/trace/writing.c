#include "writing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "io.h"

#define NS_PER_S ((uint64_t)1000000000)
#define NUMBER_ROOM 24 /* of ".n" */

void cairn_writing_hold(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    /* A device, or a file system without locks: then nobody can tell, and nothing else is lost. */
    (void)fcntl(fd, F_OFD_SETLK, &lock);
}

static bool is_held(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

/* False: there is no such file. Only of plain files is more than their name asked. */
static bool look_at(const char *path, struct cairn_writing *writing)
{
    struct stat info;
    int fd;

    if (stat(path, &info) < 0 || !S_ISREG(info.st_mode))
        return false;
    writing->files++;
    writing->bytes += (uint64_t)info.st_size;
    writing->changed_ns +=
        (uint64_t)info.st_mtim.tv_sec * NS_PER_S + (uint64_t)info.st_mtim.tv_nsec;
    fd = cairn_io_open(path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return true;
    writing->held |= is_held(fd);
    cairn_io_close(&fd);
    return true;
}

void cairn_writing_look(const char *path, struct cairn_writing *writing)
{
    size_t room_bytes = strlen(path) + NUMBER_ROOM;
    char *member = cairn_malloc(room_bytes);

    if (member != NULL && look_at(path, writing)) {
        uint64_t sequence = 1;

        do
            snprintf(member, room_bytes, "%s.%" PRIu64, path, sequence++);
        while (look_at(member, writing));
    }
    free(member);
}

bool cairn_writing_same(const struct cairn_writing *a, const struct cairn_writing *b)
{
    return a->bytes == b->bytes && a->changed_ns == b->changed_ns && a->files == b->files;
}
