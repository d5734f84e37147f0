#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "clock.h"
#include "listen.h"

#define NS_PER_MS ((uint64_t)1000000)
#define NS_PER_S (1000 * NS_PER_MS)

/* A browser sends its request at once; who has not after this keeps others out. */
#define REQUEST_MAX_NS (5 * NS_PER_S)
#define CONNECTION_MAX_NS (600 * NS_PER_S) /* a large page on a slow way */
#define STALLED_MAX_S 30u
#define REQUEST_MAX_BYTES ((size_t)16 << 10)

#define TEXT_TYPE "text/plain; charset=utf-8"

static const char refused[] =
    "Cairn shows this page to whoever opens the link that it printed, and to nobody else.\n"
    "Copy the whole link, with what stands behind `?t=`, into the address bar.\n";
static const char read_only[] = "This server is only read: GET and HEAD.\n";

static struct cairn_server_answer text_answer(unsigned status, const char *text)
{
    return (struct cairn_server_answer){
        .status = status,
        .type = TEXT_TYPE,
        .body = {(const uint8_t *)text, strlen(text)},
    };
}

static void watch_connection(void *context, struct MHD_Connection *connection, void **own,
                             enum MHD_ConnectionNotificationCode what)
{
    struct cairn_server *server = context;
    struct cairn_server_connection *slot = *own;
    const union MHD_ConnectionInfo *info;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (slot != NULL)
            slot->fd = -1;
        return;
    }
    info = server->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (size_t i = 0; i < CAIRN_SERVER_CONNECTIONS_MAX && *own == NULL && info != NULL; i++) {
        if (server->connections[i].fd >= 0)
            continue;
        *own = slot = &server->connections[i];
        *slot = (struct cairn_server_connection){.fd = info->connect_fd,
                                                 .since_ns = cairn_clock_mono_ns()};
    }
}

/* What a request is judged by, and what it asks for. */
struct reading {
    const struct cairn_guard *guard;
    struct cairn_guard_request request;
    struct cairn_server_request asked;
    bool too_many;
};

static enum MHD_Result read_header(void *context, enum MHD_ValueKind kind, const char *key,
                                   const char *value)
{
    struct cairn_guard_request *request = &((struct reading *)context)->request;

    (void)kind;
    if (value == NULL)
        value = "";
    if (strcasecmp(key, "Host") == 0) {
        request->host = value;
        request->host_count++;
    } else if (strcasecmp(key, "Origin") == 0) {
        request->origin = value;
        request->origin_count++;
    } else if (strcasecmp(key, "Sec-Fetch-Site") == 0) {
        request->site = value;
        request->site_count++;
    }
    return MHD_YES;
}

static enum MHD_Result read_cookie(void *context, enum MHD_ValueKind kind, const char *key,
                                   const char *value)
{
    struct reading *reading = context;

    (void)kind;
    if (value != NULL && strcmp(key, reading->guard->cookie) == 0 &&
        cairn_guard_knows(reading->guard, value))
        reading->request.has_cookie = true;
    return MHD_YES;
}

static enum MHD_Result read_parameter(void *context, enum MHD_ValueKind kind, const char *key,
                                      const char *value)
{
    struct reading *reading = context;
    struct cairn_server_request *asked = &reading->asked;

    (void)kind;
    if (strcmp(key, "t") == 0) {
        reading->request.token = value ? value : "";
    } else if (asked->parameter_count == CAIRN_SERVER_PARAMETERS_MAX) {
        reading->too_many = true;
    } else {
        asked->parameters[asked->parameter_count++] =
            (struct cairn_server_parameter){key, value ? value : ""};
    }
    return MHD_YES;
}

