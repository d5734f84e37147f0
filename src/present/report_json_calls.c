#include "report_json_calls.h"

#include "alloc.h"
#include "escape.h"
#include "exactrows.h"
#include "report_json.h"

struct sampled { /* of a function */
    uint64_t self, total, self_ns;
};

/* Samples by function: calls and samples are of the same functions. NULL: no memory. */
static struct sampled *samples_of(const struct cairn_model *model, const struct cairn_rows *rows)
{
    const struct cairn_function *functions;
    size_t count = cairn_model_functions(model, &functions);
    struct sampled *sampled = cairn_calloc(count + 1, sizeof(*sampled));

    for (size_t i = 0; sampled != NULL && i < rows->count; i++)
        if (rows->items[i].function < count)
            sampled[rows->items[i].function] =
                (struct sampled){rows->items[i].self.ticks, rows->items[i].total.ticks,
                                 rows->items[i].self.value_ns};
    return sampled;
}

/* One end of a pair of caller and callee, and the numbers of its calls. */
static void put_edge(struct cairn_json *json, const struct cairn_function *function,
                     const struct cairn_exact_caller *caller)
{
    cairn_json_object(json);
    cairn_json_put_text(json, "name", function->name);
    cairn_json_put_text(json, "qualname", function->qualname);
    cairn_json_put_text(json, "file", function->file);
    cairn_json_put_u64(json, "first_line", function->first_line);
    cairn_json_put_u64(json, "calls", caller->calls);
    cairn_json_put_known(json, "primitive_calls", !caller->unsure, caller->primitive_calls);
    if (caller->plain) {
        cairn_json_put_null(json, "self_s");
        cairn_json_put_null(json, "total_s");
    } else {
        if (caller->inferred)
            cairn_json_put_null(json, "self_s");
        else
            cairn_json_put_seconds(json, "self_s", caller->self_ns);
        cairn_json_put_seconds(json, "total_s", caller->total_ns);
    }
    cairn_json_close(json);
}

static void put_callers(struct cairn_json *json, const struct cairn_exact_table *table,
                        const struct cairn_exact_line *line, const struct cairn_function *functions)
{
    cairn_json_key(json, cairn_span_of("callers"));
    cairn_json_array(json);
    for (size_t i = 0; i < line->caller_count; i++) {
        const struct cairn_exact_caller *caller = &table->callers.items[line->first_caller + i];

        put_edge(json, &functions[caller->function], caller);
    }
    cairn_json_close(json);
}

static void put_callees(struct cairn_json *json, const struct cairn_exact_table *table,
                        const struct cairn_exact_line *line, const struct cairn_function *functions)
{
    cairn_json_key(json, cairn_span_of("callees"));
    cairn_json_array(json);
    for (size_t i = 0; i < table->callers.count; i++)
        if (table->callers.items[i].function == line->function)
            put_edge(json, &functions[table->callers.items[i].callee], &table->callers.items[i]);
    cairn_json_close(json);
}

static void put_shares(struct cairn_json *json, double self, double total)
{
    cairn_json_put_number(json, "self_share", self);
    cairn_json_put_number(json, "total_share", total);
    cairn_json_put_number(json, "self_low", self);
    cairn_json_put_number(json, "self_high", self);
    cairn_json_put_number(json, "total_low", total);
    cairn_json_put_number(json, "total_high", total);
}

/* Without what counting took. */
static void put_corrected(struct cairn_json *json, const struct cairn_exact_table *table,
                          const struct cairn_exact_line *line)
{
    if (!table->cost_known) {
        cairn_json_put_null(json, "self_corrected_s");
        cairn_json_put_null(json, "total_corrected_s");
        cairn_json_put_null(json, "confidence");
        return;
    }
    cairn_json_put_seconds(json, "self_corrected_s",
                           cairn_exact_corrected(line->self_ns, line->self_cost_ns));
    cairn_json_put_seconds(json, "total_corrected_s",
                           cairn_exact_corrected(line->total_ns, line->total_cost_ns));
    cairn_json_put_str(json, "confidence", cairn_exact_confidence(table, line));
}

