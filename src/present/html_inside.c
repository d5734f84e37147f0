#include "html_inside.h"

#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "regionrows.h"
#include "taskrows.h"

#define REGIONS_MAX 12u
#define TASKS_MAX 100u
#define CELLS_MAX ((size_t)200000)
#define SAMPLES_MAX ((uint64_t)20000000) /* gone through for all regions together */
#define NAMES_MAX ((size_t)1 << 24)
#define TEXTS_MAX_BYTES ((size_t)1 << 30)
#define PATTERN_MAX_BYTES ((size_t)1 << 20)

static int add_name(struct cairn_html_inside *inside, struct cairn_html_inside_name name)
{
    CAIRN_TRY(cairn_vec_reserve(&inside->names, inside->names.count + 1, NAMES_MAX));
    inside->names.items[inside->names.count++] = name;
    return 0;
}

static int add_regions(struct cairn_html_inside *inside)
{
    const struct cairn_tally *sliced = inside->sliced;
    uint64_t most = SAMPLES_MAX / (2 * sliced->total.ticks + 1);
    const struct cairn_function *functions;
    struct cairn_region_rows rows;
    int code;

    if (sliced->filter.region || sliced->filter.task ||
        cairn_model_counter(sliced->model, "regions_processes") == 0)
        return 0;
    cairn_model_functions(sliced->model, &functions);
    code = cairn_region_rows_make(sliced, &rows);
    for (size_t i = 0; code == 0 && i < rows.rows.count && i < REGIONS_MAX && i < most; i++)
        code = add_name(inside, (struct cairn_html_inside_name){
                                    .text = functions[rows.rows.items[i].function].name,
                                    .time_ns = rows.rows.items[i].total_ns,
                                });
    cairn_region_rows_release(&rows);
    return code;
}

/* The longest first. */
static int compare(const void *a, const void *b)
{
    const struct cairn_html_inside_name *one = a, *other = b;

    if (one->time_ns != other->time_ns)
        return one->time_ns > other->time_ns ? -1 : 1;
    return cairn_span_compare(one->text, other->text);
}

/* What a task is called, by either of its names. Id 0 of `seen` is no name. */
static int add_task(struct cairn_html_inside *inside, struct cairn_intern *seen, size_t first,
                    struct cairn_span text, uint64_t time_ns)
{
    uint32_t id;

    CAIRN_TRY(cairn_intern_add(seen, text, &id));
    if (id == 0)
        return 0;
    if (first + id > inside->names.count)
        return add_name(inside, (struct cairn_html_inside_name){text, time_ns, true});
    inside->names.items[first + id - 1].time_ns += time_ns;
    return 0;
}

static int add_task_rows(struct cairn_html_inside *inside, const struct cairn_task_rows *rows)
{
    size_t first = inside->names.count;
    struct cairn_intern seen;
    int code = cairn_intern_init(&seen, TEXTS_MAX_BYTES);

    for (size_t i = 0; i < rows->rows.count && code == 0; i++) {
        const struct cairn_task_row *row = &rows->rows.items[i];
        uint64_t time_ns = row->running_ns + row->waiting_ns;

        code = add_task(inside, &seen, first, row->name, time_ns);
        if (code == 0 && cairn_span_compare(row->name, row->coroutine) != 0)
            code = add_task(inside, &seen, first, row->coroutine, time_ns);
    }
    cairn_intern_release(&seen);
    if (inside->names.count > first)
        qsort(inside->names.items + first, inside->names.count - first,
              sizeof(*inside->names.items), compare);
    if (inside->names.count > first + TASKS_MAX)
        inside->names.count = first + TASKS_MAX;
    return code;
}

static int add_tasks(struct cairn_html_inside *inside)
{
    struct cairn_task_rows rows;
    int code;

    CAIRN_TRY(cairn_task_rows_make(inside->sliced, &rows));
    if (rows.known == CAIRN_TASKS_UNREAD)
        return 0; /* there are no rows to release */
    code = add_task_rows(inside, &rows);
    cairn_task_rows_release(&rows);
    return code;
}

int cairn_html_inside_make(const struct cairn_tally *sliced, bool tasks,
                           struct cairn_html_inside *ret_inside)
{
    int code;

