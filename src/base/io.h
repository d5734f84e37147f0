/* io.h: system calls that return -errno, retry EINTR and finish what they began.
 *
 * Every descriptor opened here is close-on-exec.
 */
#ifndef CAIRN_IO_H
#define CAIRN_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"

/* Descriptor, or -errno. `flags` as for open(2); O_CLOEXEC is added. */
int cairn_io_open(const char *path, int flags, mode_t mode);
int cairn_io_openat(int dirfd, const char *path, int flags, mode_t mode);

/* Reads until `size_bytes` or the end of the file: bytes read, or -errno. */
ssize_t cairn_io_read(int fd, void *data, size_t size_bytes);
ssize_t cairn_io_pread(int fd, void *data, size_t size_bytes, uint64_t offset);

/* What one system call yields from the start of the file: bytes read, or -errno. The kernel makes
 * the text of a small file under /proc at once: to ask whether there is more costs as much again.
 */
ssize_t cairn_io_pread_once(int fd, void *data, size_t size_bytes);

/* Writes all of it: 0, or -errno (a part may have been written). */
int cairn_io_write(int fd, const void *data, size_t size_bytes);
int cairn_io_pwrite(int fd, const void *data, size_t size_bytes, uint64_t offset);

/* Appends a whole file to `buf`, whose ceiling bounds it. 0, -errno, or -EFBIG. */
int cairn_io_read_file(int dirfd, const char *path, struct cairn_buf *buf);

/* For descriptors that are kept in numbers: `fd` itself while fewer than `percent` of those that
 * the process may have are taken, some being spared for files that are opened for a moment; else it
 * is closed and -EMFILE comes back. What is negative comes back as it is. */
int cairn_io_keep(int fd, unsigned percent);

/* Closes and sets to -1; -1 is allowed. */
void cairn_io_close(int *fd);

#endif