static void put_line(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_exact_table *table, const struct cairn_exact_line *line,
                     const struct cairn_function *functions, const struct sampled *sampled,
                     bool with_callees)
{
    const struct cairn_function *function = &functions[line->function];
    double base = table->self_ns > 0 ? (double)table->self_ns : 1;
    double self = (double)line->self_ns / base, total = (double)line->total_ns / base;

    cairn_json_object(json);
    cairn_report_json_handle(json, "handle", tally->model, line->function);
    cairn_json_put_text(json, "name", function->name);
    cairn_json_put_text(json, "qualname", function->qualname);
    cairn_json_put_text(json, "file", function->file);
    cairn_json_put_u64(json, "line", function->first_line);
    cairn_json_put_u64(json, "first_line", function->first_line);
    cairn_json_put_text(json, "module", function->module);
    cairn_json_put_str(json, "kind", line->kind);
    cairn_json_put_seconds(json, "self_s", line->self_ns);
    cairn_json_put_seconds(json, "total_s", line->total_ns);
    put_shares(json, self, total);
    cairn_json_put_known(json, "samples", !tally->pieces, sampled[line->function].self);
    cairn_json_put_known(json, "total_samples", !tally->pieces, sampled[line->function].total);
    cairn_json_put_number(json, "bound", self < 0.999 ? 1 / (1 - self) : 1000);
    cairn_json_put_known(json, "calls", !(line->unsure && line->calls == 0), line->calls);
    if (line->unsure || cairn_exact_is_untimed(line)) /* nobody saw what recursed */
        cairn_json_put_null(json, "primitive_calls");
    else
        cairn_json_put_u64(json, "primitive_calls", line->primitive_calls);
    cairn_json_put_u64(json, "resumes", line->resumes);
    cairn_json_put_seconds(json, "suspended_s", line->suspended_ns);
    put_corrected(json, table, line);
    cairn_json_put_bool(json, "exact", cairn_exact_is_whole(table, line));
    cairn_json_put_bool(json, "calls_exact", cairn_exact_counts_all(table, line));
    cairn_json_put_u64(json, "timed_calls", line->calls - line->untimed_calls);
    cairn_json_put_bool(json, "self_exact",
                        cairn_exact_is_whole(table, line) && !cairn_exact_misses(table));
    cairn_json_put_seconds(json, "sampled_self_s", sampled[line->function].self_ns);
    put_callers(json, table, line, functions);
    if (with_callees)
        put_callees(json, table, line, functions);
    cairn_json_put_null(json, "tid");
    cairn_json_put_null(json, "pid");
    cairn_json_put_null(json, "role");
    cairn_json_close(json);
}

static int put_table(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_exact_table *table, const struct sampled *sampled,
                     size_t limit, struct cairn_outlet *out)
{
    size_t count = limit && limit < table->lines.count ? limit : table->lines.count;
    const struct cairn_function *functions;

    cairn_model_functions(tally->model, &functions);
    cairn_json_put_seconds(json, "base_s", table->self_ns);
    cairn_json_put_bool(json, "rankable", true);
    cairn_json_put_u64(json, "samples_wanted", 0);
    cairn_json_key(json, cairn_span_of("rows"));
    cairn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        put_line(json, tally, table, &table->lines.items[i], functions, sampled, false);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(json);
    return 0;
}

int cairn_report_json_calls(struct cairn_json *json, const struct cairn_tally *tally,
                            const struct cairn_rows *rows, enum cairn_sort sort, size_t limit,
                            struct cairn_outlet *out)
{
    struct sampled *sampled = samples_of(tally->model, rows);
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(tally, sort, &table);

    if (code == 0 && sampled == NULL)
        code = -CAIRN_ENOMEM;
    if (code == 0)
        code = put_table(json, tally, &table, sampled, limit, out);
    cairn_exact_table_release(&table);
    free(sampled);
    return code;
}

static int put_counted(struct cairn_json *json, const struct cairn_tally *tally, const char *of,
                       const struct sampled *sampled, struct cairn_outlet *out,
                       struct cairn_err *err)
{
    const struct cairn_function *functions;
    bool *matched = cairn_calloc(cairn_model_functions(tally->model, &functions) + 1, 1);
    struct cairn_exact_table table = {.calls = 0};
    int code = matched != NULL && sampled != NULL ? 0 : -CAIRN_ENOMEM;

    if (code == 0)
        code = cairn_rows_match(tally->model, of, matched, err);
    if (code == 0)
        code = cairn_exact_table_make(tally, CAIRN_SORT_SELF, &table);
    for (size_t i = 0; i < table.lines.count && code == 0; i++) {
        if (!matched[table.lines.items[i].function])
            continue;
        put_line(json, tally, &table, &table.lines.items[i], functions, sampled, true);
        code = cairn_outlet_drain(out);
    }
    cairn_exact_table_release(&table);
    free(matched);
    return code;
}

int cairn_report_json_counted(struct cairn_json *json, const struct cairn_tally *tally,
                              const char *of, struct cairn_outlet *out, struct cairn_err *err)
{
    const struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION, .with_idle = true};
    struct sampled *sampled;
    struct cairn_rows rows;
    int code;

    if (!cairn_exact_table_has(tally)) {
        cairn_json_put_null(json, "counted");
        return 0;
    }
    CAIRN_TRY(cairn_rows_make(tally, &options, &rows, err));
    sampled = samples_of(tally->model, &rows);
    cairn_rows_release(&rows);
    cairn_json_key(json, cairn_span_of("counted"));
    cairn_json_array(json);
    code = put_counted(json, tally, of, sampled, out, err);
    cairn_json_close(json);
    free(sampled);
    if (code == -CAIRN_ENOMEM)
        cairn_err_set(err, code, 0, "report", "cannot report the calls");
    return code;
}
