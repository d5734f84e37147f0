/* Rows of the report's table as comma-separated values, RFC 4180: a spreadsheet opens it. A text
 * that a spreadsheet would take for a formula gets an apostrophe in front. */
#include <inttypes.h>
#include <math.h>

#include "escape.h"
#include "exactrows.h"
#include "exporters.h"
#include "table.h"

#define COLUMNS                                                                                    \
    "name,qualname,file,line,first_line,module,kind,self_s,total_s,self_share,total_share,"        \
    "self_low,self_high,total_low,total_high,samples,total_samples,bound"

static void put_text(struct cairn_buf *out, struct cairn_span text)
{
    cairn_escape_csv(out, text);
    cairn_buf_u8(out, ',');
}

static void put_seconds(struct cairn_buf *out, uint64_t ns)
{
    cairn_buf_printf(out, "%" PRIu64 ".%09" PRIu64 ",", ns / 1000000000u, ns % 1000000000u);
}

static void put_row(struct cairn_buf *out, const struct cairn_row *row, bool pieces)
{
    const double shares[] = {row->self_share, row->total_share, row->self_low,
                             row->self_high,  row->total_low,   row->total_high};

    put_text(out, row->name);
    put_text(out, row->qualname);
    put_text(out, row->file);
    cairn_buf_printf(out, "%" PRIu32 ",%" PRIu32 ",", row->line, row->first_line);
    put_text(out, row->module);
    put_text(out, cairn_span_of(row->kind));
    put_seconds(out, row->self.value_ns);
    put_seconds(out, row->total.value_ns);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        if (isnan(shares[i])) /* not known: see tally.h */
            cairn_buf_u8(out, ',');
        else
            cairn_buf_printf(out, "%.9g,", shares[i]);
    if (pieces)
        cairn_buf_add_str(out, ",,");
    else
        cairn_buf_printf(out, "%" PRIu64 ",%" PRIu64 ",", row->self.ticks, row->total.ticks);
    cairn_buf_printf(out, "%.9g\r\n", row->bound);
}

/* Functions whose calls were counted: the columns of samples, of which those that only samples have
 * are empty, and behind them what is known of calls. */
static void put_exact(struct cairn_buf *out, const struct cairn_model *model,
                      const struct cairn_exact_table *table, const struct cairn_exact_line *line)
{
    const struct cairn_function *functions, *function;
    double base = table->self_ns > 0 ? (double)table->self_ns : 1;
    double self = (double)line->self_ns / base, total = (double)line->total_ns / base;

    cairn_model_functions(model, &functions);
    function = &functions[line->function];
    put_text(out, function->name);
    put_text(out, function->qualname);
    put_text(out, function->file);
    cairn_buf_printf(out, "%" PRIu32 ",%" PRIu32 ",", function->first_line, function->first_line);
    put_text(out, function->module);
    put_text(out, cairn_span_of(line->kind));
    put_seconds(out, line->self_ns);
    put_seconds(out, line->total_ns);
    cairn_buf_printf(out, "%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,,,%.9g,", self, total, self, self, total,
                     total, self < 0.999 ? 1 / (1 - self) : 1000);
    if (line->unsure)
        cairn_buf_printf(out, line->calls ? "%" PRIu64 ",,0," : ",,0,", line->calls);
    else
        cairn_buf_printf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", line->calls,
                         line->primitive_calls, line->resumes);
    put_seconds(out, line->suspended_ns);
    if (table->cost_known) {
        put_seconds(out, cairn_exact_corrected(line->self_ns, line->self_cost_ns));
        put_seconds(out, cairn_exact_corrected(line->total_ns, line->total_cost_ns));
        cairn_buf_add_str(out, cairn_exact_confidence(table, line));
    } else {
        cairn_buf_add_str(out, ",,");
    }
    cairn_buf_printf(out, ",%d,%d\r\n", cairn_exact_is_whole(table, line),
                     cairn_exact_is_whole(table, line) && !cairn_exact_misses(table));
}

static int export_exact(const struct cairn_tally *tally, struct cairn_outlet *out)
{
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(tally, CAIRN_SORT_SELF, &table);

    if (code == 0)
        cairn_buf_add_str(&out->buf, COLUMNS ",calls,primitive_calls,resumes,suspended_s,"
                                             "self_corrected_s,total_corrected_s,confidence,exact,"
                                             "self_exact\r\n");
    for (size_t i = 0; code == 0 && i < table.lines.count; i++) {
        put_exact(&out->buf, tally->model, &table, &table.lines.items[i]);
        code = cairn_outlet_drain(out);
    }
    cairn_exact_table_release(&table);
    return code;
}

int cairn_export_csv(const struct cairn_tally *tally, const struct cairn_export_options *options,
                     struct cairn_outlet *out)
{
    /* Idle waiting is in: what is left out could not be added up. */
    struct cairn_rows_options chosen = {.by = options->by, .with_idle = true};
    struct cairn_rows rows;
    int code;

    if (options->by == CAIRN_BY_FUNCTION && cairn_exact_table_has(tally))
        return export_exact(tally, out);
    code = cairn_rows_make(tally, &chosen, &rows, NULL);
    if (code < 0)
        return code;
    cairn_buf_add_str(&out->buf, COLUMNS "\r\n");
    for (size_t i = 0; i < rows.count && code == 0; i++) {
        put_row(&out->buf, &rows.items[i], tally->pieces);
        code = cairn_outlet_drain(out);
    }
    cairn_rows_release(&rows);
    return code;
}
