#include "show.h"

#include <string.h>

#include "exactrows.h"
#include "guests.h"
#include "place.h"
#include "report_json.h"
#include "report_text.h"
#include "say.h"
#include "terminal.h"

#define PATH_MAX_BYTES (1 << 16)

static int load(const char *const *paths, size_t count, const struct cairn_reading *reading,
                struct cairn_progress *progress, struct cairn_model **ret_model,
                struct cairn_err *err)
{
    struct cairn_guests guests;
    int code = cairn_guests_open(paths, count, reading, &guests, err);

    if (code == 0)
        code = cairn_model_load_told(guests.paths.items, count, progress, ret_model, err);
    cairn_guests_release(&guests);
    if (code < 0 && count == 1 && strstr(err->text, paths[0]) == NULL)
        cairn_err_add(err, "The file is %.300s.", paths[0]);
    return code;
}

int cairn_show_load(const struct cairn_words *words, const struct cairn_reading *reading,
                    struct cairn_progress *progress, struct cairn_model **ret_model,
                    struct cairn_buf *ret_path, struct cairn_err *err)
{
    const char *newest;

    if (words->count > 0)
        return load((const char *const *)words->items, words->count, reading, progress, ret_model,
                    err);
    CAIRN_TRY(cairn_place_newest(ret_path, err));
    newest = cairn_buf_cstr(ret_path);
    return load(&newest, 1, reading, progress, ret_model, err);
}

int cairn_show_check_output(const struct cairn_words *words, const char *output,
                            struct cairn_err *err)
{
    struct cairn_buf newest;
    int code = 0;

    for (size_t i = 0; i < words->count && code == 0; i++)
        code = cairn_output_check(output, words->items[i], err);
    if (words->count > 0)
        return code;
    cairn_buf_init(&newest, PATH_MAX_BYTES);
    if (cairn_place_newest(&newest, NULL) == 0)
        code = cairn_output_check(output, cairn_buf_cstr(&newest), err);
    cairn_buf_release(&newest);
    return code;
}

int cairn_show_load_before(const struct cairn_settings *settings, struct cairn_progress *progress,
                           struct cairn_model **ret_model, struct cairn_err *err)
{
    *ret_model = NULL;
    return settings->before
               ? load(&settings->before, 1, &settings->reading, progress, ret_model, err)
               : 0;
}

#define PATH_MAX_BYTES (1 << 16)

/* Sums over the whole recording have no moments that could be chosen. */
static int check_moments(const struct cairn_filter *filter, struct cairn_err *err)
{
    bool counted = filter->metric == CAIRN_METRIC_COUNTED;

    if (!cairn_filter_is_of_sums(filter) ||
        (cairn_filter_is_of_all_time(filter) && !(counted && filter->task)))
        return 0;
    if (filter->task) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "filter",
                      "what tasks ran and waited in is told of the whole recording");
        cairn_err_add(err, "Leave out --from, --to, --while, --region and --metric counted, or "
                           "--task.");
        return -CAIRN_EUSAGE;
    }
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "filter",
                  "calls that were counted are summed over the whole recording");
    cairn_err_add(err, "Leave out --from, --to, --while and --region, or --metric counted.");
    return -CAIRN_EUSAGE;
}

int cairn_show_filter(const struct cairn_settings *settings, struct cairn_filter *ret_filter,
                      struct cairn_err *err)
{
    cairn_filter_init(ret_filter);
    ret_filter->metric = (enum cairn_metric)settings->metric;
    ret_filter->thread = settings->thread;
    ret_filter->process = settings->process;
    ret_filter->task = settings->task;
    ret_filter->region = settings->region;
    if (settings->region_length != CAIRN_CHOICE_NONE)
        ret_filter->region_length =
            settings->region_length == 0 ? CAIRN_REGION_LENGTH_SLOW : CAIRN_REGION_LENGTH_MIDDLE;
    if (settings->region_length != CAIRN_CHOICE_NONE && settings->region == NULL) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "filter", "--region-length without --region");
        cairn_err_add(err, "Say which ones, too: --region 'batch*'.");
        return -CAIRN_EUSAGE;
    }
    ret_filter->focus = (struct cairn_patterns){settings->focus.items, settings->focus.count};
    ret_filter->ignore = (struct cairn_patterns){settings->ignore.items, settings->ignore.count};
    if (settings->overlay != CAIRN_CHOICE_NONE)
        ret_filter->overlays = 1u << settings->overlay;
    ret_filter->only_my_code = settings->only_my_code;
    ret_filter->from_ns = settings->from_ns;
    if (settings->to_ns != 0)
        ret_filter->to_ns = settings->to_ns;
    CAIRN_TRY(check_moments(ret_filter, err));
    if (ret_filter->to_ns > ret_filter->from_ns)
        return 0;
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "filter", "--to lies before --from: nothing is left");
    cairn_err_add(err, "Both count from the start of the recording.");
    return -CAIRN_EUSAGE;
}

void cairn_show_what_is_whole(const struct cairn_tally *tally)
{
    const struct cairn_filter *filter = &tally->filter;

    if (!cairn_exact_table_has(tally))
        return;
    if (filter->focus.count || filter->ignore.count || filter->only_my_code)
        cairn_say("calls that were counted are told whole: --focus, --ignore and --only-my-code "
                  "choose among samples, and among calls with --metric counted");
    if (!cairn_filter_is_of_all_time(filter))
        cairn_say("calls that were counted are told whole: their sums do not say when they were");
}

int cairn_show_report(const struct cairn_model *model, const struct cairn_settings *settings,
                      const char *path, const struct cairn_output *output, struct cairn_err *err)
{
    struct cairn_report_options options;
    struct cairn_terminal terminal;
    struct cairn_source source;
    struct cairn_filter filter;
    struct cairn_outlet outlet;
    struct cairn_tally tally;
    int code;

    CAIRN_TRY(cairn_show_filter(settings, &filter, err));
    filter.threads_joined = true;
    CAIRN_TRY(cairn_tally_make(model, &filter, &tally, err));
    cairn_show_what_is_whole(&tally);
    cairn_terminal_ask(output->fd, &terminal);
    cairn_source_init(&source, model);
    cairn_report_options_init(&options);
    options.source = &source;
    options.by = settings->by == CAIRN_CHOICE_NONE ? -1 : (int)settings->by;
    options.sort = (enum cairn_sort)settings->sort;
    options.limit = (size_t)settings->limit;
    options.with_idle = settings->idle;
    options.of = settings->of;
    options.width = terminal.columns;
    options.colour = terminal.colour;
    options.next = true;
    options.file = path;
    cairn_outlet_init(&outlet, output->fd, output->name);
    code = settings->json ? cairn_report_json(&tally, &options, &outlet, err)
                          : cairn_report_text(&tally, &options, &outlet, err);
    code = cairn_outlet_finish(&outlet, code, err);
    cairn_source_release(&source);
    cairn_tally_release(&tally);
    return code;
}
