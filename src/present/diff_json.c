/* The comparison for scripts: docs/json.md names every key. */
#include "diff_show.h"
#include "escape.h"
#include "json_out.h"

#define SCHEMA 1

static void put_recording(struct cairn_json *json, const char *key, const char *file,
                          const struct cairn_tally *tally, const struct cairn_rows *rows)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_object(json);
    cairn_json_put_str(json, "file", file);
    cairn_json_put_text(json, "command", cairn_model_env(tally->model, "run.command"));
    cairn_json_put_seconds(json, "span_s", tally->last_ns - tally->first_ns);
    cairn_json_put_seconds(json, "thread_s", rows->base.value_ns);
    cairn_json_put_known(json, "samples", tally->counted, rows->base.ticks);
    cairn_json_put_bool(json, "enough", tally->counted && rows->rankable);
    cairn_json_put_known(json, "samples_wanted", tally->counted, rows->samples_wanted);
    cairn_json_close(json);
}

/* Against both baselines: which of them is the whole is for the reader to say. */
static void put_part(struct cairn_json *json, const char *key, double change, double base)
{
    if (base > 0)
        cairn_json_put_number(json, key, change / base);
    else
        cairn_json_put_null(json, key);
}

static void put_value(struct cairn_json *json, const char *key,
                      const struct cairn_diff_value *value, bool sure, bool counted)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_object(json);
    cairn_json_put_number(json, "before", value->before);
    cairn_json_put_number(json, "after", value->after);
    cairn_json_put_number(json, "change", value->change);
    put_part(json, "of_before", value->change, value->before);
    put_part(json, "of_after", value->change, value->after);
    if (!sure) {
        cairn_json_put_number(json, "low", value->low);
        cairn_json_put_number(json, "high", value->high);
        if (counted)
            cairn_json_put_str(json, "verdict", cairn_diff_verdict_name(value->verdict));
        else
            cairn_json_put_null(json, "verdict");
    }
    cairn_json_close(json);
}

static void put_row(struct cairn_json *json, const struct cairn_diff_row *diff_row, bool counted)
{
    const struct cairn_row *row = diff_row->after ? diff_row->after : diff_row->before;

    cairn_json_object(json);
    cairn_json_put_text(json, "name", row->name);
    cairn_json_put_text(json, "qualname", row->qualname);
    cairn_json_put_text(json, "file", row->file);
    cairn_json_put_u64(json, "line", row->line);
    cairn_json_put_text(json, "module", row->module);
    cairn_json_put_str(json, "kind", row->kind);
    cairn_json_put_str(json, "status",
                       !diff_row->before ? "new"
                       : diff_row->after ? "both"
                                         : "removed");
    cairn_json_put_bool(json, "compared", diff_row->compared);
    put_value(json, "self", &diff_row->self, false, counted);
    put_value(json, "total", &diff_row->total, false, counted);
    cairn_json_close(json);
}

int cairn_diff_json(const struct cairn_diff_show *show, struct cairn_outlet *out)
{
    static const char *const scales[] = {
        [CAIRN_DIFF_RUN] = "run", [CAIRN_DIFF_SECOND] = "second", [CAIRN_DIFF_SHARE] = "share"};
    const struct cairn_diff *diff = show->diff;
    size_t count = show->limit && show->limit < diff->count ? show->limit : diff->count;
    struct cairn_json json;

    cairn_json_init(&json, &out->buf, 2);
    cairn_json_object(&json);
    cairn_json_put_u64(&json, "schema", SCHEMA);
    put_recording(&json, "before", show->before_file, show->before, &diff->before);
    put_recording(&json, "after", show->after_file, show->after, &diff->after);
    cairn_json_put_str(&json, "metric", cairn_metric_name(show->before->filter.metric));
    cairn_json_put_str(&json, "normalize", scales[show->options->scale]);
    cairn_json_put_number(&json, "tolerance", show->options->tolerance);
    cairn_json_put_str(&json, "verdict",
                       !diff->enough ? "not_enough_data"
                       : diff->worse ? "worse"
                                     : "same");
    cairn_json_put_u64(&json, "compared", diff->compared);
    cairn_json_put_number(&json, "confidence", diff->confidence);
    put_value(&json, "whole", &diff->whole, true, diff->counted);
    cairn_json_key(&json, cairn_span_of("rows"));
    cairn_json_array(&json);
    for (size_t i = 0; i < count; i++) {
        put_row(&json, &diff->items[i], diff->counted);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(&json);
    cairn_json_close(&json);
    return cairn_json_end(&json);
}
