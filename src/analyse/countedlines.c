#include "countedlines.h"

#include <stdlib.h>

#define MOST_ITEMS ((size_t)1 << 30)

static int by_place(const void *left, const void *right)
{
    const struct cairn_counted_line *a = left, *b = right;

    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static int by_time(const void *left, const void *right)
{
    const struct cairn_counted_function *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

/* Lines of several processes are one, once they stand beside each other. */
static void join_alike(struct cairn_counted_table *table)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->lines.count; i++) {
        const struct cairn_counted_line *line = &table->lines.items[i];
        struct cairn_counted_line *last = kept > 0 ? &table->lines.items[kept - 1] : NULL;

        if (last != NULL && by_place(last, line) == 0) {
            last->hits += line->hits;
            last->total_ns += line->total_ns;
            last->suspended_ns += line->suspended_ns;
            last->called_ns += line->called_ns;
            last->native_ns += line->native_ns;
            last->knows_calls &= line->knows_calls;
        } else {
            table->lines.items[kept++] = *line;
        }
    }
    table->lines.count = kept;
}

static int add_functions(struct cairn_counted_table *table)
{
    struct cairn_counted_function *last = NULL;

    for (size_t i = 0; i < table->lines.count; i++) {
        const struct cairn_counted_line *line = &table->lines.items[i];

        if (last == NULL || last->function != line->function) {
            CAIRN_TRY(cairn_vec_reserve(&table->functions, table->functions.count + 1, MOST_ITEMS));
            last = &table->functions.items[table->functions.count++];
            *last = (struct cairn_counted_function){.function = line->function, .first = i};
        }
        last->count++;
        last->total_ns += line->total_ns;
    }
    if (table->functions.count > 0)
        qsort(table->functions.items, table->functions.count, sizeof(*table->functions.items),
              by_time);
    return 0;
}

int cairn_counted_table_make(const struct cairn_tally *tally, struct cairn_counted_table *ret_table)
{
    const struct cairn_counted_line *lines;
    size_t count = cairn_model_counted_lines(tally->model, &lines);

    *ret_table = (struct cairn_counted_table){.functions = {0}};
    CAIRN_TRY(cairn_vec_reserve(&ret_table->lines, count, MOST_ITEMS));
    for (size_t i = 0; i < count; i++)
        if (tally->kept[lines[i].thread])
            ret_table->lines.items[ret_table->lines.count++] = lines[i];
    if (ret_table->lines.count > 0)
        qsort(ret_table->lines.items, ret_table->lines.count, sizeof(*lines), by_place);
    join_alike(ret_table);
    return add_functions(ret_table);
}

void cairn_counted_table_release(struct cairn_counted_table *table)
{
    cairn_vec_release(&table->lines);
    cairn_vec_release(&table->functions);
}
