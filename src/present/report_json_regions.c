#include "report_json_regions.h"

#include "escape.h"
#include "regionrows.h"
#include "slowregions.h"

static bool known(const struct cairn_model *model)
{
    return cairn_model_counter(model, "regions_processes") > 0;
}

static void put_length(struct cairn_json *json, const struct cairn_region_row *row, const char *key,
                       uint64_t ns)
{
    if (row->count > row->cut)
        cairn_json_put_seconds(json, key, ns);
    else
        cairn_json_put_null(json, key);
}

static void put_region(struct cairn_json *json, const struct cairn_function *functions,
                       const struct cairn_region_row *row)
{
    cairn_json_object(json);
    cairn_json_put_text(json, "name", functions[row->function].name);
    cairn_json_put_u64(json, "count", row->count);
    cairn_json_put_u64(json, "cut", row->cut);
    cairn_json_put_seconds(json, "total_s", row->total_ns);
    put_length(json, row, "min_s", row->min_ns);
    put_length(json, row, "p50_s", row->p50_ns);
    put_length(json, row, "p90_s", row->p90_ns);
    put_length(json, row, "p99_s", row->p99_ns);
    put_length(json, row, "max_s", row->max_ns);
    cairn_json_close(json);
}

static void put_mark(struct cairn_json *json, const struct cairn_model *model,
                     const struct cairn_function *functions, const struct cairn_region_mark *mark)
{
    const struct cairn_process *processes;
    const struct cairn_thread *threads;

    cairn_model_threads(model, &threads);
    cairn_model_processes(model, &processes);
    cairn_json_object(json);
    cairn_json_put_text(json, "name", functions[mark->function].name);
    cairn_json_put_seconds(json, "time_s", mark->time_ns);
    cairn_json_put_u64(json, "pid", processes[threads[mark->thread].process].pid);
    cairn_json_put_u64(json, "tid", threads[mark->thread].tid);
    cairn_json_put_text(json, "values", cairn_model_text(model, mark->values));
    cairn_json_close(json);
}

static void put_kept(struct cairn_json *json, const char *key, size_t count, double mean_s)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_object(json);
    cairn_json_put_u64(json, "count", count);
    cairn_json_put_number(json, "mean_s", mean_s);
    cairn_json_close(json);
}

static void put_slow_row(struct cairn_json *json, const struct cairn_diff_row *row)
{
    const struct cairn_row *shown = row->after ? row->after : row->before;

    cairn_json_object(json);
    cairn_json_put_text(json, "name", shown->name);
    cairn_json_put_text(json, "file", shown->file);
    cairn_json_put_u64(json, "first_line", shown->first_line);
    cairn_json_put_number(json, "slow_s", row->self.after);
    cairn_json_put_number(json, "middle_s", row->self.before);
    cairn_json_put_number(json, "more_s", row->self.change);
    cairn_json_put_number(json, "more_low_s", row->self.low);
    cairn_json_put_number(json, "more_high_s", row->self.high);
    cairn_json_put_bool(json, "distinguishable", row->self.verdict != CAIRN_DIFF_SAME);
    cairn_json_close(json);
}

static int put_slow(struct cairn_json *json, const struct cairn_tally *tally, struct cairn_err *err)
{
    const struct cairn_filter *filter = &tally->filter;
    struct cairn_slow_regions slow = {0};
    int code = 0;

    if (filter->region && filter->region_length == CAIRN_REGION_LENGTH_ANY)
        code = cairn_slow_regions_make(tally, &slow, err);
    if (code < 0 || !slow.made) {
        cairn_json_put_null(json, "slow_regions");
        cairn_slow_regions_release(&slow);
        return code;
    }
    cairn_json_key(json, cairn_span_of("slow_regions"));
    cairn_json_object(json);
    put_kept(json, "slow", slow.slow.regions, slow.diff.whole.after);
    put_kept(json, "middle", slow.middle.regions, slow.diff.whole.before);
    cairn_json_put_bool(json, "enough", slow.diff.enough);
    cairn_json_put_number(json, "confidence", slow.diff.confidence);
    cairn_json_key(json, cairn_span_of("rows"));
    cairn_json_array(json);
    for (size_t i = 0; i < slow.diff.count; i++)
        put_slow_row(json, &slow.diff.items[i]);
    cairn_json_close(json);
    cairn_json_close(json);
    cairn_slow_regions_release(&slow);
    return 0;
}

int cairn_report_json_regions(struct cairn_json *json, const struct cairn_tally *tally,
                              struct cairn_err *err)
{
    const struct cairn_function *functions;
    struct cairn_region_rows rows;
    int code;

    if (!known(tally->model)) {
        cairn_json_put_null(json, "regions");
        cairn_json_put_null(json, "slow_regions");
        cairn_json_put_null(json, "marks");
        return 0;
    }
    code = cairn_region_rows_make(tally, &rows);
    cairn_model_functions(tally->model, &functions);
    cairn_json_key(json, cairn_span_of("regions"));
    cairn_json_array(json);
    for (size_t i = 0; i < rows.rows.count; i++)
        put_region(json, functions, &rows.rows.items[i]);
    cairn_json_close(json);
    if (code == 0)
        code = put_slow(json, tally, err);
    cairn_json_key(json, cairn_span_of("marks"));
    cairn_json_array(json);
    for (size_t i = 0; i < rows.marks.count; i++)
        put_mark(json, tally->model, functions, &rows.marks.items[i]);
    cairn_json_close(json);
    cairn_region_rows_release(&rows);
    return code;
}

void cairn_report_json_region_quality(struct cairn_json *json, const struct cairn_model *model)
{
    static const char *const names[] = {"regions", "marks", "regions_lost"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cairn_json_put_known(json, names[i], known(model), cairn_model_counter(model, names[i]));
    }
}
