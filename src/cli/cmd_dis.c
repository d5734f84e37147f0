/* cmd_dis.c: `cairn dis FUNCTION [FILE]`: its instructions, and how often each was executed. */
#include <signal.h>
#include <unistd.h>

#include "dis.h"
#include "progress_line.h"
#include "say.h"
#include "show.h"
#include "terminal.h"

#define PATH_MAX_BYTES (1 << 16)

static int show(const struct cairn_model *model, const char *name,
                const struct cairn_settings *settings, struct cairn_err *err)
{
    struct cairn_terminal terminal;
    struct cairn_listing listing;
    struct cairn_filter filter;
    struct cairn_outlet outlet;
    struct cairn_tally tally;
    int code;

    CAIRN_TRY(cairn_show_filter(settings, &filter, err));
    filter.threads_joined = true;
    CAIRN_TRY(cairn_tally_make(model, &filter, &tally, err));
    code = cairn_listing_make(&tally, name, &listing, err);
    if (code == 0) {
        cairn_terminal_ask(STDOUT_FILENO, &terminal);
        cairn_outlet_init(&outlet, STDOUT_FILENO, "stdout");
        code = settings->json
                   ? cairn_dis_json(&tally, &listing, &outlet)
                   : cairn_dis_text(&tally, &listing, terminal.columns, terminal.colour, &outlet);
        code = cairn_outlet_finish(&outlet, code, err);
        cairn_listing_release(&listing);
    }
    cairn_tally_release(&tally);
    return code;
}

int cairn_cmd_dis(struct cairn_call *call)
{
    const struct cairn_words files = {call->words.items + 1, call->words.count - 1};
    struct cairn_model *model = NULL;
    struct cairn_progress_line line;
    struct cairn_err err = {0};
    struct cairn_buf path;
    int code;

    /* A reader that goes away is the outlet's to see: a quiet end. */
    signal(SIGPIPE, SIG_IGN);
    cairn_buf_init(&path, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code = cairn_show_load(&files, &call->settings.reading, &line.progress, &model, &path, &err);
    if (code == 0)
        code = show(model, call->words.items[0], &call->settings, &err);
    cairn_progress_line_end(&line);
    cairn_model_free(model);
    cairn_buf_release(&path);
    return code < 0 ? cairn_say_err(&err) : 0;
}
