#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "place.h"
#include "progress_line.h"
#include "say.h"
#include "show.h"
#include "text.h"

#define PATH_MAX_BYTES (1 << 16)
#define KEPT_MAX_BYTES 64

static int choose_path(struct cairn_record *record, const char *name, struct cairn_err *err)
{
    const char *output = record->settings->output;

    if (output == NULL)
        return cairn_place_new(name, &record->path, &record->elsewhere, err);
    if (cairn_buf_add_str(&record->path, output) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "record", "%.300s cannot be written", output);
    return 0;
}

static int choose_report(struct cairn_record *record, struct cairn_err *err)
{
    const struct cairn_settings *settings = record->settings;

    if (settings->report == NULL) {
        /* Closed by whoever started us: nobody is there to read a report. */
        if ((fcntl(STDERR_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
            return 0;
        record->report = cairn_output_borrow(STDERR_FILENO, "stderr");
        return 0;
    }
    if (strcmp(settings->report, "none") == 0)
        return 0;
    return cairn_output_open(settings->report, settings->force, &record->report, err);
}

/* All that is made here is made as the user who called sudo, if somebody did. */
static int choose_files(struct cairn_record *record, const char *name, struct cairn_err *err)
{
    struct cairn_owner_saved saved;
    int code;

    if (!record->settings->as_root && cairn_owner_find(&record->owner))
        record->options.owner = &record->owner;
    code = cairn_owner_enter(record->options.owner, &saved);
    if (code < 0)
        return cairn_err_set(err, code, 0, "record", "root may not act as user %s here",
                             record->owner.name);
    code = choose_path(record, name, err);
    if (code == 0)
        code = choose_report(record, err);
    cairn_owner_leave(&saved);
    if (code < 0 && record->options.owner != NULL)
        cairn_err_add(err, "It would belong to %s, who called sudo; --as-root makes it root's.",
                      record->owner.name);
    return code;
}

int cairn_record_open(struct cairn_record *record, const struct cairn_settings *settings,
                      const char *name, struct cairn_err *err)
{
    struct cairn_filter filter;

    *record = (struct cairn_record){.settings = settings};
    record->report.fd = -1;
    cairn_buf_init(&record->path, PATH_MAX_BYTES);
    /* What the report would refuse is better refused before a program has run. */
    CAIRN_TRY(cairn_show_filter(settings, &filter, err));
    CAIRN_TRY(choose_files(record, name, err));
    record->options = (struct cairn_session_options){
        .owner = record->options.owner,
        .interval_ns = settings->interval_ns,
        .seed = settings->seed,
        .for_ns = settings->for_ns,
        .follow_children = !settings->no_children,
        .path = cairn_buf_cstr(&record->path),
        .force = settings->force,
        .sync = settings->sync,
        .flush_ns = settings->flush_ns,
        .rotate_bytes = settings->rotate_bytes,
    };
    if (record->elsewhere)
        cairn_say("the recording goes to %s, because .cairn/ here cannot be written",
                  record->options.path);
    return 0;
}

static void tidy(const struct cairn_record *record)
{
    struct cairn_owner_saved saved;

    if (cairn_owner_enter(record->options.owner, &saved) < 0)
        return;
    cairn_place_tidy();
    cairn_owner_leave(&saved);
}

/* The recording could not be begun, or not go on: what is left of it, and what would be better. */
static void advise(const struct cairn_record *record, struct cairn_err *err)
{
    struct cairn_buf kept;

    if (err->code == -CAIRN_EEXISTS) {
        cairn_err_add(err, "Name another file with -o, or write over it with --force.");
        return;
    }
    if (record->result.wall_ns == 0 || strcmp(err->where, "sink") != 0)
        return;
    cairn_buf_init(&kept, KEPT_MAX_BYTES);
    cairn_text_time(&kept, record->result.recorded_ns);
    if (record->result.recorded_ns == 0)
        cairn_err_add(err, "Nothing was recorded.");
    else
        cairn_err_add(err, "The first %s are recorded.", cairn_buf_cstr(&kept));
    cairn_buf_release(&kept);
    if (err->sys == EFBIG)
        cairn_err_add(err, "It may not grow (ulimit -f); --rotate SIZE goes on in new files.");
    else if (err->sys == ENOSPC || err->sys == EDQUOT)
        cairn_err_add(err, "Make room there, or name a file where there is some: -o FILE.");
    else
        cairn_err_add(err, "Name a file somewhere else: -o FILE.");
}

int cairn_record_run(struct cairn_record *record, struct cairn_err *err)
{
    int code = cairn_session(&record->options, &record->result, err);

    record->collected = true;
    if (code < 0 && !record->result.saw_python && record->settings->output == NULL)
        tidy(record);
    if (code < 0)
        advise(record, err);
    /* Not before: the program inherits what is ignored. */
    signal(SIGPIPE, SIG_IGN);
    return code;
}

int cairn_record_report(struct cairn_record *record, struct cairn_err *err)
{
    const char *path = record->options.path;
    struct cairn_progress_line line;
    struct cairn_model *model = NULL;
    int code, closed;

    if (record->report.fd < 0)
        return 0;
    if (record->options.owner != NULL && cairn_owner_become(record->options.owner) < 0)
        return cairn_err_set(err, -CAIRN_EPERM, 0, "record",
                             "root may not become user %s to read the recording",
                             record->owner.name);
    cairn_progress_line_begin(&line);
    code = cairn_model_load_told(&path, 1, &line.progress, &model, err);
    if (code == 0)
        code = cairn_show_report(model, record->settings, record->settings->output, &record->report,
                                 err);
    cairn_progress_line_end(&line);
    cairn_model_free(model);
    closed = cairn_output_close(&record->report, code == 0, err);
    return code < 0 ? code : closed;
}

void cairn_record_close(struct cairn_record *record)
{
    (void)cairn_output_close(&record->report, false, NULL);
    if (record->collected)
        cairn_session_release(&record->result);
    cairn_buf_release(&record->path);
}
