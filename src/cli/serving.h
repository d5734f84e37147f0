/* serving.h: the page of some recordings, or files of other tools, from a server of its own: what
 * `cairn view` does, and what the viewers that it stands in for do. Owner: borrows all.
 */
#ifndef CAIRN_SERVING_H
#define CAIRN_SERVING_H

#include <string.h>

#include "command.h"
#include "server.h"

struct cairn_serving {
    const char *address; /* IPv4, IPv6 or "localhost" */
    uint16_t port;       /* 0: a free one */
    uint16_t more_ports; /* so many behind it are tried while they are taken */
    int fd;              /* where it says so: STDOUT_FILENO, STDERR_FILENO */
    /* Appends what is printed there once it is served. */
    void (*tell)(const struct cairn_serving *serving, const struct cairn_server *server,
                 struct cairn_buf *out);
};

/* The host of a link that names the address as it was asked for; NULL: by its number. */
static inline const char *cairn_serving_host(const struct cairn_serving *serving)
{
    return strcmp(serving->address, "localhost") == 0 ? serving->address : NULL;
}

/* Loads what the call's words name, and serves it until Ctrl-C, or until nobody has asked for long.
 * Opens a browser where there is a desktop, unless the settings say otherwise. The exit status;
 * what failed has been said. */
int cairn_serve(const struct cairn_serving *serving, const struct cairn_call *call);

#endif
