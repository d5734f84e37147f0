#include "countedlines.h"

#include <stdlib.h>

#include "alloc.h"
#include "interval.h"

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
            last->untimed |= line->untimed;
            last->let_go |= line->let_go;
            last->apart &= line->apart;
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
        last->untimed |= line->untimed;
        last->let_go |= line->let_go;
    }
    if (table->functions.count > 0)
        qsort(table->functions.items, table->functions.count, sizeof(*table->functions.items),
              by_time);
    return 0;
}

/* --- times of samples --- */

static int by_row(const void *left, const void *right)
{
    const struct cairn_row *a = left, *b = right;

    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static struct cairn_sampled_line sampled_of(const struct cairn_row *row, double base_ns)
{
    return (struct cairn_sampled_line){.self = row->self,
                                       .total = row->total,
                                       .self_low_ns = row->self_low * base_ns,
                                       .self_high_ns = row->self_high * base_ns,
                                       .total_low_ns = row->total_low * base_ns,
                                       .total_high_ns = row->total_high * base_ns};
}

/* A line that no sample met is below what so many samples would have met for sure. */
static struct cairn_row unmet_row(const struct cairn_tally *tally)
{
    struct cairn_row row = {.line = 0};

    cairn_interval_share(0, tally->draws[1][0], &row.self_low, &row.self_high);
    row.total_low = row.self_low;
    row.total_high = row.self_high;
    return row;
}

static int join_samples(struct cairn_counted_table *table, const struct cairn_tally *tally,
                        const struct cairn_rows *rows)
{
    const struct cairn_row unmet = unmet_row(tally);
    double base_ns = (double)rows->base.value_ns;

    CAIRN_TRY(cairn_vec_reserve(&table->sampled, table->lines.count, MOST_ITEMS));
    table->sampled.count = table->lines.count;
    for (size_t i = 0; i < table->lines.count; i++) {
        struct cairn_counted_line *line = &table->lines.items[i];
        const struct cairn_row key = {.function = line->function, .line = line->line};
        const struct cairn_row *row = NULL;

        if (rows->count > 0)
            row = bsearch(&key, rows->items, rows->count, sizeof(key), by_row);
        table->sampled.items[i] = sampled_of(row != NULL ? row : &unmet, base_ns);
        if (!line->untimed)
            continue;
        line->total_ns = table->sampled.items[i].total.value_ns;
        line->suspended_ns = 0;
        line->knows_calls = false;
    }
    return 0;
}

/* Lines without times get those of the samples, where there are any. */
static int add_samples(struct cairn_counted_table *table, const struct cairn_tally *tally,
                       struct cairn_err *err)
{
    const struct cairn_rows_options options = {.by = CAIRN_BY_LINE, .with_idle = true};
    struct cairn_rows rows;
    int code;

    for (size_t i = 0; i < table->lines.count; i++)
        table->any_untimed |= table->lines.items[i].untimed;
    if (!table->any_untimed || !tally->known || !tally->counted || tally->total.ticks == 0)
        return 0;
    CAIRN_TRY(cairn_rows_make(tally, &options, &rows, err));
    if (rows.count > 0)
        qsort(rows.items, rows.count, sizeof(*rows.items), by_row);
    code = join_samples(table, tally, &rows);
    cairn_rows_release(&rows);
    return code == 0 ? 0 : cairn_err_set(err, code, 0, "report", "cannot report the lines");
}

/* Functions of which lines of a thread that is kept were told apart. NULL: no memory. */
static bool *find_apart(const struct cairn_tally *tally, const struct cairn_counted_line *lines,
                        size_t count)
{
    const struct cairn_function *functions;
    bool *apart = cairn_calloc(cairn_model_functions(tally->model, &functions) + 1, sizeof(*apart));

    for (size_t i = 0; apart != NULL && i < count; i++)
        apart[lines[i].function] |= lines[i].apart && tally->kept[lines[i].thread];
    return apart;
}

int cairn_counted_lines_choose(const struct cairn_tally *tally, size_t *ret_count,
                               struct cairn_counted_line **ret_lines)
{
    const struct cairn_counted_line *lines;
    size_t count = cairn_model_counted_lines(tally->model, &lines), kept = 0;
    bool *apart = find_apart(tally, lines, count);
    struct cairn_counted_line *chosen = cairn_calloc(count + 1, sizeof(*chosen));

    for (size_t i = 0; apart != NULL && chosen != NULL && i < count; i++) {
        bool others = tally->filter.thread == NULL || !apart[lines[i].function];

        if (lines[i].apart ? tally->kept[lines[i].thread]
                           : others && tally->kept_process[lines[i].thread])
            chosen[kept++] = lines[i];
    }
    if (apart == NULL) {
        free(chosen);
        chosen = NULL;
    }
    free(apart);
    *ret_count = kept;
    *ret_lines = chosen;
    return chosen == NULL ? -CAIRN_ENOMEM : 0;
}

int cairn_counted_table_make(const struct cairn_tally *tally, struct cairn_counted_table *ret_table,
                             struct cairn_err *err)
{
    struct cairn_counted_line *lines;

    *ret_table = (struct cairn_counted_table){.functions = {0}};
    if (cairn_counted_lines_choose(tally, &ret_table->lines.count, &lines) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "report", "cannot report the lines");
    ret_table->lines.items = lines;
    for (size_t i = 0; i < ret_table->lines.count; i++)
        ret_table->any_others |= !lines[i].apart && tally->filter.thread != NULL;
    if (ret_table->lines.count > 0)
        qsort(ret_table->lines.items, ret_table->lines.count, sizeof(*lines), by_place);
    join_alike(ret_table);
    CAIRN_TRY(add_samples(ret_table, tally, err));
    if (add_functions(ret_table) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "report", "cannot report the lines");
    return 0;
}

void cairn_counted_table_release(struct cairn_counted_table *table)
{
    cairn_vec_release(&table->lines);
    cairn_vec_release(&table->sampled);
    cairn_vec_release(&table->functions);
}
