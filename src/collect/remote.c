#include "remote.h"

#include <errno.h>
#include <limits.h>
#include <sys/uio.h>

#include "err.h"

int cairn_remote_read(struct cairn_remote *remote, const struct cairn_remote_part *parts,
                      size_t count, size_t *ret_parts)
{
    int code = remote->read(remote->ctx, parts, count, ret_parts);

    remote->calls++;
    for (size_t i = 0; i < *ret_parts; i++)
        remote->bytes += parts[i].size_bytes;
    return code;
}

int cairn_remote_get(struct cairn_remote *remote, uint64_t address, void *data, size_t size_bytes)
{
    const struct cairn_remote_part part = {address, data, size_bytes};
    size_t done;

    return cairn_remote_read(remote, &part, 1, &done);
}

/* One system call. Returns the bytes read, or a negative code. */
static ssize_t read_live(pid_t pid, const struct cairn_remote_part *parts, size_t count)
{
    struct iovec here[IOV_MAX], there[IOV_MAX];
    ssize_t got;

    for (size_t i = 0; i < count; i++) {
        here[i].iov_base = parts[i].data;
        there[i].iov_base = (void *)(uintptr_t)parts[i].address;
        here[i].iov_len = there[i].iov_len = parts[i].size_bytes;
    }
    got = process_vm_readv(pid, here, count, there, count, 0);
    if (got >= 0)
        return got;
    switch (errno) {
    case ESRCH:
        return -CAIRN_EGONE;
    case EPERM:
    case EACCES:
    case ENOSYS: /* what some filters of system calls answer */
        return -CAIRN_EPERM;
    case ENOMEM: /* the kernel's own, for this one call; ours would be an end of the recording */
    case EFAULT:
        return -CAIRN_EUNREADABLE;
    default:
        return -CAIRN_EIO;
    }
}

/* How many parts lie whole in the first `size_bytes` bytes. */
static size_t whole_parts(const struct cairn_remote_part *parts, size_t count, size_t size_bytes)
{
    size_t i = 0;

    while (i < count && parts[i].size_bytes <= size_bytes)
        size_bytes -= parts[i++].size_bytes;
    return i;
}

static int live_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                     size_t *ret_parts)
{
    pid_t pid = (pid_t)(intptr_t)ctx;

    *ret_parts = 0;
    while (*ret_parts < count) {
        size_t left = count - *ret_parts;
        size_t some = left < IOV_MAX ? left : IOV_MAX;
        ssize_t got = read_live(pid, parts + *ret_parts, some);
        size_t whole;

        if (got == -CAIRN_EUNREADABLE && *ret_parts > 0)
            return -CAIRN_ESHORT;
        if (got < 0)
            return (int)got;
        whole = whole_parts(parts + *ret_parts, some, (size_t)got);
        *ret_parts += whole;
        if (whole < some)
            return -CAIRN_ESHORT;
    }
    return 0;
}

void cairn_remote_live(struct cairn_remote *ret_remote, pid_t pid)
{
    *ret_remote = (struct cairn_remote){.read = live_read, .ctx = (void *)(intptr_t)pid};
}
