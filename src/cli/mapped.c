#include "mapped.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "caged.h"
#include "io.h"

#define PATHS_MAX_BYTES ((size_t)4 << 20)

static bool is_plain(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Descriptor, or -1. A device is asked nothing, not even by opening it. */
static int open_elf(const char *path)
{
    char magic[4];
    int fd = is_plain(path) ? cairn_io_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0) : -1;

    if (fd >= 0 && (cairn_io_pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
                    memcmp(magic, "\177ELF", sizeof(magic)) != 0))
        cairn_io_close(&fd);
    return fd < 0 ? -1 : fd;
}

/* What a process has mapped lies on a disk. */
static bool may_be_mapped(const char *path)
{
    return path[0] == '/' && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 &&
           strncmp(path, "/dev/", 5) != 0;
}

static void add(struct cairn_mapped *mapped, const char *path, int fd)
{
    if (fd >= 0 && mapped->count < CAIRN_OBJECTS_MAX)
        mapped->items[mapped->count++] = (struct cairn_object){.path = path, .fd = fd};
    else
        cairn_io_close(&fd);
}

void cairn_mapped_open(struct cairn_mapped *mapped, int fd, const char *path,
                       const struct cairn_reading *reading)
{
    const char *program = NULL; /* whose names are had already */
    char *line, *end;

    mapped->count = 0;
    cairn_buf_init(&mapped->paths, PATHS_MAX_BYTES);
    if (!reading->named)
        return;
    cairn_caged_mapped(fd, path, &mapped->paths);
    line = (char *)(uintptr_t)cairn_buf_cstr(&mapped->paths);
    for (bool first = true; (end = strchr(line, '\n')) != NULL; first = false, line = end + 1) {
        *end = 0;
        if (first && *line && reading->binary != NULL) {
            add(mapped, line, open_elf(reading->binary));
            program = mapped->count > 0 ? line : NULL;
        } else if (!first && may_be_mapped(line) && (!program || strcmp(line, program) != 0)) {
            add(mapped, line, open_elf(line));
        }
    }
}

void cairn_mapped_release(struct cairn_mapped *mapped)
{
    for (size_t i = 0; i < mapped->count; i++)
        cairn_io_close(&mapped->items[i].fd);
    cairn_buf_release(&mapped->paths);
}
