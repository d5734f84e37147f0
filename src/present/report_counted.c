/* Lines that were counted one by one, beside their text: line_profiler's table, of each function.
 */
#include <inttypes.h>
#include <stdio.h>

#include "countedlines.h"
#include "report_parts.h"
#include "source.h"
#include "text.h"

#define US_PER_NS 1e-3

/* Columns that a function's lines have beside the usual ones. */
struct columns {
    bool sampled, no_times; /* times are of samples; there are none */
    bool parts, suspended;  /* what is their own, and in C; any was suspended */
};

static struct columns columns_of(const struct cairn_counted_table *table,
                                 const struct cairn_counted_function *function)
{
    struct columns columns = {.parts = true};

    for (size_t i = function->first; i < function->first + function->count; i++) {
        columns.parts &= table->lines.items[i].knows_calls;
        columns.suspended |= table->lines.items[i].suspended_ns > 0;
    }
    columns.sampled = function->untimed && table->sampled.count > 0;
    columns.no_times = function->untimed && !columns.sampled;
    return columns;
}

static void put_head(struct cairn_page *page, const struct columns *columns)
{
    cairn_page_str(page, "  line       hits    time us");
    if (columns->sampled)
        cairn_page_str(page, "       \xc2\xb1 us");
    cairn_page_str(page, "  us a hit  % time");
    if (columns->parts || columns->sampled)
        cairn_page_str(page, "    self us");
    if (columns->parts)
        cairn_page_str(page, "    in C us");
    if (columns->suspended)
        cairn_page_str(page, "  suspended us");
    cairn_page_end(page);
}

static void put_title(struct cairn_report *report, const struct cairn_counted_function *function,
                      const struct columns *columns)
{
    const struct cairn_function *functions, *told;
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_model_functions(report->tally->model, &functions);
    told = &functions[function->function];
    cairn_buf_init(&text, 1 << 18);
    cairn_buf_add(&text, told->qualname.data, told->qualname.size_bytes);
    cairn_buf_add_str(&text, ", ");
    if (columns->no_times)
        cairn_buf_add_str(&text, "time n/a");
    else
        cairn_text_time(&text, function->total_ns);
    cairn_buf_add_str(&text, columns->sampled ? " by samples" : "");
    cairn_buf_add_str(&text, function->let_go
                                 ? ", lines counted until it was let go for --max-overhead, in "
                                 : ", lines counted in ");
    cairn_buf_add(&text, told->file.data, told->file.size_bytes);
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_fit(page, cairn_buf_span(&text), page->width, CAIRN_CUT_END);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_drop(page, &text);
    cairn_page_end(page);
    put_head(page, columns);
}

static void put_text(struct cairn_report *report, const struct cairn_function *function,
                     uint32_t line)
{
    struct cairn_page *page = &report->page;
    struct cairn_span text = {NULL, 0};

    if (report->options->source)
        text = cairn_source_whole_line(report->options->source, function->file, function->name,
                                       function->first_line, line);
    cairn_page_str(page, "  ");
    cairn_page_fit(page, text, page->width > page->column ? page->width - page->column : 0,
                   CAIRN_CUT_END);
    cairn_page_end(page);
}

/* Behind the usual columns. */
static void put_parts(struct cairn_page *page, const struct columns *columns,
                      const struct cairn_counted_line *line,
                      const struct cairn_sampled_line *sampled)
{
    uint64_t others_ns = line->called_ns + line->native_ns;
    uint64_t self_ns = line->total_ns > others_ns ? line->total_ns - others_ns : 0;

    if (columns->sampled)
        self_ns = sampled->self.value_ns;
    if (columns->parts || columns->sampled)
        cairn_page_printf(page, " %10.0f", (double)self_ns * US_PER_NS);
    if (columns->parts)
        cairn_page_printf(page, " %10.0f", (double)line->native_ns * US_PER_NS);
    if (columns->suspended)
        cairn_page_printf(page, " %13.0f", (double)line->suspended_ns * US_PER_NS);
}

