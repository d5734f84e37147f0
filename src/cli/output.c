#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

#define MISSING_MAX 16 /* files in a row that a recording of several may have lost */

static bool is_same(const struct stat *info, const char *path)
{
    struct stat other;

    return stat(path, &other) == 0 && info->st_dev == other.st_dev && info->st_ino == other.st_ino;
}

int cairn_output_check(const char *path, const char *read, struct cairn_err *err)
{
    char *member = NULL;
    struct stat info;
    bool same;

    if (strcmp(path, "-") == 0 || stat(path, &info) < 0 || !S_ISREG(info.st_mode))
        return 0;
    same = is_same(&info, read);
    for (unsigned i = 1, missing = 0; !same && missing < MISSING_MAX; i++) {
        if (asprintf(&member, "%s.%u", read, i) < 0)
            break; /* best effort */
        same = is_same(&info, member);
        missing = access(member, F_OK) == 0 ? 0 : missing + 1;
        free(member);
    }
    if (!same)
        return 0;
    cairn_err_set(err, -CAIRN_EEXISTS, 0, "output", "%.300s is the recording that is read", path);
    cairn_err_add(err, "Name another file with -o.");
    return -CAIRN_EEXISTS;
}

/* Beside the file that is there, and with its rights. Where that cannot be (no right to make files
 * there), or there is nobody to replace, -1. */
static int open_beside(const char *path, const struct stat *info, struct cairn_output *output)
{
    int fd = -1;

    output->old = realpath(path, NULL);
    if (output->old == NULL || asprintf(&output->part, "%s.%d.part", output->old, getpid()) < 0)
        output->part = NULL;
    if (output->part != NULL)
        fd = cairn_io_open(output->part, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0600);
    if (fd >= 0 && fchmod(fd, info->st_mode & 07777) == 0)
        return fd;
    if (fd >= 0)
        (void)unlink(output->part);
    cairn_io_close(&fd);
    free(output->part);
    free(output->old);
    output->part = output->old = NULL;
    return -1;
}

int cairn_output_open(const char *path, bool force, struct cairn_output *ret_output,
                      struct cairn_err *err)
{
    int flags = O_WRONLY | O_NOCTTY, fd;
    bool is_file, refused;
    struct stat info;

    if (strcmp(path, "-") == 0) {
        *ret_output = cairn_output_borrow(STDOUT_FILENO, "stdout");
        return 0;
    }
    *ret_output = (struct cairn_output){.fd = -1, .name = path};
    ret_output->is_new = stat(path, &info) < 0;
    is_file = !ret_output->is_new && S_ISREG(info.st_mode);
    refused = is_file && !force;
    if (ret_output->is_new)
        flags |= O_CREAT | O_EXCL;
    else if (is_file)
        flags |= O_TRUNC;
    fd = is_file && !refused && access(path, W_OK) == 0 ? open_beside(path, &info, ret_output) : -1;
    if (fd < 0)
        fd = refused ? -EEXIST : cairn_io_open(path, flags, 0666);
    if (fd == -EEXIST) {
        cairn_err_set(err, -CAIRN_EEXISTS, 0, "output", "%.300s exists already", path);
        cairn_err_add(err, "Name another file, or write over it with --force.");
        return -CAIRN_EEXISTS;
    }
    /* A folder that is not there is not what 127, "not found", tells a script. */
    if (fd < 0)
        return cairn_err_set(err, fd == -EACCES || fd == -EPERM ? -CAIRN_EPERM : -CAIRN_EIO, -fd,
                             "output", "%.300s cannot be written", path);
    ret_output->fd = fd;
    return 0;
}

struct cairn_output cairn_output_borrow(int fd, const char *name)
{
    return (struct cairn_output){.fd = fd, .name = name};
}

int cairn_output_close(struct cairn_output *output, bool whole, struct cairn_err *err)
{
    int code = 0;

    if (output->fd > STDERR_FILENO) {
        const char *made = output->part ? output->part : output->is_new ? output->name : NULL;

        if (whole && output->part && rename(output->part, output->old) < 0) {
            code = cairn_err_set(err, errno == EACCES || errno == EPERM ? -CAIRN_EPERM : -CAIRN_EIO,
                                 errno, "output", "%.300s cannot be written", output->name);
            whole = false;
        }
        if (!whole && made)
            (void)unlink(made);
        cairn_io_close(&output->fd);
    }
    free(output->part);
    free(output->old);
    *output = (struct cairn_output){.fd = -1};
    return code;
}
