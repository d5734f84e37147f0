#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "err.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define SPARE_FDS 32

int cairn_io_open(const char *path, int flags, mode_t mode)
{
    return cairn_io_openat(AT_FDCWD, path, flags, mode);
}

int cairn_io_openat(int dirfd, const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = openat(dirfd, path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

ssize_t cairn_io_read(int fd, void *data, size_t size_bytes)
{
    size_t done = 0;

    if (size_bytes > SSIZE_MAX)
        return -EINVAL;
    while (done < size_bytes) {
        ssize_t got = read(fd, (char *)data + done, size_bytes - done);

        if (got == 0)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return -errno;
    }
    return (ssize_t)done;
}

ssize_t cairn_io_pread(int fd, void *data, size_t size_bytes, uint64_t offset)
{
    size_t done = 0;

    if (size_bytes > SSIZE_MAX || offset > (uint64_t)INT64_MAX - size_bytes)
        return -EINVAL;
    while (done < size_bytes) {
        ssize_t got = pread(fd, (char *)data + done, size_bytes - done, (off_t)(offset + done));

        if (got == 0)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return -errno;
    }
    return (ssize_t)done;
}

ssize_t cairn_io_pread_once(int fd, void *data, size_t size_bytes)
{
    ssize_t got;

    do
        got = pread(fd, data, size_bytes, 0);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

int cairn_io_write(int fd, const void *data, size_t size_bytes)
{
    size_t done = 0;

    while (done < size_bytes) {
        ssize_t put = write(fd, (const char *)data + done, size_bytes - done);

        if (put > 0)
            done += (size_t)put;
        else if (put == 0)
            return -EIO; /* a device that takes nothing and says nothing: never loop on it */
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int cairn_io_pwrite(int fd, const void *data, size_t size_bytes, uint64_t offset)
{
    size_t done = 0;

    if (size_bytes > INT64_MAX || offset > (uint64_t)INT64_MAX - size_bytes)
        return -EINVAL;
    while (done < size_bytes) {
        ssize_t put =
            pwrite(fd, (const char *)data + done, size_bytes - done, (off_t)(offset + done));

        if (put > 0)
            done += (size_t)put;
        else if (put == 0)
            return -EIO;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

/* Sizes in /proc are 0 and files grow, so only reading tells where the end is. */
static int read_to_end(int fd, struct cairn_buf *buf)
{
    for (;;) {
        size_t room = buf->max_bytes - buf->size_bytes;
        size_t want = room < CHUNK_BYTES ? room : CHUNK_BYTES;
        ssize_t got;

        if (room == 0) {
            char one;

            got = cairn_io_read(fd, &one, 1);
            return got > 0 ? -EFBIG : (int)got;
        }
        if (cairn_buf_reserve(buf, want) < 0)
            return -ENOMEM;
        got = cairn_io_read(fd, buf->data + buf->size_bytes, want);
        if (got < 0)
            return (int)got;
        buf->size_bytes += (size_t)got;
        if ((size_t)got < want)
            return 0;
    }
}

int cairn_io_read_file(int dirfd, const char *path, struct cairn_buf *buf)
{
    size_t before_bytes = buf->size_bytes;
    int fd, code;

    if (buf->code < 0)
        return buf->code == -CAIRN_ENOMEM ? -ENOMEM : -EFBIG;
    fd = cairn_io_openat(dirfd, path, O_RDONLY, 0);
    if (fd < 0)
        return fd;
    code = read_to_end(fd, buf);
    if (code < 0)
        buf->size_bytes = before_bytes;
    cairn_io_close(&fd);
    return code;
}

int cairn_io_keep(int fd, unsigned percent)
{
    struct rlimit limit;

    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return fd;
    /* The lowest free number is given out: those below are taken. */
    if ((rlim_t)fd + SPARE_FDS < limit.rlim_cur / 100 * percent)
        return fd;
    cairn_io_close(&fd);
    return -EMFILE;
}

void cairn_io_close(int *fd)
{
    /* Not again after EINTR: Linux has closed it, and the number may be somebody else's by then. */
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