/* How far the interval goes from what is told, at its farther end. */
static double farthest_ns(const struct cairn_sampled_line *sampled)
{
    double told_ns = (double)sampled->total.value_ns;
    double below_ns = told_ns - sampled->total_low_ns, above_ns = sampled->total_high_ns - told_ns;

    return below_ns > above_ns ? below_ns : above_ns;
}

static void put_times(struct cairn_page *page, const struct columns *columns,
                      const struct cairn_counted_function *function,
                      const struct cairn_counted_line *line,
                      const struct cairn_sampled_line *sampled)
{
    double us = (double)line->total_ns * US_PER_NS;
    double share =
        function->total_ns > 0 ? 100.0 * (double)line->total_ns / (double)function->total_ns : 0;

    if (columns->no_times) {
        cairn_page_str(page, "       n/a       n/a      n/a");
        return;
    }
    cairn_page_printf(page, "%10.0f ", us);
    if (columns->sampled)
        cairn_page_printf(page, "%10.0f ", farthest_ns(sampled) * US_PER_NS);
    if (line->hits > 0)
        cairn_page_printf(page, "%9.1f", us / (double)line->hits);
    else
        cairn_page_str(page, "      n/a");
    cairn_page_printf(page, " %7.1f", share);
    put_parts(page, columns, line, sampled);
}

static void put_line(struct cairn_report *report, const struct cairn_counted_table *table,
                     const struct cairn_counted_function *function, size_t index,
                     const struct columns *columns)
{
    const struct cairn_counted_line *line = &table->lines.items[index];
    const struct cairn_function *functions;

    cairn_model_functions(report->tally->model, &functions);
    cairn_page_printf(&report->page, "%6" PRIu32 " %10" PRIu64 " ", line->line, line->hits);
    put_times(&report->page, columns, function, line,
              table->sampled.count > 0 ? &table->sampled.items[index] : NULL);
    put_text(report, &functions[function->function], line->line);
}

/* Of lines whose times nobody took: whose these are. */
static void put_origin(struct cairn_report *report, const struct cairn_counted_table *table)
{
    struct cairn_page *page = &report->page;

    if (table->any_others && table->lines.count > 0) {
        cairn_page_end(page);
        cairn_page_str(page, "Of lines that were not told apart by thread, those of all threads of "
                             "the process are below.");
        cairn_page_end(page);
    }
    if (!table->any_untimed || table->lines.count == 0)
        return;
    cairn_page_end(page);
    if (table->sampled.count > 0)
        cairn_page_printf(
            page,
            "Hits are exact. Times are those of the samples (%s), \xc2\xb1 at 95 %%: no "
            "clock was read at lines.",
            cairn_metric_name(report->tally->filter.metric));
    else
        cairn_page_str(page, "Hits are exact. Times: n/a, no clock was read at lines, and there is "
                             "no sample to take them from.");
    cairn_page_end(page);
}

static void put_function(struct cairn_report *report, const struct cairn_counted_table *table,
                         const struct cairn_counted_function *function)
{
    const struct columns columns = columns_of(table, function);

    put_title(report, function, &columns);
    for (size_t i = 0; i < function->count; i++)
        put_line(report, table, function, function->first + i, &columns);
}

int cairn_report_counted(struct cairn_report *report, size_t usual, struct cairn_err *err)
{
    size_t most = report->options->limit ? report->options->limit : usual;
    struct cairn_counted_table table;
    int code = cairn_counted_table_make(report->tally, &table, err);

    if (code == 0)
        put_origin(report, &table);
    for (size_t i = 0; code == 0 && i < table.functions.count && i < most; i++)
        put_function(report, &table, &table.functions.items[i]);
    if (code == 0 && table.functions.count > most) {
        cairn_page_printf(&report->page, "and %zu more functions: cairn report --limit %zu",
                          table.functions.count - most, table.functions.count);
        cairn_page_end(&report->page);
    }
    cairn_counted_table_release(&table);
    return code;
}
