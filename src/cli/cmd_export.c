/* cmd_export.c: `cairn export -f FORMAT [FILE …]` */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asker.h"
#include "export.h"
#include "place.h"
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
    if (settings->by == CAIRN_BY_TASK) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "export", "tasks cannot be exported");
        cairn_err_add(err, "Their time lies beside that of threads: `cairn report --by task "
                           "--json` tells it.");
        return -CAIRN_EUSAGE;
    }
    if (!(*ret_exporter)->binary || isatty(STDOUT_FILENO) != 1 ||
        (settings->output != NULL && strcmp(settings->output, "-") != 0))
        return 0;
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "export", "%s is not for a terminal: it is no text",
                  (*ret_exporter)->name);
    cairn_err_add(err, "Name a file with -o FILE.");
    return -CAIRN_EUSAGE;
}

/* Opens what -o names; stdout without it. */
static int open_output(const struct cairn_call *call, struct cairn_output *ret_output,
                       struct cairn_err *err)
{
    const char *name = call->settings.output;

    *ret_output = cairn_output_borrow(STDOUT_FILENO, "stdout");
    if (name == NULL)
        return 0;
    CAIRN_TRY(cairn_show_check_output(&call->words, name, err));
    return cairn_output_open(name, call->settings.force, ret_output, err);
}

static int export_model(struct cairn_model *model, const struct cairn_settings *settings,
                        const struct cairn_exporter *exporter, const struct cairn_output *output,
                        struct cairn_buf *lost, bool *ret_read, struct cairn_err *err)
{
    struct cairn_export_options options = {
        .lines = settings->lines == CAIRN_CHOICE_NONE
                     ? CAIRN_EXPORT_LINES_DEFAULT
                     : (enum cairn_export_lines)(settings->lines + 1),
        .threads = settings->threads,
        .processes = settings->processes,
        .samples = settings->unit == CAIRN_UNIT_SAMPLES,
        .node_least = (double)settings->node_least_ppm / 1e6,
        .edge_least = (double)settings->edge_least_ppm / 1e6,
        .by = settings->by == CAIRN_CHOICE_NONE ? CAIRN_BY_FUNCTION : (enum cairn_by)settings->by,
        .lost = lost,
    };
    struct cairn_redact redact;
    struct cairn_asker asker;
    struct cairn_filter filter;
    struct cairn_outlet outlet;
    struct cairn_tally tally;
    int code;

    CAIRN_TRY(cairn_show_filter(settings, &filter, err));
    filter.threads_joined = !exporter->threads && !options.threads;
    CAIRN_TRY(cairn_tally_make(model, &filter, &tally, err));
    if (options.samples && !tally.counted) {
        cairn_tally_release(&tally);
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "export", "there are no numbers of samples to export");
        cairn_err_add(err, "The file that was read does not count them: leave out --unit samples.");
        return -CAIRN_EUSAGE;
    }
    /* What was chosen by path or command line has been chosen now. */
    cairn_asker_redaction(&asker, settings->redact, &redact);
    code = cairn_redact_model(&redact, model);
    if (code < 0) {
        cairn_tally_release(&tally);
        return cairn_err_set(err, code, 0, "export", "cannot leave out who made the recording");
    }
    cairn_outlet_init(&outlet, output->fd, output->name);
    if (!exporter->stacks)
        cairn_show_what_is_whole(&tally);
    code = cairn_export(exporter, &tally, &options, &outlet, err);
    code = cairn_outlet_finish(&outlet, code, err);
    *ret_read = outlet.sys == 0; /* else the reader went away: it is told nothing more */
    if (code == 0 && *ret_read && tally.cell_count == 0 && cairn_model_quality(model)->samples > 0)
        cairn_say("no sample is left: none fits what was asked for");
    cairn_tally_release(&tally);
    return code;
}

static void say_lost(const struct cairn_exporter *exporter, struct cairn_buf *lost)
{
    if (exporter->lost)
        cairn_say("%s does not hold %s", exporter->name, exporter->lost);
    if (lost->size_bytes > 0)
        cairn_say("%s does not hold %s", exporter->name, cairn_buf_cstr(lost));
}

int cairn_cmd_export(struct cairn_call *call)
{
    struct cairn_settings *settings = &call->settings;
    struct cairn_output output = {.fd = -1};
    const struct cairn_exporter *exporter;
    struct cairn_model *model = NULL;
    struct cairn_progress_line line;
    struct cairn_err err = {0};
    struct cairn_buf path, lost;
    bool read = false;
    int code, closed;

    /* A reader that goes away is the outlet's to see: a quiet end. */
    signal(SIGPIPE, SIG_IGN);
    if (settings->output != NULL && strcmp(settings->output, "-") == 0)
        settings->output = NULL;
    cairn_buf_init(&path, PATH_MAX_BYTES);
    cairn_buf_init(&lost, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code = choose_format(settings, &exporter, &err);
    if (code == 0)
        code = open_output(call, &output, &err);
    if (code == 0)
        code =
            cairn_show_load(&call->words, &settings->reading, &line.progress, &model, &path, &err);
    if (code == 0)
        code = export_model(model, settings, exporter, &output, &lost, &read, &err);
    cairn_progress_line_end(&line);
    closed = cairn_output_close(&output, code == 0, &err);
    code = code < 0 ? code : closed;
    cairn_model_free(model);
    if (code == 0 && read)
        say_lost(exporter, &lost);
    cairn_buf_release(&path);
    cairn_buf_release(&lost);
    return code < 0 ? cairn_say_err(&err) : 0;
}
