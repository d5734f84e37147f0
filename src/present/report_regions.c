/* The regions that a program wrote down: how many, and how long they took. */
#include <inttypes.h>

#include "regionrows.h"
#include "report_parts.h"
#include "text.h"

#define COLUMN 9
#define COLUMNS 6 /* count, total, three percentiles, the longest */

static void put_time(struct cairn_page *page, uint64_t ns, bool known, unsigned column)
{
    struct cairn_buf text;

    cairn_buf_init(&text, 64);
    if (known)
        cairn_text_time(&text, ns);
    else
        cairn_buf_add_str(&text, "n/a");
    cairn_page_to(page, column * COLUMN);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
}

static void put_row(struct cairn_report *report, const struct cairn_region_row *row)
{
    bool known = row->count > row->cut;
    const struct cairn_function *functions;
    struct cairn_page *page = &report->page;

    cairn_model_functions(report->tally->model, &functions);
    cairn_page_printf(page, "%" PRIu64, row->count);
    put_time(page, row->total_ns, true, 1);
    put_time(page, row->p50_ns, known, 2);
    put_time(page, row->p90_ns, known, 3);
    put_time(page, row->p99_ns, known, 4);
    put_time(page, row->max_ns, known, 5);
    cairn_page_to(page, COLUMNS * COLUMN);
    cairn_page_fit(page, functions[row->function].name,
                   page->width > page->column ? page->width - page->column : 0, CAIRN_CUT_END);
    cairn_page_end(page);
}

static void put_head(struct cairn_page *page)
{
    static const char *const titles[COLUMNS + 1] = {"count", "total", "p50",   "p90",
                                                    "p99",   "max",   "region"};

    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_str(page, "regions of the program");
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
    for (unsigned i = 0; i <= COLUMNS; i++) {
        cairn_page_to(page, i * COLUMN);
        cairn_page_str(page, titles[i]);
    }
    cairn_page_end(page);
}

int cairn_report_regions(struct cairn_report *report, size_t usual)
{
    size_t most = report->options->limit ? report->options->limit : usual;
    uint64_t lost = cairn_model_counter(report->tally->model, "regions_lost");
    struct cairn_page *page = &report->page;
    struct cairn_region_rows rows;
    int code = cairn_region_rows_make(report->tally, &rows);

    if (code == 0 && rows.rows.count > 0)
        put_head(page);
    for (size_t i = 0; code == 0 && i < rows.rows.count && i < most; i++)
        put_row(report, &rows.rows.items[i]);
    if (code == 0 && rows.rows.count > most) {
        cairn_page_printf(page, "and %zu more: cairn report --limit %zu", rows.rows.count - most,
                          rows.rows.count);
        cairn_page_end(page);
    }
    if (code == 0 && lost > 0) {
        cairn_page_printf(page, "missing: %" PRIu64 " regions and marks that had no room", lost);
        cairn_page_end(page);
    }
    cairn_region_rows_release(&rows);
    return code;
}
