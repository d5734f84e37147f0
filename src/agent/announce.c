#include "announce.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

#define MOST_ANCESTORS 64
#define DEFAULT_PLACE "/tmp"

static bool name_of(pid_t pid, const char *place, char name[CAIRN_SPOOL_PATH_BYTES])
{
    return snprintf(name, CAIRN_SPOOL_PATH_BYTES, "%s/cairn-of-%d", place, (int)pid) <
           CAIRN_SPOOL_PATH_BYTES;
}

static bool wanted_of(const char *folder, char path[CAIRN_SPOOL_PATH_BYTES])
{
    return snprintf(path, CAIRN_SPOOL_PATH_BYTES, "%s/" CAIRN_SPOOL_WANTED, folder) <
           CAIRN_SPOOL_PATH_BYTES;
}

static const char *place(void)
{
    const char *named = getenv("TMPDIR");

    return named != NULL && named[0] == '/' ? named : DEFAULT_PLACE;
}

/* Whether somebody holds it: then it cannot be had. `untold`: the answer where it is there and
 * cannot be opened. */
static bool is_held(const char *folder, bool untold)
{
    char path[CAIRN_SPOOL_PATH_BYTES];
    bool held;
    int fd;

    if (!wanted_of(folder, path))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return untold && errno != ENOENT && errno != ENOTDIR;
    held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

static bool find_at(const char *where, pid_t pid, char ret_folder[CAIRN_SPOOL_PATH_BYTES])
{
    char name[CAIRN_SPOOL_PATH_BYTES];
    struct stat link, folder;
    ssize_t length = 0;
    int fd;

    if (!name_of(pid, where, name))
        return false;
    /* What is read is the link that is asked whose it is. */
    fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid == geteuid())
        length = readlinkat(fd, "", ret_folder, CAIRN_SPOOL_PATH_BYTES);
    close(fd);
    if (length <= 0 || length >= CAIRN_SPOOL_PATH_BYTES)
        return false;
    ret_folder[length] = '\0';
    return lstat(ret_folder, &folder) == 0 && S_ISDIR(folder.st_mode) &&
           folder.st_uid == geteuid() && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           is_held(ret_folder, false);
}

static bool find_of(pid_t pid, char ret_folder[CAIRN_SPOOL_PATH_BYTES])
{
    const char *where = place();

    return find_at(where, pid, ret_folder) ||
           (strcmp(where, DEFAULT_PLACE) != 0 && find_at(DEFAULT_PLACE, pid, ret_folder));
}

/* 0: not known. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024], *at;
    ssize_t got;
    int fd, parent = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at == NULL || sscanf(at + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

bool cairn_announce_find(bool ancestors, char ret_folder[CAIRN_SPOOL_PATH_BYTES])
{
    int saved = errno;
    bool found = find_of(getpid(), ret_folder);
    pid_t pid = getppid();

    for (int i = 0; ancestors && !found && pid > 1 && i < MOST_ANCESTORS; i++) {
        found = find_of(pid, ret_folder);
        pid = found ? 0 : parent_of(pid);
    }
    errno = saved;
    return found;
}

/* One that was left behind makes room; one that holds stays: that recorder came first. */
static bool make_at(const char *where, pid_t pid, const char *folder)
{
    char name[CAIRN_SPOOL_PATH_BYTES], other[CAIRN_SPOOL_PATH_BYTES];

    if (!name_of(pid, where, name))
        return false;
    if (symlink(folder, name) == 0)
        return true;
    return errno == EEXIST && !(find_at(where, pid, other) && strcmp(other, folder) != 0) &&
           unlink(name) == 0 && symlink(folder, name) == 0;
}

static void remove_at(const char *where, pid_t pid, const char *folder)
{
    char name[CAIRN_SPOOL_PATH_BYTES], other[CAIRN_SPOOL_PATH_BYTES];
    ssize_t length;

    if (!name_of(pid, where, name))
        return;
    length = readlink(name, other, sizeof(other));
    if (length > 0 && (size_t)length == strlen(folder) &&
        memcmp(other, folder, (size_t)length) == 0)
        (void)unlink(name);
}

bool cairn_announce_holds(const char *folder)
{
    int saved = errno;
    bool held = is_held(folder, true);

    errno = saved;
    return held;
}

int cairn_announce_make(pid_t pid, const char *folder)
{
    char path[CAIRN_SPOOL_PATH_BYTES];
    int saved = errno, fd = -1;
    bool made;

    /* For writing: a lock of one's own takes that on NFS. */
    if (wanted_of(folder, path))
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    made = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && make_at(place(), pid, folder);
    /* A program may have another place for such files, or come to have one. */
    if (made && strcmp(place(), DEFAULT_PLACE) != 0)
        (void)make_at(DEFAULT_PLACE, pid, folder);
    if (!made && fd >= 0) {
        close(fd);
        fd = -1;
    }
    errno = saved;
    return fd;
}

void cairn_announce_remove(pid_t pid, const char *folder)
{
    int saved = errno;

    remove_at(place(), pid, folder);
    if (strcmp(place(), DEFAULT_PLACE) != 0)
        remove_at(DEFAULT_PLACE, pid, folder);
    errno = saved;
}
