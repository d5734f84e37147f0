/* guard.h: who may see what a local server serves: whoever brings its token, from where it was
 * meant to be opened.
 *
 * The link holds a random token of 128 bits; the first visit gets it as a cookie instead. A page of
 * somebody else in the same browser can make it send requests, cookie included, so each request is
 * held against what a browser says of it: the name it asked for (Host: a name that DNS was made to
 * give this address is not ours), and who asked (Origin, Sec-Fetch-Site; another port of this
 * machine is the same site to a browser, and not the same origin).
 * Judging changes nothing but that a key for one visit is used up. Threads: one at a time.
 */
#ifndef CAIRN_GUARD_H
#define CAIRN_GUARD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "err.h"

#define CAIRN_GUARD_TOKEN_CHARS 32 /* hexadecimal: 128 bits */

struct cairn_guard {
    char token[CAIRN_GUARD_TOKEN_CHARS + 1];
    char once[CAIRN_GUARD_TOKEN_CHARS + 1]; /* opens one visit and no more; "": used up */
    char cookie[24];                        /* name: those of one host are shared by its ports */
    uint16_t port;
    struct in6_addr address; /* that is listened on; IPv4 as ::ffff:a.b.c.d */
    bool any, beyond;        /* it is every address; other machines reach it */
    char hostname[256];      /* of this machine, where others reach it; "": none */
};

/* What a request brought, as it came. Of what came twice the count tells. */
struct cairn_guard_request {
    bool is_read, is_head;            /* GET or HEAD; HEAD */
    const char *host, *origin, *site; /* NULL: not there */
    unsigned host_count, origin_count, site_count;
    bool has_cookie;   /* cairn_guard_knows() one of the cookies of that name */
    const char *token; /* `t` of the query, NULL: not there */
};

enum cairn_guard_verdict {
    CAIRN_GUARD_PASS,
    CAIRN_GUARD_ENTER,  /* it brought the token: pass with a cookie, and drop the token */
    CAIRN_GUARD_REFUSE, /* 403 */
    CAIRN_GUARD_METHOD, /* 405 */
};

/* For a socket that is bound to `address`, IPv4 or IPv6. -CAIRN_EIO without random numbers. */
int cairn_guard_init(struct cairn_guard *guard, const struct sockaddr_storage *address,
                     struct cairn_err *err);

/* Whether `text` is the token, in a time that does not tell how much of it is. */
bool cairn_guard_knows(const struct cairn_guard *guard, const char *text);

enum cairn_guard_verdict cairn_guard_judge(struct cairn_guard *guard,
                                           const struct cairn_guard_request *request);

#endif
