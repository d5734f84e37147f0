#include "kinds.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "buf.h"
#include "pyregex.h"

/* Frames in which a thread sits until there is work, by module and name (3.8 to 3.10 record no
 * qualname). Only time blocked in them counts. */
static const struct {
    const char *module, *name;
} idle_frames[] = {
    {"selectors", "select"},
    {"socket", "accept"},
    {"threading", "wait"},
    {"threading", "join"},
    {"threading", "_wait_for_tstate_lock"},
    {"threading", "_shutdown"},
    {"queue", "get"},
    {"concurrent.futures.thread", "_worker"},
    {"multiprocessing.pool", "_handle_tasks"},
    {"multiprocessing.pool", "_handle_results"},
    {"multiprocessing.connection", "wait"},
    {"multiprocessing.connection", "_poll"},
    {"multiprocessing.connection", "_recv"},
    {"multiprocessing.popen_fork", "poll"},
    {"multiprocessing.popen_forkserver", "poll"},
    {"multiprocessing.queues", "get"},
    {"multiprocessing.resource_tracker", "main"},
    {"loky.backend.resource_tracker", "main"},
    {"joblib.externals.loky.backend.resource_tracker", "main"},
    {"asyncio.runners", "run"}, /* uvloop's own loop shows no frame below it */
    {"uvloop", "run"},
    {"gunicorn.arbiter", "sleep"},
    {"gunicorn.arbiter", "wait_for_signals"},
    {"gunicorn.workers.sync", "wait"},
    {"gevent.hub", "run"},
    {"eventlet.hubs.epolls", "do_poll"},
    {"eventlet.hubs.poll", "do_poll"},
    {"eventlet.hubs.selects", "wait"},
    {"joblib.parallel", "_retrieve"}, /* asks every 10 ms whether its workers are done */
    {"kombu.utils.eventio", "poll"},
    {"twisted.internet.epollreactor", "doPoll"},
    {"twisted.internet.pollreactor", "doPoll"},
    {"twisted.internet.selectreactor", "doSelect"},
    {"waitress.wasyncore", "poll"},
    {"watchdog.observers.inotify_c", "read_events"},
    {"watchdog.observers.inotify_c", "_check_inotify_fd"},
    {"trio._core._io_epoll", "get_events"},
    {"trio._core._thread_cache", "_work"},
    {"werkzeug._reloader", "run"},
};

/* Outermost frames of the main thread that are no longer the program. */
static const struct {
    const char *module, *name;
} exit_frames[] = {
    {"threading", "_shutdown"},
    {"logging", "shutdown"},
    {"concurrent.futures.thread", "_python_exit"},
    {"concurrent.futures.process", "_python_exit"},
    {"multiprocessing.util", "_exit_function"},
    {"weakref", "_exitfunc"},
};

/* What one function says, before its place in the stack is looked at. */
enum {
    IS_IDLE = 1,
    IS_EXIT = 2,
    IS_IMPORT = 4,
    IS_LAUNCH = 8,      /* runpy: python -m */
    IS_STARTUP = 16,    /* what the interpreter runs by itself */
    IS_SUBPROCESS = 32, /* waits below it are for somebody who works */
    IS_NO_PYTHON = 64,
    IS_INNER_STDLIB = 128, /* a function, not a module's body, of the standard library */
};

/* How far a stack has come, frame by frame from the outermost. */
enum progress { AT_ROOT, LAUNCHING, NOT_PROGRAM, IN_PROGRAM, IN_IMPORT };

#define PROGRESS_MASK 7
#define BELOW_SUBPROCESS 8

static bool is_text(struct cairn_span text, const char *other)
{
    size_t size_bytes = strlen(other);

    return text.size_bytes == size_bytes && !memcmp(text.data, other, size_bytes);
}

static bool ends_with(struct cairn_span text, const char *end)
{
    size_t size_bytes = strlen(end);

    return text.size_bytes >= size_bytes &&
           !memcmp(text.data + text.size_bytes - size_bytes, end, size_bytes);
}

/* What begins counting runs before the program; a stack that was read in part may begin in it. */
static bool is_own(const struct cairn_function *function)
{
    return ends_with(function->file, "/cairn/_site/_cairn_counting.py") ||
           ends_with(function->file, "/cairn/_site/sitecustomize.py");
}

