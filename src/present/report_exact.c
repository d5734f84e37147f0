/* The table that cProfile prints, of calls that were counted one by one. */
#include <inttypes.h>
#include <stdio.h>

#include "escape.h"
#include "exactrows.h"
#include "report_parts.h"
#include "text.h"

#define NS_PER_S 1e9
#define COUNT_COLUMNS 9

static void put_title(struct cairn_report *report, const struct cairn_exact_table *table)
{
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_buf_init(&text, 256);
    cairn_text_count(&text, table->calls);
    cairn_buf_printf(&text, " call%s counted, ", table->calls == 1 ? "" : "s");
    cairn_text_time(&text, table->self_ns);
    cairn_buf_add_str(&text, ", by function");
    if (table->cost_known) {
        cairn_buf_add_str(&text, "; counting took about ");
        cairn_text_time(&text, (uint64_t)table->cost_ns);
        cairn_buf_add_str(&text, " of it");
    }
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
    cairn_page_str(page, "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)");
    cairn_page_end(page);
    cairn_page_drop(page, &text);
}

/* "12" or, of what recurses, "30/10"; more than has room moves the rest of the line. */
static void put_calls(struct cairn_page *page, const struct cairn_exact_line *line)
{
    char text[48];
    int length = line->calls == line->primitive_calls
                     ? snprintf(text, sizeof(text), "%" PRIu64, line->calls)
                     : snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64, line->calls,
                                line->primitive_calls);

    if (length < COUNT_COLUMNS)
        cairn_page_to(page, (unsigned)(COUNT_COLUMNS - length));
    cairn_page_str(page, text);
}

static void put_seconds(struct cairn_page *page, uint64_t ns, uint64_t per)
{
    if (per == 0) /* it was resumed alone */
        cairn_page_str(page, "      n/a");
    else
        cairn_page_printf(page, " %8.3f", (double)ns / (double)per / NS_PER_S);
}

static void put_place(struct cairn_report *report, const struct cairn_exact_line *line)
{
    struct cairn_page *page = &report->page;
    const struct cairn_function *functions, *function;
    struct cairn_buf text;

    cairn_model_functions(report->tally->model, &functions);
    function = &functions[line->function];
    cairn_buf_init(&text, 1 << 18);
    if (line->kind[0] == 'p') {
        cairn_buf_add(&text, function->file.data, function->file.size_bytes);
        cairn_buf_printf(&text, ":%u(", function->first_line);
        cairn_buf_add(&text, function->qualname.data, function->qualname.size_bytes);
        cairn_buf_u8(&text, ')');
    } else if (function->name.size_bytes > 2 && function->name.data[0] == '<') {
        cairn_buf_u8(&text, '{');
        cairn_buf_add(&text, function->name.data + 1, function->name.size_bytes - 2);
        cairn_buf_u8(&text, '}');
    } else {
        cairn_buf_add(&text, function->name.data, function->name.size_bytes);
    }
    cairn_page_str(page, " ");
    cairn_page_fit(page, cairn_buf_span(&text), page->width - page->column, CAIRN_CUT_START);
    cairn_page_drop(page, &text);
    cairn_page_end(page);
}

/* Whether most of its own time is what counting took. */
static bool is_poor(const struct cairn_exact_table *table, const struct cairn_exact_line *line)
{
    const char *confidence = cairn_exact_confidence(table, line);

    return confidence != NULL && confidence[0] == 'p';
}

static void put_line(struct cairn_report *report, const struct cairn_exact_table *table,
                     const struct cairn_exact_line *line)
{
    struct cairn_page *page = &report->page;

    put_calls(page, line);
    put_seconds(page, line->self_ns, 1);
    put_seconds(page, line->self_ns, line->calls);
    put_seconds(page, line->total_ns, 1);
    put_seconds(page, line->total_ns, line->primitive_calls);
    if (is_poor(table, line))
        cairn_page_str(page, " ~");
    put_place(report, line);
}

static void put_legend(struct cairn_report *report, const struct cairn_exact_table *table,
                       size_t most)
{
    for (size_t i = 0; i < table->lines.count && i < most; i++)
        if (is_poor(table, &table->lines.items[i])) {
            cairn_page_prose(&report->page, 0,
                             cairn_span_of("~: over half of its tottime is what counting took; "
                                           "without that: cairn report --json, self_corrected_s"));
            return;
        }
}

int cairn_report_exact(struct cairn_report *report, size_t usual)
{
    size_t most = report->options->limit ? report->options->limit : usual;
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(report->tally, report->options->sort, &table);

    if (code == 0) {
        put_title(report, &table);
        for (size_t i = 0; i < table.lines.count && i < most; i++)
            put_line(report, &table, &table.lines.items[i]);
        put_legend(report, &table, most);
        if (table.lines.count > most) {
            cairn_page_printf(&report->page, "and %zu more: cairn report --by function --limit %zu",
                              table.lines.count - most, table.lines.count);
            cairn_page_end(&report->page);
        }
    }
    cairn_exact_table_release(&table);
    return code;
}
