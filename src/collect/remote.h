/* remote.h: reading the memory of somebody else, behind one call.
 *
 * The same reader runs on a live process and on page sets stored by a test. Never writes, never
 * stops. Three different answers besides success: gone, not readable, short.
 * Threads: one per remote.
 */
#ifndef CAIRN_REMOTE_H
#define CAIRN_REMOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cairn_remote_part {
    uint64_t address;
    void *data; /* the caller's, size_bytes large */
    size_t size_bytes;
};

struct cairn_remote {
    /* Reads the parts in order, as close together in time as it can. *ret_parts (never NULL)
     * says how many were read whole. 0: all. -CAIRN_EGONE: the process is gone.
     * -CAIRN_EUNREADABLE: the first byte asked for is not mapped or protected (*ret_parts 0).
     * -CAIRN_ESHORT: some parts came, the one at *ret_parts did not, or not whole; what lies in
     * its data then is undefined. -CAIRN_EPERM: not allowed. */
    int (*read)(void *ctx, const struct cairn_remote_part *parts, size_t count, size_t *ret_parts);
    void *ctx;
    uint64_t calls, bytes; /* counted by cairn_remote_read */
};

int cairn_remote_read(struct cairn_remote *remote, const struct cairn_remote_part *parts,
                      size_t count, size_t *ret_parts);
/* One part; 0 or a negative code. */
int cairn_remote_get(struct cairn_remote *remote, uint64_t address, void *data, size_t size_bytes);

/* A live process: process_vm_readv, at most IOV_MAX parts a system call. */
void cairn_remote_live(struct cairn_remote *ret_remote, pid_t pid);

#endif
