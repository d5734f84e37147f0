/* cmd_export.c: `cairn export -f FORMAT [FILE …]` */
#include <signal.h>
#include <unistd.h>

#include "export.h"
#include "progress_line.h"
#include "say.h"
#include "show.h"

#define PATH_MAX_BYTES (1 << 16)

static int choose_format(const struct cairn_settings *settings,
                         const struct cairn_exporter **ret_exporter, struct cairn_err *err)
{
    if (settings->format == CAIRN_CHOICE_NONE) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "export", "`cairn export` needs a format: -f FORMAT");
        for (const struct cairn_exporter *e = cairn_exporters; e->name != NULL; e++)
            cairn_err_add(err, "%-12s %s", e->name, e->line);
        return -CAIRN_EUSAGE;
    }
    *ret_exporter = &cairn_exporters[settings->format];
    if (!(*ret_exporter)->binary || settings->output != NULL || isatty(STDOUT_FILENO) != 1)
        return 0;
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "export", "%s is not for a terminal: it is no text",
                  (*ret_exporter)->name);
    cairn_err_add(err, "Name a file with -o FILE.");
    return -CAIRN_EUSAGE;
}

static int export_model(const struct cairn_model *model, const struct cairn_settings *settings,
                        const struct cairn_exporter *exporter, const struct cairn_output *output,
                        struct cairn_err *err)
{
    struct cairn_export_options options = {
        .lines = settings->lines == CAIRN_CHOICE_NONE
                     ? CAIRN_EXPORT_LINES_DEFAULT
                     : (enum cairn_export_lines)(settings->lines + 1),
        .threads = settings->threads,
        .processes = settings->processes,
        .samples = settings->unit == CAIRN_UNIT_SAMPLES,
    };
    struct cairn_filter filter;
    struct cairn_outlet outlet;
    struct cairn_tally tally;
    int code;

    CAIRN_TRY(cairn_show_filter(settings, &filter, err));
    filter.threads_joined = !exporter->threads && !options.threads;
    CAIRN_TRY(cairn_tally_make(model, &filter, &tally, err));
    cairn_outlet_init(&outlet, output->fd, output->name);
    code = cairn_export(exporter, &tally, &options, &outlet, err);
    code = cairn_outlet_finish(&outlet, code, err);
    cairn_tally_release(&tally);
    return code;
}

int cairn_cmd_export(struct cairn_call *call)
{
    const struct cairn_settings *settings = &call->settings;
    struct cairn_output output = cairn_output_borrow(STDOUT_FILENO, "stdout");
    const struct cairn_exporter *exporter;
    struct cairn_model *model = NULL;
    struct cairn_progress_line line;
    struct cairn_err err = {0};
    struct cairn_buf path;
    int code;

    /* A reader that goes away is the outlet's to see: a quiet end. */
    signal(SIGPIPE, SIG_IGN);
    cairn_buf_init(&path, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code = choose_format(settings, &exporter, &err);
    if (code == 0 && settings->output != NULL)
        code = cairn_output_open(settings->output, settings->force, &output, &err);
    if (code == 0)
        code = cairn_show_load(&call->words, &line.progress, &model, &path, &err);
    if (code == 0)
        code = export_model(model, settings, exporter, &output, &err);
    cairn_progress_line_end(&line);
    cairn_output_close(&output, code == 0);
    cairn_model_free(model);
    cairn_buf_release(&path);
    return code < 0 ? cairn_say_err(&err) : 0;
}
