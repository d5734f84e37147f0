/* cmd_diff.c: `cairn diff BEFORE AFTER` */
#include <signal.h>
#include <unistd.h>

#include "diff_show.h"
#include "facts.h"
#include "progress_line.h"
#include "say.h"
#include "show.h"
#include "terminal.h"

#define STATUS_WORSE 1
#define STATUS_NOT_ENOUGH 3
#define PATH_MAX_BYTES (1 << 16)

struct recording {
    struct cairn_model *model;
    struct cairn_tally tally;
    bool has_tally;
};

static int check_settings(const struct cairn_settings *settings, struct cairn_err *err)
{
    if (settings->json && settings->markdown) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "diff", "--json and --markdown are two answers");
        cairn_err_add(err, "Leave one of them out.");
        return -CAIRN_EUSAGE;
    }
    if (settings->by == CAIRN_CHOICE_NONE || settings->by <= CAIRN_BY_MODULE)
        return 0;
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "diff", "such rows have no counterpart in another run");
    cairn_err_add(err, "--by takes function, line or module here.");
    return -CAIRN_EUSAGE;
}

static int load(struct recording *recording, char *path, const struct cairn_filter *filter,
                const struct cairn_reading *reading, struct cairn_err *err)
{
    struct cairn_words word = {.items = (char *[]){path, NULL}, .count = 1};
    struct cairn_progress_line line;
    struct cairn_buf newest;
    int code;

    cairn_buf_init(&newest, PATH_MAX_BYTES);
    cairn_progress_line_begin(&line);
    code = cairn_show_load(&word, reading, &line.progress, &recording->model, &newest, err);
    if (code == 0)
        code = cairn_tally_make(recording->model, filter, &recording->tally, err);
    recording->has_tally = code == 0;
    cairn_progress_line_end(&line);
    cairn_buf_release(&newest);
    if (code < 0 || recording->tally.known)
        return code;
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "diff", "the metric %s is not there to compare in %.300s",
                  cairn_metric_name(filter->metric), path);
    if (recording->tally.why)
        cairn_err_add(err, "%s", recording->tally.why);
    return -CAIRN_EUSAGE;
}

/* Programs that ran from their start did all their work in the time, so that is what counts; of
 * others it says how long somebody looked. */
static int choose_scale(const struct recording recordings[2], enum cairn_diff_scale *ret_scale)
{
    *ret_scale = CAIRN_DIFF_RUN;
    for (int i = 0; i < 2; i++) {
        struct cairn_facts facts;

        CAIRN_TRY(cairn_facts_make(&recordings[i].tally, &facts));
        if (facts.attached)
            *ret_scale = CAIRN_DIFF_SECOND;
    }
    return 0;
}

static int show(const struct recording recordings[2], const struct cairn_call *call,
                int *ret_status, struct cairn_err *err)
{
    const struct cairn_settings *settings = &call->settings;
    struct cairn_diff_options options = {
        .rows = {.by = settings->by == CAIRN_CHOICE_NONE ? CAIRN_BY_FUNCTION
                                                         : (enum cairn_by)settings->by,
                 .with_idle = settings->idle},
        .scale = (enum cairn_diff_scale)settings->normalize,
        .tolerance = (double)settings->tolerance / 100,
    };
    struct cairn_terminal terminal;
    struct cairn_outlet outlet;
    struct cairn_diff diff;
    uint64_t each_ns;
    int code = 0;

    if (settings->normalize == CAIRN_CHOICE_NONE)
        code = choose_scale(recordings, &options.scale);
    if (code == 0)
        code = cairn_diff_make(&recordings[0].tally, &recordings[1].tally, &options, &diff, err);
    if (code < 0)
        return code;
    cairn_terminal_ask(STDOUT_FILENO, &terminal);
    cairn_outlet_init(&outlet, STDOUT_FILENO, "stdout");
    each_ns = cairn_facts_each_ns(recordings[0].model);
    struct cairn_diff_show shown = {
        .diff = &diff,
        .before = &recordings[0].tally,
        .after = &recordings[1].tally,
        .before_file = call->words.items[0],
        .after_file = call->words.items[1],
        .options = &options,
        .scale_chosen = settings->normalize != CAIRN_CHOICE_NONE,
        .base_is_after = settings->base == 1,
        .each_ns = each_ns == cairn_facts_each_ns(recordings[1].model) ? each_ns : 0,
        .limit = (size_t)settings->limit,
        .width = terminal.columns,
        .colour = terminal.colour,
    };
    code = settings->json       ? cairn_diff_json(&shown, &outlet)
           : settings->markdown ? cairn_diff_markdown(&shown, &outlet)
                                : cairn_diff_text(&shown, &outlet);
    code = cairn_outlet_finish(&outlet, code, err);
    *ret_status = !diff.enough ? STATUS_NOT_ENOUGH : diff.worse ? STATUS_WORSE : 0;
    cairn_diff_release(&diff);
    return code;
}

int cairn_cmd_diff(struct cairn_call *call)
{
    struct recording recordings[2] = {0};
    struct cairn_filter filter;
    struct cairn_err err = {0};
    int status = 0, code = check_settings(&call->settings, &err);

    /* A reader that goes away is the outlet's to see: a quiet end. */
    signal(SIGPIPE, SIG_IGN);
    if (code == 0)
        code = cairn_show_filter(&call->settings, &filter, &err);
    filter.threads_joined = true;
    for (int i = 0; i < 2 && code == 0; i++)
        code = load(&recordings[i], call->words.items[i], &filter, &call->settings.reading, &err);
    if (code == 0)
        code = show(recordings, call, &status, &err);
    for (int i = 0; i < 2; i++) {
        if (recordings[i].has_tally)
            cairn_tally_release(&recordings[i].tally);
        cairn_model_free(recordings[i].model);
    }
    return code < 0 ? cairn_say_err(&err) : status;
}
