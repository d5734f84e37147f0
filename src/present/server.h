/* server.h: serves one page, and what it asks for, to whoever holds the link (guard.h).
 *
 * One thread, in turns: a client that stalls costs a connection and no more, for a limited time.
 * A connection carries one request, whose head has to come within seconds and fit a few KiB; bodies
 * are not read. Every answer says the same about what a browser may do with it.
 * Owner: the caller, from a successful open to the close. Threads: one.
 */
#ifndef CAIRN_SERVER_H
#define CAIRN_SERVER_H

#include <signal.h>

#include "buf.h"
#include "guard.h"
#include "mhd.h"

#define CAIRN_SERVER_CONNECTIONS_MAX 128
#define CAIRN_SERVER_PARAMETERS_MAX 32

struct cairn_server_parameter { /* of the query, unescaped; borrowed */
    const char *name, *value;   /* value: "" when there is none */
};

struct cairn_server_request {
    const char *path; /* unescaped */
    struct cairn_server_parameter parameters[CAIRN_SERVER_PARAMETERS_MAX];
    size_t parameter_count;
};

struct cairn_server_answer {
    unsigned status;        /* of HTTP */
    const char *type;       /* Content-Type; static */
    struct cairn_span body; /* borrowed until the server is closed, unless `owned` */
    bool owned;             /* `body.data` is from malloc, and freed when it is sent */
};

struct cairn_server_site {
    /* What a request that the guard let pass gets: fills `ret_answer`. */
    void (*answer)(struct cairn_server_site *site, const struct cairn_server_request *request,
                   struct cairn_server_answer *ret_answer);
};

struct cairn_server_options {
    const char *address; /* IPv4, IPv6 or "localhost" */
    uint16_t port;       /* 0: a free one */
    uint64_t idle_ns;    /* ends when nobody that was let in has asked for so long */
    const char *policy;  /* Content-Security-Policy; borrowed */
    struct cairn_server_site *site;
};

struct cairn_server_connection {
    int fd;            /* -1: free */
    uint64_t since_ns; /* when it came */
    bool is_asked;     /* its request has come whole */
    bool is_cut;
};

struct cairn_server {
    struct cairn_server_options options;
    struct cairn_mhd mhd;
    struct cairn_guard guard;
    struct MHD_Daemon *daemon;
    int epoll_fd; /* the daemon's */
    uint64_t asked_ns;
    struct cairn_server_connection connections[CAIRN_SERVER_CONNECTIONS_MAX];
};

/* 0, or a negative code with `err` filled: a port that is taken, an address that is not ours. */
int cairn_server_open(struct cairn_server *server, const struct cairn_server_options *options,
                      struct cairn_err *err);

/* Appends the link that opens the page, by the host `host`, NULL: as this machine reaches it.
 * `once`: the one that opens it once. */
void cairn_server_link(const struct cairn_server *server, const char *host, bool once,
                       struct cairn_buf *out);

/* Serves until `*stop` is set by the handler of a signal, which `waiting` lets through and the
 * caller has blocked, or until nobody asks any more: then *ret_idle. */
int cairn_server_run(struct cairn_server *server, const volatile sig_atomic_t *stop,
                     const sigset_t *waiting, bool *ret_idle, struct cairn_err *err);
void cairn_server_close(struct cairn_server *server);

#endif
