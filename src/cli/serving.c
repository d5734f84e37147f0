#include "serving.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "ask.h"
#include "browser.h"
#include "following.h"
#include "html.h"
#include "html_parts.h"
#include "json_out.h"
#include "progress_line.h"
#include "report_json.h"
#include "say.h"
#include "show.h"

#define TEXT_MAX_BYTES 4096
#define PART_MAX_BYTES ((size_t)1 << 30)
#define KEPT_MAX_BYTES (1 << 20)
#define HTML_TYPE "text/html; charset=utf-8"
#define BYTES_TYPE "application/octet-stream"
#define JSON_TYPE "application/json; charset=utf-8"
#define TEXT_TYPE "text/plain; charset=utf-8"
#define API "/api/"

static volatile sig_atomic_t stopped;

struct view {
    struct cairn_server_site site; /* first: the server gives this back */
    const struct cairn_serving *serving;
    const struct cairn_settings *settings;
    struct cairn_progress_line line; /* of the first model */
    struct cairn_following following;
    struct cairn_buf policy;
};

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

/* Blocked but while requests are waited for, so that none comes unnoticed. `ret_waiting` is what is
 * blocked then. Who is told to outlive its terminal does. */
static void take_signals(sigset_t *ret_waiting)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = stop}, old;
    sigset_t ours;

    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue;
        sigaddset(&ours, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &ours, ret_waiting);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigdelset(ret_waiting, numbers[i]);
}

/* What has been made, copied where it may be replaced before all of it is sent. */
static void answer_made(const struct view *view, const char *type, struct cairn_span made,
                        struct cairn_server_answer *ret_answer)
{
    uint8_t *copy;

    *ret_answer = (struct cairn_server_answer){.status = MHD_HTTP_OK, .type = type, .body = made};
    if (!view->following.follows)
        return;
    copy = cairn_malloc(made.size_bytes);
    if (copy == NULL) {
        *ret_answer =
            (struct cairn_server_answer){.status = MHD_HTTP_SERVICE_UNAVAILABLE, .type = TEXT_TYPE};
        return;
    }
    memcpy(copy, made.data, made.size_bytes);
    ret_answer->body.data = copy;
    ret_answer->owned = true;
}

/* Whether there is more than a page has, and when it may as well ask again. */
static void answer_live(struct view *view, struct cairn_server_answer *ret_answer)
{
    struct cairn_following *following = &view->following;
    struct cairn_json json;
    struct cairn_buf out;

    cairn_following_ask(following);
    cairn_buf_init(&out, TEXT_MAX_BYTES);
    cairn_json_init(&json, &out, 0);
    cairn_json_object(&json);
    cairn_json_put_u64(&json, "schema", CAIRN_JSON_SCHEMA);
    cairn_json_put_bool(&json, "live", following->now.live);
    cairn_json_put_u64(&json, "version", following->version);
    cairn_json_put_seconds(&json, "wait_s", cairn_following_wait_ns(following));
    cairn_json_close(&json);
    *ret_answer = (struct cairn_server_answer){
        .status = cairn_json_end(&json) < 0 ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
        .type = JSON_TYPE,
        .owned = true,
    };
    ret_answer->body.data = cairn_buf_detach(&out, &ret_answer->body.size_bytes);
    cairn_buf_release(&out);
}

/* Of another version there is nothing: its page is older, or newer, than what there is. */
static bool is_of_version(const struct cairn_following *following,
                          const struct cairn_server_request *request, size_t parameters)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, following->version);
    return request->parameter_count == parameters &&
           strcmp(request->parameters[0].name, "version") == 0 &&
           strcmp(request->parameters[0].value, text) == 0;
}

static bool read_slice(const struct cairn_server_parameter *parameter, const char *name,
                       unsigned *ret_slice)
{
    char *end;

    if (strcmp(parameter->name, name) != 0 || parameter->value[0] < '0' ||
        parameter->value[0] > '9')
        return false;
    *ret_slice = (unsigned)strtoul(parameter->value, &end, 10);
    return *end == '\0';
}

/* The sums of a part of the time: /api/part?version=V&from=SLICE&to=SLICE, with &states=1 those of
 * each state. False: there are none. */
static bool answer_part(const struct cairn_following *following,
                        const struct cairn_server_request *request,
                        struct cairn_server_answer *ret_answer)
{
    struct cairn_html_parts *parts = following->now.parts;
    size_t size_bytes = 0;
    uint8_t *bytes = NULL;
    struct cairn_buf buf;
    bool states = request->parameter_count == 4;
    unsigned from, to;
    int code;

    if (parts == NULL || !is_of_version(following, request, states ? 4 : 3) ||
        !read_slice(&request->parameters[1], "from", &from) ||
        !read_slice(&request->parameters[2], "to", &to) ||
        (states && (strcmp(request->parameters[3].name, "states") != 0 ||
                    strcmp(request->parameters[3].value, "1") != 0)))
        return false;
    cairn_buf_init(&buf, PART_MAX_BYTES);
    code = cairn_html_parts_ask(parts, from, to, states, &buf);
    if (code == 0)
        bytes = cairn_buf_detach(&buf, &size_bytes);
    cairn_buf_release(&buf);
    *ret_answer = (struct cairn_server_answer){
        .status = code < 0 ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
        .type = code < 0 ? TEXT_TYPE : BYTES_TYPE,
        .body = {bytes, size_bytes},
        .owned = bytes != NULL,
    };
    return code != -CAIRN_EUSAGE;
}

