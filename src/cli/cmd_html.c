/* cmd_html.c: `cairn html [FILE …]` */
#include "asker.h"
#include "html.h"
#include "progress_line.h"
#include "say.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)

static int write_page(const struct cairn_model *model, const struct cairn_model *before,
                      const struct cairn_settings *settings, const struct cairn_output *output,
                      struct cairn_err *err)
{
    struct cairn_html_options options = {.source = settings->source, .before = before};
    struct cairn_outlet outlet;
    struct cairn_asker asker;
    int code;

    CAIRN_TRY(cairn_show_filter(settings, &options.filter, err));
    cairn_asker_redaction(&asker, settings->redact, &options.redact);
    cairn_outlet_init(&outlet, output->fd, output->name);
    code = cairn_html(model, &options, &outlet, err);
    return cairn_outlet_finish(&outlet, code, err);
}

static int check(const struct cairn_settings *settings, struct cairn_err *err)
{
    if (!settings->source || !settings->redact)
        return 0;
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "html", "--source and --redact exclude each other");
    cairn_err_add(err, "A page to be shared holds no source; leave one of them out.");
    return -CAIRN_EUSAGE;
}

int cairn_cmd_html(struct cairn_call *call)
{
    const struct cairn_settings *settings = &call->settings;
    const char *name = settings->output ? settings->output : "report.html";
    struct cairn_output output = {.fd = -1};
    struct cairn_model *model = NULL, *before = NULL;
    struct cairn_progress_line line;
    struct cairn_err err = {0};
    struct cairn_buf path;
    int code, closed;

    cairn_buf_init(&path, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code = check(settings, &err);
    if (code == 0)
        code = cairn_show_check_output(&call->words, name, &err);
    if (code == 0 && settings->before)
        code = cairn_output_check(name, settings->before, &err);
    if (code == 0)
        code = cairn_show_load(&call->words, &call->settings.reading, &line.progress, &model, &path,
                               &err);
    if (code == 0)
        code = cairn_show_load_before(settings, &line.progress, &before, &err);
    if (code == 0)
        code = cairn_output_open(name, settings->force, &output, &err);
    if (code == 0)
        code = write_page(model, before, settings, &output, &err);
    cairn_progress_line_end(&line);
    closed = cairn_output_close(&output, code == 0, &err);
    code = code < 0 ? code : closed;
    cairn_model_free(model);
    cairn_model_free(before);
    cairn_buf_release(&path);
    if (code < 0)
        return cairn_say_err(&err);
    if (settings->output == NULL)
        cairn_say("the page is %s", name);
    return 0;
}
