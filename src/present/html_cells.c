#include "html_cells.h"

#define DRAIN_ITEMS 4096

enum column {
    COLUMN_THREAD,
    COLUMN_NODE,
    COLUMN_PHASE,
    COLUMN_SLICE,
    COLUMN_STATES, /* and behind it, as enum cairn_state */
    COLUMN_IDLE = COLUMN_STATES + CAIRN_STATE_COUNT,
    COLUMN_GIL,
    COLUMN_COUNT
};

/* Of the cells of a page: what they are numbered by, and how far a column has come. */
struct place {
    const struct cairn_html_cells *out;
    const struct cairn_tally *gil; /* time that the GIL was held, of some of the cells */
    uint32_t node;
    size_t gil_at;
};

/* Of a cell; they are asked for in their order. */
static uint64_t gil_ns(struct place *place, const struct cairn_cell *cell)
{
    const struct cairn_tally *gil = place->gil;

    if (!gil->known)
        return 0;
    while (place->gil_at < gil->cell_count &&
           cairn_cell_compare(&gil->cells[place->gil_at], cell) < 0)
        place->gil_at++;
    if (place->gil_at == gil->cell_count ||
        cairn_cell_compare(&gil->cells[place->gil_at], cell) != 0)
        return 0;
    return gil->cells[place->gil_at].weight.value_ns;
}

/* A cell in one column; nodes as what lies between them and those before: cells are in the order
 * of nodes, so this is small. */
static int64_t value_of(const struct cairn_cell *cell, int column, struct place *place)
{
    uint32_t node = place->out->tree->node_of[cell->node], before = place->node;

    switch (column) {
    case COLUMN_THREAD:
        return place->out->thread_of[cell->thread];
    case COLUMN_NODE:
        place->node = node;
        return (int64_t)node - before;
    case COLUMN_PHASE:
        return cell->phase;
    case COLUMN_SLICE:
        return cell->slice;
    case COLUMN_IDLE:
        return (int64_t)cell->idle_blocked_ns;
    case COLUMN_GIL:
        return (int64_t)gil_ns(place, cell);
    default:
        return (int64_t)cell->state_ns[column - COLUMN_STATES];
    }
}

int cairn_html_cells_put(const struct cairn_html_cells *out, const struct cairn_tally *sliced,
                         const struct cairn_tally *gil)
{
    struct cairn_json *json = out->columns->json;

    cairn_json_array(json);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        struct place place = {.out = out, .gil = gil};

        cairn_html_columns_begin(out->columns);
        for (size_t i = 0; i < sliced->cell_count; i++) {
            const struct cairn_cell *cell = &sliced->cells[i];

            if (cell->weight.value_ns > 0)
                CAIRN_TRY(cairn_html_columns_put(out->columns, value_of(cell, column, &place)));
            if (i % DRAIN_ITEMS == DRAIN_ITEMS - 1)
                CAIRN_TRY(out->sink->drain(out->sink));
        }
        CAIRN_TRY(cairn_html_columns_end(out->columns));
    }
    cairn_json_close(json);
    return 0;
}
