/* listen.h: a socket that listens on one address of this machine. */
#ifndef CAIRN_LISTEN_H
#define CAIRN_LISTEN_H

#include <stdint.h>
#include <sys/socket.h>

#include "err.h"

/* `address`: IPv4, IPv6 or "localhost"; no name is looked up. `port` 0: a free one. The descriptor
 * (close-on-exec, not blocking), and where it listens. -CAIRN_EUSAGE for what is no address or not
 * of this machine, -CAIRN_EEXISTS for a port that is taken, -CAIRN_EPERM. */
int cairn_listen(const char *address, uint16_t port, struct sockaddr_storage *ret_bound,
                 struct cairn_err *err);

#endif
