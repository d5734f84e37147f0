#include "guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#define HTTP_PORT 80
#define HOST_MAX_CHARS 255
#define SCHEME "http://"

static int draw_token(char *ret_text, struct cairn_err *err)
{
    uint8_t bytes[CAIRN_GUARD_TOKEN_CHARS / 2];

    /* So few bytes come whole, or not at all. */
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return cairn_err_set(err, -CAIRN_EIO, errno, "guard",
                             "the kernel gives no random numbers for a token");
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

static bool is_any(const struct in6_addr *address)
{
    static const uint8_t none[4];

    return IN6_IS_ADDR_UNSPECIFIED(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && memcmp(address->s6_addr + 12, none, 4) == 0);
}

static void map_v4(const void *v4, struct in6_addr *ret_address)
{
    *ret_address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(ret_address->s6_addr + 12, v4, 4);
}

int cairn_guard_init(struct cairn_guard *guard, const struct sockaddr_storage *address,
                     struct cairn_err *err)
{
    *guard = (struct cairn_guard){.port = 0};
    CAIRN_TRY(draw_token(guard->token, err));
    CAIRN_TRY(draw_token(guard->once, err));
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

        guard->address = v6->sin6_addr;
        guard->port = ntohs(v6->sin6_port);
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

        map_v4(&v4->sin_addr, &guard->address);
        guard->port = ntohs(v4->sin_port);
    }
    guard->any = is_any(&guard->address);
    guard->beyond = !is_loopback(&guard->address);
    snprintf(guard->cookie, sizeof(guard->cookie), "cairn-%u", (unsigned)guard->port);
    if (guard->beyond && gethostname(guard->hostname, sizeof(guard->hostname) - 1) < 0)
        guard->hostname[0] = '\0';
    return 0;
}

static bool same_text(const char *secret, const char *text)
{
    unsigned differ = 0;

    if (strlen(secret) != CAIRN_GUARD_TOKEN_CHARS || strlen(text) != CAIRN_GUARD_TOKEN_CHARS)
        return false;
    for (size_t i = 0; i < CAIRN_GUARD_TOKEN_CHARS; i++)
        differ |= (unsigned)(secret[i] ^ text[i]);
    return differ == 0;
}

bool cairn_guard_knows(const struct cairn_guard *guard, const char *text)
{
    return same_text(guard->token, text);
}

/* "name:port", "[v6]:port", or without a port, which is that of http. */
static bool split_host(const char *host, char *ret_name, unsigned *ret_port, bool *ret_is_v6)
{
    const char *begin = host, *end, *behind;
    size_t length;

    *ret_is_v6 = host[0] == '[';
    if (*ret_is_v6) {
        begin++;
        end = strchr(begin, ']');
        behind = end ? end + 1 : NULL;
    } else {
        end = behind = begin + strcspn(begin, ":");
    }
    if (end == NULL || end == begin || (length = (size_t)(end - begin)) > HOST_MAX_CHARS)
        return false;
    memcpy(ret_name, begin, length);
    ret_name[length] = '\0';
    *ret_port = HTTP_PORT;
    if (*behind == '\0')
        return true;
    if (*behind++ != ':' || *behind == '\0' || strlen(behind) > 5 ||
        behind[strspn(behind, "0123456789")] != '\0')
        return false;
    *ret_port = (unsigned)strtoul(behind, NULL, 10);
    return true;
}

/* A number cannot be another's: only for names is DNS asked. Where every address is listened on,
 * each of them is ours. */
static bool is_ours(const struct cairn_guard *guard, const char *name, bool is_v6)
{
    struct in6_addr address;
    struct in_addr v4;

    if (is_v6) {
        if (inet_pton(AF_INET6, name, &address) != 1)
            return false;
    } else if (inet_pton(AF_INET, name, &v4) == 1) {
        map_v4(&v4, &address);
    } else {
        bool here = guard->any || !guard->beyond;

        return (here && strcasecmp(name, "localhost") == 0) ||
               (guard->hostname[0] != '\0' && strcasecmp(name, guard->hostname) == 0);
    }
    return guard->any || memcmp(&address, &guard->address, sizeof(address)) == 0;
}

static bool is_right_host(const struct cairn_guard *guard, const char *host)
{
    char name[HOST_MAX_CHARS + 1];
    unsigned port;
    bool is_v6;

    return split_host(host, name, &port, &is_v6) && port == guard->port &&
           is_ours(guard, name, is_v6);
}

static bool is_right_place(const struct cairn_guard *guard,
                           const struct cairn_guard_request *request)
{
    if (request->host_count != 1 || !is_right_host(guard, request->host))
        return false;
    if (request->origin_count > 1 || request->site_count > 1)
        return false;
    if (request->origin && (strncmp(request->origin, SCHEME, strlen(SCHEME)) != 0 ||
                            strcasecmp(request->origin + strlen(SCHEME), request->host) != 0))
        return false;
    return request->site == NULL || strcmp(request->site, "same-origin") == 0 ||
           strcmp(request->site, "none") == 0;
}

enum cairn_guard_verdict cairn_guard_judge(struct cairn_guard *guard,
                                           const struct cairn_guard_request *request)
{
    bool has_token = request->token != NULL && cairn_guard_knows(guard, request->token);
    bool has_once = request->token != NULL && same_text(guard->once, request->token);

    if (!is_right_place(guard, request) || !(request->has_cookie || has_token || has_once))
        return CAIRN_GUARD_REFUSE;
    if (!request->is_read)
        return CAIRN_GUARD_METHOD;
    if (request->token == NULL)
        return CAIRN_GUARD_PASS;
    if (has_once && !request->is_head)
        guard->once[0] = '\0';
    return CAIRN_GUARD_ENTER;
}
