/* cmd_dump.c: `cairn dump PID`: one tick into memory, every thread's stack out of it. */
#include <signal.h>
#include <unistd.h>

#include "command.h"
#include "dump.h"
#include "pidword.h"
#include "say.h"
#include "session.h"
#include "terminal.h"

static int print_dump(int fd, bool json, struct cairn_err *err)
{
    struct cairn_model *model = NULL;
    struct cairn_terminal terminal;
    struct cairn_outlet outlet;
    int code;

    CAIRN_TRY(cairn_model_load_fd(fd, &model, err));
    cairn_terminal_ask(STDOUT_FILENO, &terminal);
    cairn_outlet_init(&outlet, STDOUT_FILENO, "stdout");
    code = json ? cairn_dump_json(model, &outlet, err)
                : cairn_dump_text(model, terminal.colour, &outlet, err);
    code = cairn_outlet_finish(&outlet, code, err);
    cairn_model_free(model);
    return code;
}

int cairn_cmd_dump(struct cairn_call *call)
{
    struct cairn_session_options options = {.interval_ns = 1000000, .max_ticks = 1};
    struct cairn_session_result result;
    struct cairn_err err = {0};
    int code;

    /* A reader that goes away is the outlet's to see: a quiet end. */
    signal(SIGPIPE, SIG_IGN);
    code = cairn_pid_read(call->words.items[0], &options.pid, &err);
    if (code == 0) {
        code = cairn_session(&options, &result, &err);
        if (code == 0)
            code = print_dump(result.fd, call->settings.json, &err);
        cairn_session_release(&result);
    }
    cairn_pid_advise("dump", options.pid, &err);
    return code < 0 ? cairn_say_err(&err) : 0;
}
