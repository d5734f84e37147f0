#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

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

void cairn_output_close(struct cairn_output *output, bool whole)
{
    if (output->fd > STDERR_FILENO) {
        if (output->is_new && !whole)
            (void)unlink(output->name);
        cairn_io_close(&output->fd);
    }
    output->fd = -1;
}