static unsigned judge(const struct cairn_function *function)
{
    bool is_stdlib = function->origin == CAIRN_ORIGIN_STDLIB;
    unsigned flags = 0;

    if (function->kind == CAIRN_FUNCTION_LABEL)
        /* What waits without Python, a shell above all, waits for somebody else. */
        return cairn_function_is_label(function, "[not python]") ? IS_NO_PYTHON : 0;
    if (function->origin == CAIRN_ORIGIN_IMPORT)
        return IS_IMPORT;
    if (is_stdlib && !is_text(function->name, "<module>"))
        flags |= IS_INNER_STDLIB;
    if (is_stdlib && is_text(function->module, "runpy"))
        flags |= IS_LAUNCH;
    if (is_stdlib && is_text(function->module, "getpath"))
        flags |= IS_STARTUP;
    if (is_stdlib && is_text(function->module, "site"))
        flags |= IS_STARTUP;
    if (is_stdlib && is_text(function->module, "subprocess"))
        flags |= IS_SUBPROCESS;
    if (is_own(function))
        flags |= IS_STARTUP;
    if (function->origin == CAIRN_ORIGIN_USER || function->origin == CAIRN_ORIGIN_NONE)
        return flags;
    for (size_t i = 0; i < sizeof(idle_frames) / sizeof(idle_frames[0]); i++)
        if (is_text(function->name, idle_frames[i].name) &&
            is_text(function->module, idle_frames[i].module))
            flags |= IS_IDLE;
    for (size_t i = 0; i < sizeof(exit_frames) / sizeof(exit_frames[0]); i++)
        if (is_text(function->name, exit_frames[i].name) &&
            is_text(function->module, exit_frames[i].module))
            flags |= IS_EXIT;
    return flags;
}

static enum progress step(enum progress progress, unsigned flags)
{
    switch (progress) {
    case AT_ROOT:
        if (flags & (IS_IMPORT | IS_EXIT | IS_STARTUP | IS_NO_PYTHON))
            return NOT_PROGRAM;
        return flags & IS_LAUNCH ? LAUNCHING : IN_PROGRAM;
    case LAUNCHING:
        if (flags & IS_IMPORT)
            return IN_IMPORT;
        return flags & (IS_LAUNCH | IS_INNER_STDLIB) ? LAUNCHING : IN_PROGRAM;
    case IN_PROGRAM:
        return flags & IS_IMPORT ? IN_IMPORT : IN_PROGRAM;
    default:
        return progress;
    }
}

static enum cairn_phase phase_of(enum progress progress)
{
    if (progress == IN_IMPORT)
        return CAIRN_PHASE_IMPORT;
    return progress == IN_PROGRAM ? CAIRN_PHASE_PROGRAM : CAIRN_PHASE_STARTUP;
}

static int compile_regex(const char *text, const char *what, struct cairn_pyregex **ret_regex,
                         struct cairn_err *err)
{
    int code = cairn_pyregex_make((struct cairn_span){(const uint8_t *)text, strlen(text)},
                                  CAIRN_PYREGEX_AND_GREP, ret_regex);

    if (code == -CAIRN_EUSAGE)
        return cairn_err_set(err, code, 0, "filter",
                             "%s is not a regex, as Python's re reads them: \"%s\"", what, text);
    if (code < 0)
        return cairn_err_set(err, code, 0, "filter", "cannot use the regex of %s", what);
    return 0;
}

/* Sets 1 for every function that matches. */
static int match_functions(const struct cairn_model *model, const char *text, const char *what,
                           uint8_t *matches, struct cairn_err *err)
{
    const struct cairn_function *functions;
    size_t count = cairn_model_functions(model, &functions);
    struct cairn_pyregex *regex;
    struct cairn_buf line;
    int code = 0;

    CAIRN_TRY(compile_regex(text, what, &regex, err));
    cairn_buf_init(&line, 1 << 20);
    for (size_t i = 0; i < count && code == 0; i++) {
        bool found = false;

        cairn_buf_clear(&line);
        cairn_buf_add(&line, functions[i].qualname.data, functions[i].qualname.size_bytes);
        cairn_buf_u8(&line, ' ');
        cairn_buf_add(&line, functions[i].file.data, functions[i].file.size_bytes);
        code = line.code;
        if (code == 0)
            code = cairn_pyregex_search(regex, cairn_buf_span(&line), &found);
        if (code < 0)
            code =
                cairn_err_set(err, code, 0, "filter", "cannot search the functions for %s", what);
        matches[i] |= found;
    }
    cairn_buf_release(&line);
    cairn_pyregex_free(regex);
    return code;
}

