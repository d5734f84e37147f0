#include "report_json_lines.h"

#include "countedlines.h"
#include "escape.h"

#define NS_PER_S 1e9

static void put_estimate(struct cairn_json *json, const char *key, double ns)
{
    cairn_json_put_number(json, key, ns / NS_PER_S);
}

static void put_nulls(struct cairn_json *json, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        cairn_json_put_null(json, *keys);
}

/* Of a line whose times were measured. What of it is its own, and that of C that it called, is not
 * known where calls were not counted. */
static void put_measured(struct cairn_json *json, const struct cairn_counted_line *line)
{
    static const char *const unknown[] = {"self_s", "c_s", NULL};
    static const char *const estimates[] = {"time_low_s",  "time_high_s", "self_low_s",
                                            "self_high_s", "samples",     NULL};
    uint64_t others_ns = line->called_ns + line->native_ns;

    cairn_json_put_text(json, "times", cairn_span_of("measured"));
    cairn_json_put_seconds(json, "time_s", line->total_ns);
    if (line->knows_calls) {
        cairn_json_put_seconds(json, "self_s",
                               line->total_ns > others_ns ? line->total_ns - others_ns : 0);
        cairn_json_put_seconds(json, "c_s", line->native_ns);
    } else {
        put_nulls(json, unknown);
    }
    cairn_json_put_seconds(json, "suspended_s", line->suspended_ns);
    put_nulls(json, estimates);
}

static void put_sampled(struct cairn_json *json, const struct cairn_sampled_line *sampled)
{
    static const char *const unknown[] = {"c_s", "suspended_s", NULL};

    cairn_json_put_text(json, "times", cairn_span_of("sampled"));
    cairn_json_put_seconds(json, "time_s", sampled->total.value_ns);
    cairn_json_put_seconds(json, "self_s", sampled->self.value_ns);
    put_nulls(json, unknown);
    put_estimate(json, "time_low_s", sampled->total_low_ns);
    put_estimate(json, "time_high_s", sampled->total_high_ns);
    put_estimate(json, "self_low_s", sampled->self_low_ns);
    put_estimate(json, "self_high_s", sampled->self_high_ns);
    cairn_json_put_u64(json, "samples", sampled->total.ticks);
}

static void put_none(struct cairn_json *json)
{
    static const char *const unknown[] = {"times",       "time_s",     "self_s",      "c_s",
                                          "suspended_s", "time_low_s", "time_high_s", "self_low_s",
                                          "self_high_s", "samples",    NULL};

    put_nulls(json, unknown);
}

static void put_line(struct cairn_json *json, const struct cairn_counted_table *table, size_t index,
                     const struct cairn_function *functions)
{
    const struct cairn_counted_line *line = &table->lines.items[index];
    const struct cairn_function *function = &functions[line->function];

    cairn_json_object(json);
    cairn_json_put_text(json, "file", function->file);
    cairn_json_put_text(json, "function", function->qualname);
    cairn_json_put_u64(json, "first_line", function->first_line);
    cairn_json_put_u64(json, "line", line->line);
    cairn_json_put_u64(json, "hits", line->hits);
    cairn_json_put_bool(json, "exact", !line->let_go);
    cairn_json_put_bool(json, "by_thread", line->apart);
    if (!line->untimed)
        put_measured(json, line);
    else if (table->sampled.count > 0)
        put_sampled(json, &table->sampled.items[index]);
    else
        put_none(json);
    cairn_json_close(json);
}

int cairn_report_json_lines(struct cairn_json *json, const struct cairn_tally *tally,
                            struct cairn_err *err)
{
    const struct cairn_function *functions;
    struct cairn_counted_table table;
    int code = cairn_counted_table_make(tally, &table, err);

    cairn_model_functions(tally->model, &functions);
    cairn_json_key(json, cairn_span_of("lines"));
    cairn_json_array(json);
    for (size_t i = 0; code == 0 && i < table.lines.count; i++)
        put_line(json, &table, i, functions);
    cairn_json_close(json);
    cairn_counted_table_release(&table);
    return code;
}
