#include "taskrows.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "format.h"

#define ROWS_MAX (1u << 30)

/* A sum beside what it is sorted by. */
struct part {
    const struct cairn_task_sum *sum;
    uint32_t function, line;
};

static int compare_task(const struct part *a, const struct part *b)
{
    int order = cairn_span_compare(a->sum->coroutine, b->sum->coroutine);

    if (order == 0)
        order = cairn_span_compare(a->sum->name, b->sum->name);
    return order ? order
                 : (a->sum->process > b->sum->process) - (a->sum->process < b->sum->process);
}

static int by_task_and_place(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    int order = compare_task(a, b);

    if (order == 0)
        order = (a->function > b->function) - (a->function < b->function);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int longest_place_first(const void *left, const void *right)
{
    const struct cairn_task_place *a = left, *b = right;

    if (a->waiting_ns != b->waiting_ns)
        return a->waiting_ns < b->waiting_ns ? 1 : -1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static int longest_first(const void *left, const void *right)
{
    const struct cairn_task_row *a = left, *b = right;

    if (a->running_ns != b->running_ns)
        return a->running_ns < b->running_ns ? 1 : -1;
    if (a->waiting_ns != b->waiting_ns)
        return a->waiting_ns < b->waiting_ns ? 1 : -1;
    return a->first_place < b->first_place ? -1 : 1; /* as sorted by name */
}

/* The parts of threads that the filter keeps. Their number. */
static size_t take_parts(const struct cairn_tally *tally, const struct cairn_task_sum *sums,
                         size_t count, bool *kept, struct part *parts)
{
    const struct cairn_thread *threads;
    const struct cairn_frame *frames;
    size_t taken = 0, thread_count = cairn_model_threads(tally->model, &threads);

    cairn_model_frames(tally->model, &frames);
    for (size_t i = 0; i < tally->thread_cell_count; i++)
        kept[tally->thread_cells[i].thread] = true;
    for (size_t i = 0; i < count; i++) {
        const struct cairn_frame *frame = &frames[sums[i].own];
        bool known = sums[i].thread < thread_count;

        if (!cairn_filter_keeps_task(&tally->filter, sums[i].name, sums[i].coroutine))
            continue;
        if (known ? !kept[sums[i].thread] : tally->filter.thread || tally->filter.process)
            continue;
        parts[taken++] = (struct part){
            .sum = &sums[i],
            .function = frame->function,
            .line = frame->line,
        };
    }
    return taken;
}

/* Adds the parts of one task, which stand together. */
static int add_row(struct cairn_task_rows *rows, const struct part *parts, size_t count)
{
    struct cairn_task_row row = {.name = parts->sum->name,
                                 .coroutine = parts->sum->coroutine,
                                 .process = parts->sum->process,
                                 .first_place = rows->places.count};

    CAIRN_TRY(cairn_vec_reserve(&rows->rows, rows->rows.count + 1, ROWS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&rows->places, rows->places.count + count, ROWS_MAX));
    for (size_t i = 0; i < count; i++) {
        struct cairn_task_place *place = &rows->places.items[rows->places.count];

        if (parts[i].sum->state == CAIRN_TASK_RUNNING) {
            row.running_ns += parts[i].sum->task_ns;
            continue;
        }
        row.waiting_ns += parts[i].sum->task_ns;
        if (row.place_count && place[-1].function == parts[i].function &&
            place[-1].line == parts[i].line) {
            place[-1].waiting_ns += parts[i].sum->task_ns;
            continue;
        }
        *place = (struct cairn_task_place){parts[i].function, parts[i].line, parts[i].sum->task_ns};
        rows->places.count++;
        row.place_count++;
    }
    if (row.place_count > 1)
        qsort(rows->places.items + row.first_place, row.place_count, sizeof(*rows->places.items),
              longest_place_first);
    rows->rows.items[rows->rows.count++] = row;
    return 0;
}

static int add_rows(struct cairn_task_rows *rows, const struct part *parts, size_t count)
{
    size_t first = 0;

    while (first < count) {
        size_t end = first + 1;

        while (end < count && compare_task(&parts[first], &parts[end]) == 0)
            end++;
        CAIRN_TRY(add_row(rows, parts + first, end - first));
        first = end;
    }
    if (rows->rows.count > 1)
        qsort(rows->rows.items, rows->rows.count, sizeof(*rows->rows.items), longest_first);
    return 0;
}

/* What runs a loop; the bodies of classes run in those files when they are imported. */
static bool is_of_loop(const struct cairn_function *function)
{
    static const char *const names[] = {"run", "run_forever", "run_until_complete", "_run_once"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (function->name.size_bytes == strlen(names[i]) &&
            memcmp(function->name.data, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Whether a loop of asyncio was met, whoever ran it. */
static bool met_asyncio(const struct cairn_model *model)
{
    static const char tail[] = "/asyncio/runners.py", other[] = "/asyncio/base_events.py";
    const struct cairn_function *functions;
    size_t count = cairn_model_functions(model, &functions);

    for (size_t i = 0; i < count; i++) {
        struct cairn_span file = functions[i].file;

        if (file.size_bytes &&
            (memmem(file.data, file.size_bytes, tail, sizeof(tail) - 1) ||
             memmem(file.data, file.size_bytes, other, sizeof(other) - 1)) &&
            is_of_loop(&functions[i]))
            return true;
    }
    return false;
}

static enum cairn_tasks_known what_is_known(const struct cairn_tally *tally, size_t count)
{
    if (count)
        return CAIRN_TASKS_KNOWN;
    return met_asyncio(tally->model) ? CAIRN_TASKS_UNREAD : CAIRN_TASKS_NONE;
}

int cairn_task_rows_make(const struct cairn_tally *tally, struct cairn_task_rows *ret_rows)
{
    const struct cairn_task_sum *sums;
    const struct cairn_thread *threads;
    size_t count = cairn_model_tasks(tally->model, &sums);
    struct part *parts = cairn_calloc(count + 1, sizeof(*parts));
    bool *kept = cairn_calloc(cairn_model_threads(tally->model, &threads) + 1, sizeof(*kept));
    int code = parts && kept ? 0 : -CAIRN_ENOMEM;

    *ret_rows = (struct cairn_task_rows){0};
    if (code == 0) {
        count = take_parts(tally, sums, count, kept, parts);
        if (count > 1)
            qsort(parts, count, sizeof(*parts), by_task_and_place);
        code = add_rows(ret_rows, parts, count);
        ret_rows->known = what_is_known(tally, ret_rows->rows.count);
    }
    if (code < 0)
        cairn_task_rows_release(ret_rows);
    free(parts);
    free(kept);
    return code;
}

void cairn_task_rows_release(struct cairn_task_rows *rows)
{
    cairn_vec_release(&rows->rows);
    cairn_vec_release(&rows->places);
}