/* Every node from its parent, which comes before it; all are in focus. */
static void walk(const struct cairn_model *model, const uint8_t *flags, const uint8_t *ignored,
                 uint8_t *progress, uint8_t *kinds)
{
    const uint8_t *marks = cairn_model_marks(model);
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    size_t count = cairn_model_nodes(model, &nodes);

    cairn_model_frames(model, &frames);
    kinds[0] = CAIRN_PHASE_STARTUP | CAIRN_KIND_FOCUS;
    for (size_t i = 1; i < count; i++) {
        uint32_t function = frames[nodes[i].frame].function, parent = nodes[i].parent;
        enum progress now = step(progress[parent] & PROGRESS_MASK, flags[function]);
        uint8_t below = progress[parent] & BELOW_SUBPROCESS;

        if (flags[function] & IS_SUBPROCESS)
            below = BELOW_SUBPROCESS;
        progress[i] = (uint8_t)now | below;
        kinds[i] = (uint8_t)phase_of(now) | CAIRN_KIND_FOCUS | (kinds[parent] & CAIRN_KIND_IGNORE);
        if (ignored[function])
            kinds[i] |= CAIRN_KIND_IGNORE;
        if (flags[function] & IS_IDLE && !below)
            kinds[i] |= CAIRN_KIND_IDLE;
        if (flags[function] & IS_NO_PYTHON)
            kinds[i] |= CAIRN_KIND_NO_PYTHON;
        if (marks[i] & CAIRN_MARK_TORN)
            kinds[i] |= CAIRN_KIND_TORN;
        if (marks[i] & CAIRN_MARK_TRUNCATED)
            kinds[i] |= CAIRN_KIND_TRUNCATED;
    }
}

/* Leaves in focus what holds a function that matches as well. */
static void narrow(const struct cairn_model *model, const uint8_t *matches, uint8_t *holds,
                   uint8_t *kinds)
{
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    size_t count = cairn_model_nodes(model, &nodes);

    cairn_model_frames(model, &frames);
    holds[0] = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            holds[i] = holds[nodes[i].parent] | matches[frames[nodes[i].frame].function];
        if (!holds[i])
            kinds[i] &= (uint8_t)~CAIRN_KIND_FOCUS;
    }
}

int cairn_kinds_make(const struct cairn_model *model, const struct cairn_filter *filter,
                     uint8_t **ret_kinds, struct cairn_err *err)
{
    const struct cairn_function *functions;
    const struct cairn_node *nodes;
    size_t function_count = cairn_model_functions(model, &functions);
    size_t node_count = cairn_model_nodes(model, &nodes);
    uint8_t *flags = cairn_calloc(function_count, 1);
    uint8_t *matches = cairn_calloc(function_count, 1);
    uint8_t *progress = cairn_calloc(node_count, 1);
    uint8_t *kinds = cairn_calloc(node_count, 1);
    int code = 0;

    if (!flags || !matches || !progress || !kinds) {
        code = cairn_err_set(err, -CAIRN_ENOMEM, 0, "tally", "cannot sort the stacks");
        goto out;
    }
    for (size_t i = 0; i < function_count; i++)
        flags[i] = (uint8_t)judge(&functions[i]);
    for (size_t i = 0; i < filter->ignore.count && code == 0; i++)
        code = match_functions(model, filter->ignore.items[i], "--ignore", matches, err);
    walk(model, flags, matches, progress, kinds);
    for (size_t i = 0; i < filter->focus.count && code == 0; i++) {
        memset(matches, 0, function_count);
        code = match_functions(model, filter->focus.items[i], "--focus", matches, err);
        narrow(model, matches, progress, kinds); /* the walk is done with `progress` */
    }
    if (code == 0) {
        *ret_kinds = kinds;
        kinds = NULL;
    }
out:
    free(flags);
    free(matches);
    free(progress);
    free(kinds);
    return code;
}
