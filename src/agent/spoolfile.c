#include "spoolfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "err.h"
#include "io.h"

const void *cairn_spoolfile_at(const struct cairn_spoolfile *file, const void *address,
                               size_t size_bytes)
{
    uint64_t offset = (uint64_t)(uintptr_t)address - file->head->base;

    if (offset % 8 != 0 || offset > file->size_bytes || file->size_bytes - offset < size_bytes)
        return NULL;
    return (const uint8_t *)file->head + offset;
}

/* Whether the process goes on: what it will count yet is not in the recording. */
static bool is_alive(const struct cairn_spool_head *head)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", head->pid);
    return head->start_ns != 0 && cairn_spool_start_ns(path) == head->start_ns;
}

bool cairn_spoolfile_is_ours(const struct cairn_spool_head *head,
                             const struct cairn_spool_kind *kind)
{
    return head->magic == CAIRN_SPOOL_MAGIC && head->struct_bytes[0] == kind->struct_bytes[0] &&
           head->struct_bytes[1] == kind->struct_bytes[1] && head->used_bytes >= sizeof(*head) &&
           head->used_bytes <= CAIRN_SPOOL_REGION_BYTES;
}

/* A copy of what was used of a file; NULL: it is none of ours. */
static int copy(int folder, const char *name, const struct cairn_spool_kind *kind,
                struct cairn_spoolfile *ret_file)
{
    struct cairn_spool_head head;
    int fd = cairn_io_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    uint8_t *bytes = NULL;
    int code = 0;

    *ret_file = (struct cairn_spoolfile){.head = NULL};
    if (fd < 0)
        return 0;
    if (cairn_io_pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
        cairn_spoolfile_is_ours(&head, kind)) {
        ret_file->grew = is_alive(&head);
        ret_file->size_bytes = head.used_bytes;
        bytes = cairn_malloc(head.used_bytes);
        if (bytes == NULL)
            code = -CAIRN_ENOMEM;
        else if (cairn_io_pread(fd, bytes, head.used_bytes, 0) != (ssize_t)head.used_bytes) {
            free(bytes);
            bytes = NULL;
        }
    }
    cairn_io_close(&fd);
    ret_file->head = (const struct cairn_spool_head *)(const void *)bytes;
    return code;
}

static bool has_suffix(const char *name, const struct cairn_spool_kind *kind)
{
    size_t length = strlen(name), end = strlen(kind->suffix);

    return length > end && strcmp(name + length - end, kind->suffix) == 0;
}

int cairn_spoolfile_each(const char *path, const struct cairn_spool_kind *kind,
                         int (*visit)(void *context, const struct cairn_spoolfile *file),
                         void *context)
{
    int folder = cairn_io_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0), code = 0, count;
    struct dirent **names = NULL;

    if (folder < 0)
        return -CAIRN_EIO;
    count = scandirat(folder, ".", &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct cairn_spoolfile file = {.head = NULL};

        if (code == 0 && has_suffix(names[i]->d_name, kind))
            code = copy(folder, names[i]->d_name, kind, &file);
        file.folder = folder;
        file.name = names[i]->d_name;
        if (code == 0 && file.head != NULL) {
            file.cut = file.head->ended != 1 && !is_alive(file.head);
            code = visit(context, &file);
        }
        free((void *)(uintptr_t)file.head);
        free(names[i]);
    }
    free(names);
    cairn_io_close(&folder);
    return count < 0 ? -CAIRN_EIO : code;
}

void cairn_spoolfile_heads(const char *path,
                           void (*visit)(void *context, const struct cairn_spool_head *head),
                           void *context)
{
    int folder = cairn_io_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct dirent **names = NULL;
    int count = folder < 0 ? -1 : scandirat(folder, ".", &names, NULL, NULL);

    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        bool calls = has_suffix(name, &cairn_spool_calls);
        struct cairn_spool_head head;
        int fd = !calls && !has_suffix(name, &cairn_spool_lines)
                     ? -1
                     : cairn_io_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

        if (fd >= 0 && cairn_io_pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
            cairn_spoolfile_is_ours(&head, calls ? &cairn_spool_calls : &cairn_spool_lines))
            visit(context, &head);
        cairn_io_close(&fd);
        free(names[i]);
    }
    free(names);
    cairn_io_close(&folder);
}

static bool is_engines(const char *name)
{
    return has_suffix(name, &cairn_spool_calls) || has_suffix(name, &cairn_spool_lines) ||
           has_suffix(name, &cairn_spool_events) || has_suffix(name, &cairn_spool_regions);
}

static bool is_without(const char *name)
{
    return strncmp(name, CAIRN_SPOOL_WITHOUT ".", sizeof(CAIRN_SPOOL_WITHOUT)) == 0;
}

bool cairn_spoolfile_without(const char *folder, char ret_suffix[CAIRN_SPOOL_SUFFIX_BYTES])
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, NULL, alphasort);
    bool any = false;

    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;

        if (!any && is_without(name)) {
            (void)snprintf(ret_suffix, CAIRN_SPOOL_SUFFIX_BYTES, "%s",
                           name + sizeof(CAIRN_SPOOL_WITHOUT) - 1);
            any = true;
        }
        free(names[i]);
    }
    free(names);
    return any;
}

static bool is_met(const char *name)
{
    return strncmp(name, CAIRN_SPOOL_MET ".", sizeof(CAIRN_SPOOL_MET)) == 0;
}

uint64_t cairn_spoolfile_met(const char *folder, bool calls)
{
    const char *begin = calls ? CAIRN_SPOOL_MET ".calls." : CAIRN_SPOOL_MET ".lines.";
    int at = cairn_io_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct dirent **names = NULL;
    int count = at < 0 ? -1 : scandirat(at, ".", &names, NULL, NULL);
    uint64_t met = count < 0 ? UINT64_MAX : 0;

    for (int i = 0; i < count; i++) {
        bool is = strncmp(names[i]->d_name, begin, strlen(begin)) == 0;
        int fd =
            is ? cairn_io_openat(at, names[i]->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -1;
        uint64_t bits = 0;

        if (is && (fd < 0 || cairn_io_pread(fd, &bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)))
            bits = UINT64_MAX;
        met |= bits;
        cairn_io_close(&fd);
        free(names[i]);
    }
    free(names);
    cairn_io_close(&at);
    return met;
}

bool cairn_spoolfile_any(const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, NULL, NULL);
    bool any = false;

    for (int i = 0; i < count; i++) {
        any |= is_engines(names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return any;
}

void cairn_spoolfile_remove_all(const char *folder)
{
    int fd = cairn_io_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct dirent **names = NULL;
    int count = fd < 0 ? -1 : scandirat(fd, ".", &names, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        if (is_engines(names[i]->d_name) || is_without(names[i]->d_name) ||
            is_met(names[i]->d_name) || strcmp(names[i]->d_name, CAIRN_SPOOL_WANTED) == 0)
            (void)unlinkat(fd, names[i]->d_name, 0);
        free(names[i]);
    }
    free(names);
    cairn_io_close(&fd);
    (void)rmdir(folder);
}
