/* cmd_report.c: `cairn report [FILE …]` */
#include <signal.h>
#include <unistd.h>

#include "progress_line.h"
#include "say.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)

int cairn_cmd_report(struct cairn_call *call)
{
    struct cairn_output output = cairn_output_borrow(STDOUT_FILENO, "stdout");
    struct cairn_model *model = NULL;
    const char *shown = call->words.items[0];
    struct cairn_progress_line line;
    struct cairn_err err = {0};
    struct cairn_buf path;
    int code;

    /* A reader that goes away is the outlet's to see: a quiet end. */
    signal(SIGPIPE, SIG_IGN);
    cairn_buf_init(&path, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code =
        cairn_show_load(&call->words, &call->settings.reading, &line.progress, &model, &path, &err);
    if (code == 0) {
        /* A script wants to know which one it was; a person need not type what is the newest. */
        if (shown == NULL && call->settings.json)
            shown = cairn_buf_cstr(&path);
        code = cairn_show_report(model, &call->settings, shown, &output, &err);
        /* 127, "not found", is about programs and files, not about what --of names. */
        if (code == -CAIRN_ENOTFOUND)
            err.code = -CAIRN_EUSAGE;
    }
    cairn_progress_line_end(&line);
    cairn_model_free(model);
    cairn_buf_release(&path);
    return code < 0 ? cairn_say_err(&err) : 0;
}
