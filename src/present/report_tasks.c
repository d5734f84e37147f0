/* asyncio's tasks: how long they ran and waited, and at which line. */
#include "report_parts.h"
#include "taskrows.h"
#include "text.h"

#define TIME_COLUMNS 9
#define PLACES 3 /* of a task, where tasks are asked for */

static void put_time(struct cairn_page *page, uint64_t ns, unsigned end)
{
    struct cairn_buf text;

    cairn_buf_init(&text, 64);
    cairn_text_time(&text, ns);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
    cairn_page_to(page, end);
}

/* "waits 97 % at crawl.py:12" */
static void put_place(struct cairn_report *report, const struct cairn_task_row *row,
                      const struct cairn_task_place *place)
{
    struct cairn_page *page = &report->page;
    const struct cairn_function *functions, *function;
    struct cairn_buf text;
    unsigned left;

    cairn_model_functions(report->tally->model, &functions);
    function = &functions[place->function];
    cairn_page_to(page, 2 * TIME_COLUMNS + 2);
    left = page->width - page->column;
    cairn_buf_init(&text, 1 << 17);
    cairn_buf_printf(&text, "waits ");
    cairn_report_share(&text, place->waiting_ns, row->waiting_ns);
    cairn_buf_printf(&text, " at ");
    cairn_report_path(page, &text, function->file, function->origin, place->line,
                      left - (unsigned)text.size_bytes);
    cairn_page_fit(page, cairn_buf_span(&text), left, CAIRN_CUT_START);
    cairn_page_drop(page, &text);
    cairn_page_end(page);
}

static void put_row(struct cairn_report *report, const struct cairn_task_rows *rows,
                    const struct cairn_task_row *row, size_t places)
{
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    put_time(page, row->running_ns, TIME_COLUMNS);
    put_time(page, row->waiting_ns, 2 * TIME_COLUMNS);
    cairn_buf_init(&text, 1 << 18);
    cairn_buf_add(&text, row->name.data, row->name.size_bytes);
    if (row->name.size_bytes)
        cairn_buf_printf(&text, "  ");
    cairn_buf_add(&text, row->coroutine.data, row->coroutine.size_bytes);
    cairn_page_fit(page, cairn_buf_span(&text), page->width - page->column, CAIRN_CUT_END);
    cairn_page_drop(page, &text);
    cairn_page_end(page);
    for (size_t i = 0; i < row->place_count && i < places; i++)
        put_place(report, row, &rows->places.items[row->first_place + i]);
}

int cairn_report_tasks(struct cairn_report *report, size_t usual)
{
    struct cairn_page *page = &report->page;
    bool asked = report->options->by == (int)CAIRN_BY_TASK;
    size_t most = report->options->limit ? report->options->limit : usual;
    uint64_t left_out = cairn_model_counter(report->tally->model, "tasks_left_out");
    struct cairn_task_rows rows;

    CAIRN_TRY(cairn_task_rows_make(report->tally, &rows));
    if (rows.known != CAIRN_TASKS_NONE || asked) {
        cairn_page_end(page);
        cairn_page_style(page, CAIRN_STYLE_STRONG);
        cairn_page_str(page, "asyncio tasks");
        cairn_page_style(page, CAIRN_STYLE_PLAIN);
        cairn_page_end(page);
    }
    if (rows.rows.count) {
        cairn_page_str(page, "running");
        cairn_page_to(page, TIME_COLUMNS);
        cairn_page_str(page, "waiting");
        cairn_page_end(page);
    } else if (rows.known == CAIRN_TASKS_UNREAD) {
        cairn_page_str(page, "n/a: too short to be read, or not of `_asyncio`");
        cairn_page_end(page);
    } else if (asked) {
        cairn_page_str(page, "none was seen");
        cairn_page_end(page);
    }
    for (size_t i = 0; i < rows.rows.count && i < most; i++)
        put_row(report, &rows, &rows.rows.items[i], asked ? PLACES : 1);
    if (rows.rows.count > most) {
        cairn_page_printf(page, "and %zu more: cairn report --by task --limit %zu",
                          rows.rows.count - most, rows.rows.count);
        cairn_page_end(page);
    }
    if (left_out) {
        cairn_page_printf(page,
                          "missing: up to %llu at a time, too many or too short to be looked at",
                          (unsigned long long)left_out);
        cairn_page_end(page);
    }
    cairn_task_rows_release(&rows);
    return 0;
}
