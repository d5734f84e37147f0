#include "regioncut.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "buf.h"
#include "regionlist.h"
#include "regionrows.h"

#define SLOW_PART 10 /* one in so many */
#define ENDS_PART 4  /* so is left out of the middle, at either end */
#define NAMED 6      /* in what is said when a name is not there */

static int by_length(const void *left, const void *right)
{
    const struct cairn_region_item *a = left, *b = right;
    uint64_t a_ns = cairn_region_item_ns(a), b_ns = cairn_region_item_ns(b);

    if (a->cut != b->cut)
        return a->cut ? 1 : -1;
    if (a_ns != b_ns)
        return a_ns < b_ns ? -1 : 1;
    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

static int by_thread_and_time(const void *left, const void *right)
{
    const struct cairn_region_item *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

/* Leaves those whose name fits. Names are NUL-terminated behind their last byte. */
static void keep_named(const struct cairn_tally *tally, struct cairn_region_list *list)
{
    const struct cairn_function *functions;
    size_t kept = 0;

    cairn_model_functions(tally->model, &functions);
    for (size_t i = 0; i < list->count; i++) {
        const char *name = (const char *)functions[list->items[i].function].name.data;

        if (!list->items[i].mark && name && fnmatch(tally->filter.region, name, 0) == 0)
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* Leaves the slow ones or the middle ones of those that have a length. */
static void keep_long(struct cairn_region_list *list, enum cairn_region_length length)
{
    size_t whole = 0, first, end;

    if (length == CAIRN_REGION_LENGTH_ANY || list->count == 0)
        return;
    qsort(list->items, list->count, sizeof(*list->items), by_length);
    while (whole < list->count && !list->items[whole].cut)
        whole++;
    if (length == CAIRN_REGION_LENGTH_SLOW) {
        first = whole - (whole + SLOW_PART - 1) / SLOW_PART;
        end = whole;
    } else {
        first = whole / ENDS_PART;
        end = whole - first;
    }
    list->count = end - first;
    if (list->count > 0)
        memmove(list->items, list->items + first, list->count * sizeof(*list->items));
}

/* `list` is in order of threads and times. */
static void join(const struct cairn_region_list *list, size_t thread_count,
                 struct cairn_windows *windows)
{
    size_t count = 0, next = 0;

    for (size_t thread = 0; thread < thread_count; thread++) {
        size_t first = windows->firsts[thread] = count;

        for (; next < list->count && list->items[next].thread == thread; next++) {
            const struct cairn_region_item *item = &list->items[next];
            struct cairn_window *last = count > first ? &windows->items[count - 1] : NULL;

            if (last && item->first_ns <= last->last_ns) {
                if (item->last_ns > last->last_ns)
                    last->last_ns = item->last_ns;
                continue;
            }
            windows->items[count++] = (struct cairn_window){item->first_ns, item->last_ns};
        }
    }
    windows->firsts[thread_count] = count;
}

static int make_windows(struct cairn_tally *tally, struct cairn_region_list *list)
{
    struct cairn_windows *windows = &tally->windows;
    const struct cairn_thread *threads;
    size_t thread_count = cairn_model_threads(tally->model, &threads);

    windows->items = cairn_calloc(list->count + 1, sizeof(*windows->items));
    windows->firsts = cairn_calloc(thread_count + 1, sizeof(*windows->firsts));
    if (!windows->items || !windows->firsts)
        return -CAIRN_ENOMEM;
    qsort(list->items, list->count, sizeof(*list->items), by_thread_and_time);
    join(list, thread_count, windows);
    return 0;
}

static int say_names(const struct cairn_tally *tally, struct cairn_err *err)
{
    const struct cairn_function *functions;
    struct cairn_region_rows rows;
    struct cairn_buf names;
    int code = cairn_region_rows_make(tally, &rows);

    cairn_buf_init(&names, 512);
    cairn_model_functions(tally->model, &functions);
    for (size_t i = 0; i < rows.rows.count && i < NAMED; i++) {
        struct cairn_span name = functions[rows.rows.items[i].function].name;

        cairn_buf_printf(&names, "%s%.*s", i > 0 ? ", " : "",
                         name.size_bytes < 60 ? (int)name.size_bytes : 60, (const char *)name.data);
    }
    if (code == 0) {
        code = -CAIRN_ENOTFOUND; /* as a status that is about programs and files */
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "region",
                      "no region is called %.100s in the threads and the time asked for",
                      tally->filter.region);
        if (rows.rows.count > 0)
            cairn_err_add(err, "There are: %s%s.", cairn_buf_cstr(&names),
                          rows.rows.count > NAMED ? " and more" : "");
        else
            cairn_err_add(err, "There are none: `with cairn.region(\"name\"):` in the program "
                               "makes them.");
    }
    cairn_buf_release(&names);
    cairn_region_rows_release(&rows);
    return code;
}

int cairn_region_cut(struct cairn_tally *tally, struct cairn_err *err)
{
    struct cairn_region_list list;
    int code = cairn_region_list_make(tally, &list);

    if (code == 0) {
        keep_named(tally, &list);
        keep_long(&list, tally->filter.region_length);
        code = list.count > 0 ? make_windows(tally, &list) : say_names(tally, err);
    }
    tally->regions = list.count;
    for (size_t i = 0; i < list.count; i++)
        tally->regions_whole += !list.items[i].cut;
    cairn_region_list_release(&list);
    return code;
}