    *ret_inside = (struct cairn_html_inside){.sliced = sliced, .left = CELLS_MAX};
    cairn_buf_init(&ret_inside->pattern, PATTERN_MAX_BYTES);
    code = add_regions(ret_inside);
    if (code == 0 && tasks)
        code = add_tasks(ret_inside);
    if (code < 0)
        cairn_html_inside_release(ret_inside);
    return code;
}

void cairn_html_inside_release(struct cairn_html_inside *inside)
{
    cairn_vec_release(&inside->names);
    cairn_buf_release(&inside->pattern);
}

const struct cairn_html_inside_name *cairn_html_inside_name(const struct cairn_html_inside *inside)
{
    return &inside->names.items[inside->next - 1];
}

/* The name as a pattern that fits it alone. */
static int make_pattern(struct cairn_html_inside *inside)
{
    struct cairn_span name = cairn_html_inside_name(inside)->text;

    cairn_buf_clear(&inside->pattern);
    for (size_t i = 0; i < name.size_bytes; i++) {
        if (strchr("*?[\\", name.data[i]))
            cairn_buf_u8(&inside->pattern, '\\');
        cairn_buf_u8(&inside->pattern, name.data[i]);
    }
    cairn_buf_u8(&inside->pattern, 0);
    return inside->pattern.code;
}

/* -CAIRN_ELIMIT: there is no room; -CAIRN_ENOTFOUND: nothing of it lies in what is chosen. */
static int make_sums(struct cairn_html_inside *inside, bool gil, struct cairn_tally *ret_tally,
                     struct cairn_tally *ret_gil, struct cairn_err *err)
{
    const struct cairn_model *model = cairn_model_whole(inside->sliced->model);
    struct cairn_filter filter = inside->sliced->filter;
    bool is_task = cairn_html_inside_name(inside)->is_task;
    const char *pattern;
    int code;

    CAIRN_TRY(make_pattern(inside));
    pattern = (const char *)inside->pattern.data;
    if (is_task) {
        filter.task = pattern;
        filter.slices = 1;
    } else {
        filter.region = pattern;
    }
    CAIRN_TRY(cairn_tally_make_up_to(model, &filter, inside->left, ret_tally, err));
    filter.metric = CAIRN_METRIC_GIL;
    *ret_gil = (struct cairn_tally){.known = false};
    code = gil && !is_task ? cairn_tally_make(model, &filter, ret_gil, err) : 0;
    if (code < 0)
        cairn_tally_release(ret_tally);
    else
        inside->left -= ret_tally->cell_count;
    return code;
}

int cairn_html_inside_next(struct cairn_html_inside *inside, bool gil,
                           struct cairn_tally *ret_tally, struct cairn_tally *ret_gil,
                           struct cairn_err *err)
{
    while (inside->next < inside->names.count) {
        struct cairn_err own = {0};
        int code;

        inside->next++;
        code = make_sums(inside, gil, ret_tally, ret_gil, &own);
        if (code == 0)
            return 1;
        if (code == -CAIRN_ELIMIT || code == -CAIRN_ENOTFOUND)
            continue;
        if (err)
            *err = own;
        return code;
    }
    return 0;
}

int cairn_html_inside_tasks(const struct cairn_tally *wall, struct cairn_tally *ret_tasks,
                            struct cairn_err *err)
{
    struct cairn_filter filter = wall->filter;
    const struct cairn_task_sum *tasks;
    struct cairn_err own = {0};
    int code;

    *ret_tasks = (struct cairn_tally){0};
    /* They are told of the whole recording. */
    if (filter.task || !cairn_filter_is_of_all_time(&filter) ||
        cairn_model_tasks(wall->model, &tasks) == 0)
        return 0;
    filter.task = "*";
    code =
        cairn_tally_make_up_to(cairn_model_whole(wall->model), &filter, CELLS_MAX, ret_tasks, &own);
    if (code == -CAIRN_ENOTFOUND || code == -CAIRN_ELIMIT) {
        *ret_tasks = (struct cairn_tally){0};
        return 0;
    }
    if (code < 0 && err)
        *err = own;
    return code;
}
