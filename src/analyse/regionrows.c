#include "regionrows.h"

#include <stdlib.h>

#include "regionlist.h"

#define MOST_ROWS ((size_t)64 << 20)

/* Regions by function, those with a length first and by it; marks behind them all. */
static int by_function_and_length(const void *left, const void *right)
{
    const struct cairn_region_item *a = left, *b = right;

    if (a->mark != b->mark)
        return a->mark ? 1 : -1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->cut != b->cut)
        return a->cut ? 1 : -1;
    return (cairn_region_item_ns(a) > cairn_region_item_ns(b)) -
           (cairn_region_item_ns(a) < cairn_region_item_ns(b));
}

static int by_total(const void *left, const void *right)
{
    const struct cairn_region_row *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

static int by_time(const void *left, const void *right)
{
    const struct cairn_region_mark *a = left, *b = right;

    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* The first ones by time, whoever set them. */
static int add_marks(const struct cairn_tally *tally, const struct cairn_region_list *list,
                     struct cairn_region_rows *rows)
{
    uint64_t first_ns, last_ns;

    cairn_model_span(tally->model, &first_ns, &last_ns);
    for (size_t i = 0; i < list->count; i++) {
        const struct cairn_region_item *item = &list->items[i];

        rows->mark_count += item->mark;
        if (!item->mark)
            continue;
        CAIRN_TRY(cairn_vec_reserve(&rows->marks, rows->marks.count + 1, MOST_ROWS));
        rows->marks.items[rows->marks.count++] = (struct cairn_region_mark){
            .function = item->function,
            .thread = item->thread,
            .time_ns = item->first_ns > first_ns ? item->first_ns - first_ns : 0,
            .values = item->values,
        };
    }
    if (rows->marks.count > 0)
        qsort(rows->marks.items, rows->marks.count, sizeof(*rows->marks.items), by_time);
    if (rows->marks.count > CAIRN_REGION_MARKS_MAX)
        rows->marks.count = CAIRN_REGION_MARKS_MAX;
    return 0;
}

/* Of `count` in order: the one of rank ceil(percent count / 100). */
static uint64_t percentile(const struct cairn_region_item *items, size_t count, unsigned percent)
{
    return count == 0 ? 0 : cairn_region_item_ns(&items[(count * percent + 99) / 100 - 1]);
}

static struct cairn_region_row row_of(const struct cairn_region_item *items, size_t count)
{
    struct cairn_region_row row = {.function = items->function, .count = count};
    size_t whole = 0;

    for (size_t i = 0; i < count; i++) {
        row.total_ns += cairn_region_item_ns(&items[i]);
        whole += !items[i].cut;
    }
    row.cut = count - whole;
    row.min_ns = whole == 0 ? 0 : cairn_region_item_ns(&items[0]);
    row.p50_ns = percentile(items, whole, 50);
    row.p90_ns = percentile(items, whole, 90);
    row.p99_ns = percentile(items, whole, 99);
    row.max_ns = whole == 0 ? 0 : cairn_region_item_ns(&items[whole - 1]);
    return row;
}

static int add_up(struct cairn_region_list *list, struct cairn_region_rows *rows)
{
    struct cairn_region_item *items = list->items;
    size_t count = list->count - rows->mark_count;

    if (count == 0)
        return 0;
    qsort(items, list->count, sizeof(*items), by_function_and_length);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && items[end].function == items[first].function;)
            end++;
        CAIRN_TRY(cairn_vec_reserve(&rows->rows, rows->rows.count + 1, MOST_ROWS));
        rows->rows.items[rows->rows.count++] = row_of(items + first, end - first);
    }
    qsort(rows->rows.items, rows->rows.count, sizeof(*rows->rows.items), by_total);
    return 0;
}

int cairn_region_rows_make(const struct cairn_tally *tally, struct cairn_region_rows *ret_rows)
{
    struct cairn_region_list list;
    int code = cairn_region_list_make(tally, &list);

    *ret_rows = (struct cairn_region_rows){.mark_count = 0};
    if (code == 0)
        code = add_marks(tally, &list, ret_rows);
    if (code == 0)
        code = add_up(&list, ret_rows);
    cairn_region_list_release(&list);
    return code;
}

void cairn_region_rows_release(struct cairn_region_rows *rows)
{
    cairn_vec_release(&rows->rows);
    cairn_vec_release(&rows->marks);
}