static void answer(struct cairn_server_site *site, const struct cairn_server_request *request,
                   struct cairn_server_answer *ret_answer)
{
    static const char missing[] = "There is nothing here.\n";
    struct view *view = (struct view *)site;
    const struct cairn_following *following = &view->following;
    const struct cairn_showing *now = &following->now;

    if (strcmp(request->path, "/") == 0)
        answer_made(view, HTML_TYPE, cairn_buf_span(&now->page.buf), ret_answer);
    else if (strcmp(request->path, API "live") == 0)
        answer_live(view, ret_answer);
    else if (strcmp(request->path, API "columns") == 0 && now->columns.size_bytes > 0 &&
             is_of_version(following, request, 1))
        answer_made(view, BYTES_TYPE, cairn_buf_span(&now->columns), ret_answer);
    else if (strcmp(request->path, API "part") == 0 && answer_part(following, request, ret_answer))
        return;
    else if (strncmp(request->path, API, strlen(API)) == 0)
        cairn_ask_request(now->model, request->path + strlen(API), request, view->settings,
                          following->words.items[0], ret_answer);
    else
        *ret_answer =
            (struct cairn_server_answer){.status = MHD_HTTP_NOT_FOUND,
                                         .type = TEXT_TYPE,
                                         .body = {(const uint8_t *)missing, sizeof(missing) - 1}};
}

/* What a script waits for; what a person is to know beside it to stderr. */
static int tell(const struct cairn_server *server, const struct view *view, struct cairn_err *err)
{
    const struct cairn_serving *serving = view->serving;
    const char *address = server->guard.any ? "127.0.0.1" : serving->address;
    struct cairn_outlet first;
    struct cairn_buf text;
    int code;

    cairn_outlet_init(&first, serving->fd, serving->fd == STDOUT_FILENO ? "stdout" : "stderr");
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    serving->tell(serving, server, &first.buf);
    code = cairn_outlet_finish(&first, 0, err);
    if (server->guard.beyond) {
        const char *name = server->guard.hostname;

        cairn_server_link(server, server->guard.any && name[0] ? name : NULL, false, &text);
        cairn_say("serving beyond this machine; only this link opens it: %s",
                  cairn_buf_cstr(&text));
    }
    cairn_buf_clear(&text);
    cairn_browser_tunnel(address, server->guard.port, &text);
    if (text.size_bytes > 0)
        cairn_say("where you sit: %s", cairn_buf_cstr(&text));
    cairn_buf_clear(&text);
    cairn_server_link(server, NULL, true, &text);
    if (!view->settings->no_open && cairn_browser_is_here() && text.code == 0 &&
        !cairn_browser_open(view->settings->browser, cairn_buf_cstr(&text)))
        cairn_say("no browser could be opened: open the link yourself");
    cairn_buf_release(&text);
    return code;
}

/* On the first of its ports that nobody listens on. */
static int open_server(struct view *view, struct cairn_server *server, struct cairn_err *err)
{
    struct cairn_server_options options = {
        .address = view->serving->address,
        .port = view->serving->port,
        .idle_ns = view->settings->quit_after_ns,
        .policy = cairn_buf_cstr(&view->policy),
        .site = &view->site,
    };
    int code = cairn_server_open(server, &options, err);

    for (unsigned more = view->serving->more_ports;
         code == -CAIRN_EEXISTS && more > 0 && options.port < UINT16_MAX; more--) {
        options.port++;
        *err = (struct cairn_err){0};
        code = cairn_server_open(server, &options, err);
    }
    return code;
}

static int serve(struct view *view, struct cairn_err *err)
{
    struct cairn_server server;
    sigset_t waiting;
    bool idle = false;
    int code;

    CAIRN_TRY(open_server(view, &server, err));
    take_signals(&waiting);
    code = tell(&server, view, err);
    if (code == 0)
        code = cairn_server_run(&server, &stopped, &waiting, &idle, err);
    cairn_server_close(&server);
    if (code == 0 && idle)
        cairn_say("nobody has asked for it any more: ended");
    return code;
}

/* 0, or a negative code with `err` filled. */
static int show(struct view *view, const struct cairn_call *call, struct cairn_err *err)
{
    int code;

    cairn_progress_line_begin(&view->line);
    code = cairn_following_begin(&view->following, call, &view->line.progress, err);
    cairn_progress_line_end(&view->line);
    CAIRN_TRY(code);
    cairn_html_policy(view->following.follows || view->following.now.columns.size_bytes > 0,
                      &view->policy);
    cairn_buf_add_str(&view->policy, "; frame-ancestors 'none'");
    if (view->policy.code < 0)
        return cairn_err_set(err, view->policy.code, 0, "view", "the policy");
    return serve(view, err);
}

int cairn_serve(const struct cairn_serving *serving, const struct cairn_call *call)
{
    struct view view = {.site.answer = answer, .serving = serving, .settings = &call->settings};
    struct cairn_err err = {0};
    int code, status;

    signal(SIGPIPE, SIG_IGN);
#ifdef M_MMAP_THRESHOLD
    /* What a page is made of is megabytes: glibc would keep them for the next one. */
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_MAX_BYTES);
#endif
    cairn_buf_init(&view.policy, TEXT_MAX_BYTES);
    code = show(&view, call, &err);
    status = code < 0 ? cairn_say_err(&err) : 0;
    if (!cairn_following_end(&view.following)) { /* nobody waits for what nobody will see */
        fflush(NULL);
        _exit(status);
    }
    cairn_buf_release(&view.policy);
    return status;
}