static enum MHD_Result send_answer(struct cairn_server *server, struct MHD_Connection *connection,
                                   const struct cairn_server_answer *answer, bool entering)
{
    const struct {
        const char *name, *value;
    } headers[] = {
        {"Content-Type", answer->type},
        {"Content-Security-Policy", server->options.policy},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
        {"Connection", "close"},
    };
    /* The library does not write to what it will not free. */
    struct MHD_Response *response = server->mhd.create_response_from_buffer(
        answer->body.size_bytes, (void *)(uintptr_t)answer->body.data,
        answer->owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_YES;
    char cookie[128];

    if (response == NULL) {
        if (answer->owned)
            free((void *)(uintptr_t)answer->body.data);
        return MHD_NO;
    }
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]) && result == MHD_YES; i++)
        result = server->mhd.add_response_header(response, headers[i].name, headers[i].value);
    if (result == MHD_YES && answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        result = server->mhd.add_response_header(response, "Allow", "GET, HEAD");
    if (result == MHD_YES && entering) {
        snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict",
                 server->guard.cookie, server->guard.token);
        result = server->mhd.add_response_header(response, "Location", "/");
        if (result == MHD_YES)
            result = server->mhd.add_response_header(response, "Set-Cookie", cookie);
    }
    if (result == MHD_YES)
        result = server->mhd.queue_response(connection, answer->status, response);
    server->mhd.destroy_response(response);
    return result;
}

/* The path comes decoded, as a string: behind a NUL nobody would see more of it. What this returns
 * is what the request comes with. */
static void *find_nul(void *context, const char *uri, struct MHD_Connection *connection)
{
    const char *nul = strstr(uri, "%00");

    (void)connection;
    return nul && nul < uri + strcspn(uri, "?") ? context : NULL;
}

/* Answers as soon as the head has come, so that no body is ever read. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_bytes, void **own)
{
    struct cairn_server *server = context;
    struct reading reading = {.guard = &server->guard, .asked.path = *own ? "" : path};
    struct cairn_server_answer answer = text_answer(MHD_HTTP_FORBIDDEN, refused);
    const union MHD_ConnectionInfo *info;
    enum cairn_guard_verdict verdict;
    bool entering;

    (void)version, (void)upload, (void)upload_bytes;
    info = server->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info != NULL && info->socket_context != NULL)
        ((struct cairn_server_connection *)info->socket_context)->is_asked = true;
    reading.request.is_head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    reading.request.is_read = reading.request.is_head || strcmp(method, MHD_HTTP_METHOD_GET) == 0;
    server->mhd.get_connection_values(connection, MHD_HEADER_KIND, read_header, &reading);
    server->mhd.get_connection_values(connection, MHD_COOKIE_KIND, read_cookie, &reading);
    server->mhd.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, read_parameter, &reading);
    verdict = cairn_guard_judge(&server->guard, &reading.request);
    entering = verdict == CAIRN_GUARD_ENTER && strcmp(reading.asked.path, "/") == 0;
    if (verdict != CAIRN_GUARD_REFUSE)
        server->asked_ns = cairn_clock_mono_ns();
    if (verdict == CAIRN_GUARD_METHOD)
        answer = text_answer(MHD_HTTP_METHOD_NOT_ALLOWED, read_only);
    else if (entering)
        answer = text_answer(MHD_HTTP_FOUND, "");
    else if (verdict != CAIRN_GUARD_REFUSE && reading.too_many)
        answer = text_answer(MHD_HTTP_BAD_REQUEST, "The query has too many parameters.\n");
    else if (verdict != CAIRN_GUARD_REFUSE)
        server->options.site->answer(server->options.site, &reading.asked, &answer);
    return send_answer(server, connection, &answer, entering);
}

int cairn_server_open(struct cairn_server *server, const struct cairn_server_options *options,
                      struct cairn_err *err)
{
    const union MHD_DaemonInfo *info;
    struct sockaddr_storage bound;
    int fd, code;

    *server = (struct cairn_server){.options = *options, .epoll_fd = -1};
    for (size_t i = 0; i < CAIRN_SERVER_CONNECTIONS_MAX; i++)
        server->connections[i].fd = -1;
    CAIRN_TRY(cairn_mhd_open(&server->mhd, err));
    fd = code = cairn_listen(options->address, options->port, &bound, err);
    if (fd >= 0)
        code = cairn_guard_init(&server->guard, &bound, err);
    if (code >= 0) {
        server->daemon = server->mhd.start_daemon(
            MHD_USE_EPOLL | (bound.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0), server->guard.port,
            NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
            MHD_OPTION_CONNECTION_LIMIT, (unsigned)CAIRN_SERVER_CONNECTIONS_MAX,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_MAX_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
            STALLED_MAX_S, MHD_OPTION_NOTIFY_CONNECTION, watch_connection, server,
            MHD_OPTION_URI_LOG_CALLBACK, find_nul, server, MHD_OPTION_STRICT_FOR_CLIENT, 1,
            MHD_OPTION_END);
        info = server->daemon
                   ? server->mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)
                   : NULL;
        if (info != NULL)
            server->epoll_fd = info->epoll_fd;
        else
            code = cairn_err_set(err, -CAIRN_EIO, errno, "server", "the server does not start");
    }
    if (code >= 0)
        return 0;
    if (fd >= 0 && server->daemon == NULL)
        close(fd);
    cairn_server_close(server);
    return code;
}

void cairn_server_link(const struct cairn_server *server, const char *host, bool once,
                       struct cairn_buf *out)
{
    const struct in6_addr *address = &server->guard.address;
    char text[INET6_ADDRSTRLEN + 2] = "127.0.0.1";

    if (host == NULL && !server->guard.any) {
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);

        text[0] = '[';
        inet_ntop(is_v4 ? AF_INET : AF_INET6, address->s6_addr + (is_v4 ? 12 : 0),
                  text + (is_v4 ? 0 : 1), INET6_ADDRSTRLEN);
        if (!is_v4)
            memcpy(text + strlen(text), "]", 2);
    }
    cairn_buf_printf(out, "http://%s:%u/?t=%s", host ? host : text, (unsigned)server->guard.port,
                     once ? server->guard.once : server->guard.token);
}

/* Who is late is cut off, and the daemon clears away what is left; how long until the next is. */
static uint64_t cut_late(struct cairn_server *server, uint64_t now_ns)
{
    uint64_t next_ns = server->asked_ns + server->options.idle_ns;

    for (size_t i = 0; i < CAIRN_SERVER_CONNECTIONS_MAX; i++) {
        struct cairn_server_connection *connection = &server->connections[i];
        uint64_t end_ns =
            connection->since_ns + (connection->is_asked ? CONNECTION_MAX_NS : REQUEST_MAX_NS);

        if (connection->fd < 0 || connection->is_cut)
            continue;
        if (end_ns <= now_ns) {
            (void)shutdown(connection->fd, SHUT_RDWR);
            connection->is_cut = true;
        } else if (end_ns < next_ns) {
            next_ns = end_ns;
        }
    }
    return next_ns > now_ns ? next_ns - now_ns : 0;
}

