#include "serving.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "browser.h"
#include "html.h"
#include "progress_line.h"
#include "say.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)
#define TEXT_MAX_BYTES 4096
#define HTML_TYPE "text/html; charset=utf-8"
#define API "/api/"

static volatile sig_atomic_t stopped;

struct view {
    struct cairn_server_site site; /* first: the server gives this back */
    const struct cairn_serving *serving;
    const struct cairn_settings *settings;
    struct cairn_progress_line line; /* of the model */
    struct cairn_model *model;
    struct cairn_buf path; /* of the recording that was found by itself */
    const char *file;
    struct cairn_outlet page;
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

static void answer(struct cairn_server_site *site, const struct cairn_server_request *request,
                   struct cairn_server_answer *ret_answer)
{
    static const char missing[] = "There is nothing here.\n";
    const struct view *view = (const struct view *)site;

    if (strcmp(request->path, "/") == 0)
        *ret_answer = (struct cairn_server_answer){
            .status = MHD_HTTP_OK, .type = HTML_TYPE, .body = cairn_buf_span(&view->page.buf)};
    else if (strncmp(request->path, API, strlen(API)) == 0)
        cairn_ask_request(view->model, request->path + strlen(API), request, view->settings,
                          view->file, ret_answer);
    else
        *ret_answer =
            (struct cairn_server_answer){.status = MHD_HTTP_NOT_FOUND,
                                         .type = "text/plain; charset=utf-8",
                                         .body = {(const uint8_t *)missing, sizeof(missing) - 1}};
}

static int make_page(const struct cairn_call *call, struct view *view, struct cairn_err *err)
{
    struct cairn_html_options options = {.source = call->settings.source};
    struct cairn_model *before;
    int code;

    CAIRN_TRY(cairn_show_load(&call->words, call->settings.each_ns, &view->line.progress,
                              &view->model, &view->path, err));
    view->file = call->words.count > 0 ? call->words.items[0] : cairn_buf_cstr(&view->path);
    CAIRN_TRY(cairn_show_page_filter(&call->settings, &options.filter, err));
    CAIRN_TRY(cairn_show_load_before(&call->settings, &view->line.progress, &before, err));
    options.before = before;
    code = cairn_html(view->model, &options, &view->page, err);
    cairn_model_free(before);
    return cairn_outlet_finish(&view->page, code, err);
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

int cairn_serve(const struct cairn_serving *serving, const struct cairn_call *call)
{
    struct view view = {.site.answer = answer, .serving = serving, .settings = &call->settings};
    struct cairn_err err = {0};
    int code;

    signal(SIGPIPE, SIG_IGN);
    cairn_outlet_init(&view.page, -1, "the page");
    cairn_buf_init(&view.path, PATH_MAX_BYTES);
    cairn_buf_init(&view.policy, TEXT_MAX_BYTES);
    cairn_html_policy(&view.policy);
    cairn_buf_add_str(&view.policy, "; frame-ancestors 'none'");
    cairn_progress_line_begin(&view.line);
    code = view.policy.code < 0 ? cairn_err_set(&err, view.policy.code, 0, "view", "the policy")
                                : make_page(call, &view, &err);
    cairn_progress_line_end(&view.line);
    if (code == 0)
        code = serve(&view, &err);
    cairn_model_free(view.model);
    cairn_buf_release(&view.path);
    cairn_outlet_release(&view.page);
    cairn_buf_release(&view.policy);
    return code < 0 ? cairn_say_err(&err) : 0;
}
