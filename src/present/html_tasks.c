/* asyncio's tasks, the longest first, as cairn_task_rows_make() adds them up. */
#include "escape.h"
#include "html_counts.h"
#include "taskrows.h"

#define TASKS_MAX 1000

/* Name, coroutine, process (-1: not known), running, waiting, and where it waited longest: file,
 * line (0: nowhere), function (-1: it stands on no stack of the page). */
static int put(struct cairn_html_counts *counts, const struct cairn_task_rows *rows,
               const struct cairn_task_row *row)
{
    const struct cairn_task_place none = {0, 0, 0};
    const struct cairn_task_place *place =
        row->place_count > 0 ? &rows->places.items[row->first_place] : &none;
    const struct cairn_function *functions;
    struct cairn_json *json = counts->json;
    uint32_t function = CAIRN_HTML_NONE;
    struct cairn_span file = {NULL, 0};

    cairn_model_functions(counts->wall->model, &functions);
    if (row->place_count > 0) {
        function = counts->tree->function_of[place->function];
        file = functions[place->function].file;
    }
    cairn_json_array(json);
    CAIRN_TRY(cairn_html_counts_text(counts, row->name));
    CAIRN_TRY(cairn_html_counts_text(counts, row->coroutine));
    cairn_json_i64(json,
                   row->process == UINT32_MAX ? -1 : (int64_t)counts->process_of[row->process]);
    cairn_json_u64(json, row->running_ns);
    cairn_json_u64(json, row->waiting_ns);
    CAIRN_TRY(cairn_html_counts_text(counts, file));
    cairn_json_u64(json, place->line);
    cairn_json_i64(json, function == CAIRN_HTML_NONE ? -1 : (int64_t)function);
    cairn_json_close(json);
    return 0;
}

int cairn_html_tasks_put(struct cairn_html_counts *counts)
{
    struct cairn_task_rows rows;
    int code = 0;

    CAIRN_TRY(cairn_task_rows_make(counts->wall, &rows));
    if (rows.known == CAIRN_TASKS_UNREAD) {
        cairn_json_put_null(counts->json, "tasks");
        return 0; /* there are no rows to release */
    }
    if (rows.rows.count > 0) {
        cairn_json_key(counts->json, cairn_span_of("tasks"));
        cairn_json_array(counts->json);
        for (size_t i = 0; i < rows.rows.count && i < TASKS_MAX && code == 0; i++)
            code = put(counts, &rows, &rows.rows.items[i]);
        cairn_json_close(counts->json);
        cairn_json_put_u64(counts->json, "task_count", rows.rows.count);
    }
    cairn_task_rows_release(&rows);
    return code;
}
