/* Lines that were counted, of all functions, as cairn_counted_table_make() adds them up, and by
 * process. */
#include <stdlib.h>

#include "countedlines.h"
#include "escape.h"
#include "html_counts.h"
#include "vec.h"

#define MOST_ITEMS ((size_t)1 << 28)
#define DRAIN_ITEMS 4096
#define ALL_PROCESSES UINT32_MAX

struct item {
    uint32_t process; /* of the page */
    struct cairn_counted_line line;
};

CAIRN_VEC_DECLARE(item_list, struct item);

static int by_place(const void *left, const void *right)
{
    const struct item *a = left, *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->line.function != b->line.function)
        return a->line.function < b->line.function ? -1 : 1;
    return (a->line.line > b->line.line) - (a->line.line < b->line.line);
}

static void add(struct cairn_counted_line *sum, const struct cairn_counted_line *line)
{
    sum->hits += line->hits;
    sum->total_ns += line->total_ns;
    sum->suspended_ns += line->suspended_ns;
    sum->called_ns += line->called_ns;
    sum->native_ns += line->native_ns;
    sum->knows_calls &= line->knows_calls;
    sum->untimed |= line->untimed;
}

static void join_alike(struct item_list *list)
{
    size_t kept = 0;

    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof(*list->items), by_place);
    for (size_t i = 1; i < list->count; i++) {
        if (by_place(&list->items[kept], &list->items[i]) == 0)
            add(&list->items[kept].line, &list->items[i].line);
        else
            list->items[++kept] = list->items[i];
    }
    list->count = kept + 1;
}

static int take(const struct cairn_html_counts *counts, struct item_list *list)
{
    const struct cairn_tally *tally = counts->wall;
    struct cairn_counted_line *lines;
    size_t count;
    int code;

    CAIRN_TRY(cairn_counted_lines_choose(tally, &count, &lines));
    code = cairn_vec_reserve(list, count, MOST_ITEMS);
    for (size_t i = 0; i < count && code == 0; i++)
        list->items[list->count++] =
            (struct item){cairn_html_counts_process(counts, lines[i].thread), lines[i]};
    free(lines);
    if (code < 0)
        return code;
    join_alike(list);
    if (list->count <= CAIRN_HTML_COUNTED_MAX)
        return 0;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].process = ALL_PROCESSES;
    join_alike(list);
    return 0;
}

/* Function, line, hits, time, of it in Python that was called and in C (-1: calls were not counted;
 * -2: nor was a clock read, the time is that of samples, which the page has), suspended, process.
 */
static void put(struct cairn_html_counts *counts, const struct item *item)
{
    const struct cairn_counted_line *line = &item->line;
    bool knows_calls = line->knows_calls && !line->untimed;
    int64_t unknown = line->untimed ? -2 : -1;
    struct cairn_json *json = counts->json;

    cairn_json_array(json);
    cairn_json_u64(json, counts->tree->function_of[line->function]);
    cairn_json_u64(json, line->line);
    cairn_json_u64(json, line->hits);
    cairn_json_u64(json, line->untimed ? 0 : line->total_ns);
    cairn_json_i64(json, knows_calls ? (int64_t)line->called_ns : unknown);
    cairn_json_i64(json, knows_calls ? (int64_t)line->native_ns : unknown);
    cairn_json_u64(json, line->suspended_ns);
    cairn_json_i64(json, item->process == ALL_PROCESSES ? -1 : (int64_t)item->process);
    cairn_json_close(json);
}

int cairn_html_lines_put(struct cairn_html_counts *counts)
{
    struct item_list list = {.count = 0};
    int code = take(counts, &list);

    if (code == 0 && list.count > 0) {
        cairn_json_key(counts->json, cairn_span_of("lines"));
        cairn_json_array(counts->json);
        for (size_t i = 0; i < list.count && code == 0; i++) {
            put(counts, &list.items[i]);
            if (i % DRAIN_ITEMS == DRAIN_ITEMS - 1)
                code = counts->sink->drain(counts->sink);
        }
        cairn_json_close(counts->json);
    }
    cairn_vec_release(&list);
    return code;
}
