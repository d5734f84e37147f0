/* Lines that were counted one by one, beside their text: line_profiler's table, of each function.
 */
#include <inttypes.h>
#include <stdio.h>

#include "countedlines.h"
#include "report_parts.h"
#include "source.h"
#include "text.h"

#define US_PER_NS 1e-3

static void put_title(struct cairn_report *report, const struct cairn_counted_function *function)
{
    const struct cairn_function *functions, *told;
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_model_functions(report->tally->model, &functions);
    told = &functions[function->function];
    cairn_buf_init(&text, 1 << 18);
    cairn_buf_add(&text, told->qualname.data, told->qualname.size_bytes);
    cairn_buf_add_str(&text, ", ");
    cairn_text_time(&text, function->total_ns);
    cairn_buf_add_str(&text, ", lines counted in ");
    cairn_buf_add(&text, told->file.data, told->file.size_bytes);
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_fit(page, cairn_buf_span(&text), page->width, CAIRN_CUT_END);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_drop(page, &text);
    cairn_page_end(page);
    cairn_page_str(page, "  line       hits    time us  us a hit  % time");
    cairn_page_end(page);
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

static void put_line(struct cairn_report *report, const struct cairn_counted_function *function,
                     const struct cairn_counted_line *line)
{
    const struct cairn_function *functions;
    double us = (double)line->total_ns * US_PER_NS;
    double share =
        function->total_ns > 0 ? 100.0 * (double)line->total_ns / (double)function->total_ns : 0;

    cairn_model_functions(report->tally->model, &functions);
    cairn_page_printf(&report->page, "%6" PRIu32 " %10" PRIu64 " %10.0f ", line->line, line->hits,
                      us);
    if (line->hits > 0)
        cairn_page_printf(&report->page, "%9.1f", us / (double)line->hits);
    else
        cairn_page_str(&report->page, "      n/a");
    cairn_page_printf(&report->page, " %7.1f", share);
    put_text(report, &functions[function->function], line->line);
}

int cairn_report_counted(struct cairn_report *report, size_t usual)
{
    size_t most = report->options->limit ? report->options->limit : usual;
    struct cairn_counted_table table;
    int code = cairn_counted_table_make(report->tally, &table);

    for (size_t i = 0; code == 0 && i < table.functions.count && i < most; i++) {
        const struct cairn_counted_function *function = &table.functions.items[i];

        put_title(report, function);
        for (size_t k = 0; k < function->count; k++)
            put_line(report, function, &table.lines.items[function->first + k]);
    }
    if (code == 0 && table.functions.count > most) {
        cairn_page_printf(&report->page, "and %zu more functions: cairn report --limit %zu",
                          table.functions.count - most, table.functions.count);
        cairn_page_end(&report->page);
    }
    cairn_counted_table_release(&table);
    return code;
}
