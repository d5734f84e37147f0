/* netsockets.h: the addresses of a process' sockets, from the kernel's tables in /proc/PID/net. */
#ifndef CAIRN_NETSOCKETS_H
#define CAIRN_NETSOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"

/* Calls `found` with the inode and "127.0.0.1:5432" (the other side), "listening on 0.0.0.0:80" or
 * a unix socket's path for each. A table above 1 MiB is left out. */
void cairn_netsockets_each(pid_t pid, void (*found)(void *ctx, uint64_t inode, const char *text),
                           void *ctx);

/* The same for the text of one table of the kernel: `unix_table`, else one of tcp, tcp6, udp, udp6.
 * Lines that are not what they should be are passed over. */
void cairn_netsockets_parse(const char *table, bool unix_table,
                            void (*found)(void *ctx, uint64_t inode, const char *text), void *ctx);

#endif
