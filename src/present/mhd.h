/* mhd.h: libmicrohttpd, taken in only when something is served.
 *
 * It brings gnutls and seven libraries more along. No other command is to pay for mapping them, and
 * the collector, which may work as root, is not to hold code that it has no use for.
 * Owner: the caller, until cairn_mhd_close(). Threads: one at a time.
 */
#ifndef CAIRN_MHD_H
#define CAIRN_MHD_H

#include <microhttpd.h>

#include "err.h"

#define CAIRN_MHD_CALLS(X)                                                                         \
    X(start_daemon)                                                                                \
    X(stop_daemon)                                                                                 \
    X(run)                                                                                         \
    X(get_timeout)                                                                                 \
    X(get_daemon_info)                                                                             \
    X(get_connection_info)                                                                         \
    X(get_connection_values)                                                                       \
    X(create_response_from_buffer)                                                                 \
    X(add_response_header)                                                                         \
    X(queue_response)                                                                              \
    X(destroy_response)

struct cairn_mhd { /* MHD_run() is `run`, with the type that its header gives it */
    void *library; /* NULL: not there */
#define X(name) __typeof__(&MHD_##name) name;
    CAIRN_MHD_CALLS(X)
#undef X
};

/* 0, or -CAIRN_EIO with what to install. */
int cairn_mhd_open(struct cairn_mhd *ret_mhd, struct cairn_err *err);
void cairn_mhd_close(struct cairn_mhd *mhd);

#endif