int cairn_server_run(struct cairn_server *server, const volatile sig_atomic_t *stop,
                     const sigset_t *waiting, bool *ret_idle, struct cairn_err *err)
{
    struct pollfd poll = {.fd = server->epoll_fd, .events = POLLIN};
    MHD_UNSIGNED_LONG_LONG daemon_ms;

    server->asked_ns = cairn_clock_mono_ns();
    *ret_idle = false;
    while (!*stop && !*ret_idle) {
        uint64_t wait_ns = cut_late(server, cairn_clock_mono_ns());
        struct timespec wait;

        if (server->mhd.get_timeout(server->daemon, &daemon_ms) == MHD_YES &&
            daemon_ms < wait_ns / NS_PER_MS)
            wait_ns = daemon_ms * NS_PER_MS;
        wait = (struct timespec){.tv_sec = (time_t)(wait_ns / NS_PER_S),
                                 .tv_nsec = (long)(wait_ns % NS_PER_S)};
        if (ppoll(&poll, 1, &wait, waiting) < 0 && errno != EINTR)
            return cairn_err_set(err, -CAIRN_EIO, errno, "server", "waiting for requests");
        if (server->mhd.run(server->daemon) != MHD_YES)
            return cairn_err_set(err, -CAIRN_EIO, 0, "server", "the server does not go on");
        *ret_idle = cairn_clock_mono_ns() - server->asked_ns >= server->options.idle_ns;
    }
    return 0;
}

void cairn_server_close(struct cairn_server *server)
{
    if (server->daemon != NULL)
        server->mhd.stop_daemon(server->daemon);
    server->daemon = NULL;
    cairn_mhd_close(&server->mhd);
}
