#include "row_spread.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "interval.h"

/* Of one share: its deviation in the strip before, and the squares of its changes so far. */
struct trail {
    double share, before_ns, square_sum;
};

static void follow(struct trail *trail, uint64_t part_ns, uint64_t whole_ns, bool first)
{
    double deviation_ns = (double)part_ns - trail->share * (double)whole_ns;
    double change_ns = deviation_ns - trail->before_ns;

    if (!first)
        trail->square_sum += change_ns * change_ns;
    trail->before_ns = deviation_ns;
}

/* Half a squared change is what one strip varies by; there is one change less than strips. */
static double draws_of(const struct trail *trail, unsigned strips, double base_ns)
{
    double variance = trail->square_sum / 2 * strips / (strips - 1) / (base_ns * base_ns);

    if (!(variance > 0))
        return 0;
    return cairn_interval_draws(trail->share, variance, 2.0 * (strips - 1) / 3);
}

/* The cells with what they spent in one strip alone. */
static void cut_cells(const struct cairn_strips *strips, unsigned strip, struct cairn_cell *cells,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cairn_cell *cell = &cells[i];

        cell->idle.value_ns = (uint64_t)cairn_strips_at(strips, cell->strips_item[1], strip);
        cell->weight.value_ns =
            cell->idle.value_ns + (uint64_t)cairn_strips_at(strips, cell->strips_item[0], strip);
    }
}

static int follow_strip(const struct cairn_tally *slice, unsigned strip, cairn_rows_maker *make,
                        const void *ctx, struct trail *trails, size_t row_count)
{
    struct cairn_rows rows = {0};
    int code;

    cut_cells(&slice->strips, strip, slice->cells, slice->cell_count);
    cut_cells(&slice->thread_strips, strip, slice->thread_cells, slice->thread_cell_count);
    code = make(slice, ctx, &rows);
    for (size_t i = 0; code == 0 && i < row_count && i < rows.count; i++) {
        follow(&trails[2 * i], rows.items[i].self.value_ns, rows.base.value_ns, strip == 0);
        follow(&trails[2 * i + 1], rows.items[i].total.value_ns, rows.base.value_ns, strip == 0);
    }
    cairn_rows_release(&rows);
    return code;
}

static struct cairn_cell *copy_cells(const struct cairn_cell *cells, size_t count)
{
    struct cairn_cell *copy = cairn_calloc(count + 1, sizeof(*copy));

    if (copy && count)
        memcpy(copy, cells, count * sizeof(*copy));
    return copy;
}

int cairn_rows_spread(const struct cairn_tally *tally, cairn_rows_maker *make, const void *ctx,
                      struct cairn_rows *rows)
{
    unsigned count = tally->strips.count;
    struct cairn_tally slice = *tally;
    double base_ns = (double)rows->base.value_ns;
    struct trail *trails;
    int code = 0;

    if (!count || !rows->base.value_ns)
        return 0;
    trails = cairn_calloc(2 * rows->count + 1, sizeof(*trails));
    slice.cells = copy_cells(tally->cells, tally->cell_count);
    slice.thread_cells = copy_cells(tally->thread_cells, tally->thread_cell_count);
    if (!trails || !slice.cells || !slice.thread_cells)
        code = -CAIRN_ENOMEM;
    for (size_t i = 0; code == 0 && i < rows->count; i++) {
        trails[2 * i].share = (double)rows->items[i].self.value_ns / base_ns;
        trails[2 * i + 1].share = (double)rows->items[i].total.value_ns / base_ns;
    }
    for (unsigned strip = 0; code == 0 && strip < count; strip++)
        code = follow_strip(&slice, strip, make, ctx, trails, rows->count);
    for (size_t i = 0; code == 0 && i < rows->count; i++) {
        rows->items[i].self_draws = draws_of(&trails[2 * i], count, base_ns);
        rows->items[i].total_draws = draws_of(&trails[2 * i + 1], count, base_ns);
    }
    free(trails);
    free(slice.cells);
    free(slice.thread_cells);
    return code;
}
