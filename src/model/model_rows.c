/* What the rows of samples hold, counted while the files are read; what the tracks and stacks they
 * name are is known only after the join. */
#include "model_raw.h"

#include <string.h>

#define RAW_MAX CAIRN_MODEL_ITEMS_MAX

struct columns {
    const uint64_t *track, *tick, *ticks, *stack;
};

/* Where a track or stack that rows name is counted. */
static int met_of(struct cairn_ids *index, struct cairn_raw_mets *mets, uint32_t writer,
                  uint32_t id, struct cairn_raw_met **ret_met)
{
    uint32_t at = cairn_ids_get(index, id);

    if (at == CAIRN_IDS_LOST) {
        at = (uint32_t)mets->count;
        CAIRN_TRY(cairn_vec_reserve(mets, (size_t)at + 1, RAW_MAX));
        CAIRN_TRY(cairn_ids_put(index, id, at));
        mets->items[mets->count++] = (struct cairn_raw_met){.writer = writer, .id = id};
    }
    *ret_met = &mets->items[at];
    return 0;
}

/* Whether a stack is the label "[not python]" alone. */
static bool is_not_python(const struct cairn_loader *loader, uint32_t writer, uint64_t stack)
{
    const struct cairn_raw_location *location;
    const struct cairn_raw_stack *raw;
    uint32_t at;

    if (stack == 0)
        return true;
    if (stack > UINT32_MAX)
        return false;
    at = cairn_ids_get(&loader->model->writers.items[writer].stacks, (uint32_t)stack);
    if (at == CAIRN_RAW_LOST)
        return false;
    raw = &loader->stacks.items[at];
    if (raw->parent != CAIRN_RAW_NONE || raw->location == CAIRN_RAW_LOST)
        return false;
    location = &loader->locations.items[raw->location];
    return location->kind == CAIRN_LOC_LABEL && location->ref == loader->not_python;
}

/* On a stack that is not counted by its id. */
static int count_far_stack(struct cairn_loader *loader, uint32_t writer, uint64_t stack,
                           uint64_t ticks)
{
    struct cairn_raw_writer *raw = &loader->writers.items[writer];
    struct cairn_raw_met *met = &loader->no_stack;

    if (stack <= UINT32_MAX)
        CAIRN_TRY(met_of(&raw->met_stacks, &loader->met_stacks, writer, (uint32_t)stack, &met));
    met->rows++;
    met->ticks += ticks;
    return 0;
}

/* The rows [*row, row_count) as long as they are of the track of the first one, which is at `met`.
 * A stack that is there is counted by its id, without more ado: there are millions of rows. */
static int count_track_rows(struct cairn_loader *loader, uint32_t writer, size_t *row,
                            size_t row_count, const struct columns *columns,
                            struct cairn_raw_met *met)
{
    const struct cairn_ids *stacks = &loader->model->writers.items[writer].stacks;
    uint64_t *const stack_ticks = loader->writers.items[writer].stack_ticks.items;
    uint64_t tick_count = loader->ticks.def.count, rows = 0, samples = 0, strays = 0;
    uint64_t track = columns->track[*row];
    size_t i = *row;
    int code = 0;

    for (; i < row_count && columns->track[i] == track && code == 0; i++) {
        uint64_t tick = columns->tick[i], ticks = columns->ticks[i], stack = columns->stack[i];

        if (ticks == 0 || tick >= tick_count || ticks > tick_count - tick) {
            strays++;
            continue;
        }
        samples += ticks;
        rows++;
        met->python = met->python || !is_not_python(loader, writer, stack);
        if (stack < stacks->near.count && stacks->near.items[stack])
            stack_ticks[stack] += ticks;
        else if (stack)
            code = count_far_stack(loader, writer, stack, ticks);
    }
    *row = i;
    met->rows += rows;
    loader->model->quality.samples += samples;
    loader->model->quality.unknown_refs += strays;
    return code;
}

static bool is_a_row(const struct cairn_loader *loader, const struct columns *columns, size_t row)
{
    uint64_t tick_count = loader->ticks.def.count;
    uint64_t tick = columns->tick[row], ticks = columns->ticks[row];

    return ticks > 0 && tick < tick_count && ticks <= tick_count - tick;
}

static int count_columns(struct cairn_loader *loader, uint32_t writer, size_t row_count,
                         const struct columns *columns)
{
    struct cairn_raw_writer *raw = &loader->writers.items[writer];
    size_t row = 0, stack_count = loader->model->writers.items[writer].stacks.near.count;

    if (stack_count > raw->stack_ticks.cap)
        CAIRN_TRY(cairn_vec_reserve(&raw->stack_ticks, stack_count, RAW_MAX));
    while (row < row_count) {
        struct cairn_raw_met *met = &loader->no_track;

        if (!is_a_row(loader, columns, row)) { /* it does not even say that there is a track */
            loader->model->quality.unknown_refs++;
            row++;
            continue;
        }
        if (columns->track[row] <= UINT32_MAX)
            CAIRN_TRY(met_of(&raw->met_tracks, &loader->met_tracks, writer,
                             (uint32_t)columns->track[row], &met));
        CAIRN_TRY(count_track_rows(loader, writer, &row, row_count, columns, met));
    }
    return 0;
}

int cairn_model_count_rows(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    static const char *const wanted[] = {"track", "tick", "ticks", "stack", NULL};
    struct cairn_table *table = &loader->table;
    struct columns columns;

    table->wanted = wanted;
    CAIRN_TRY(cairn_decode_table(section, table));
    columns = (struct columns){
        .track = cairn_table_find(table, "track"),
        .tick = cairn_table_find(table, "tick"),
        .ticks = cairn_table_find(table, "ticks"),
        .stack = cairn_table_find(table, "stack"),
    };
    if (table->kind != CAIRN_ROW_SAMPLE || !columns.track || !columns.tick || !columns.ticks ||
        !columns.stack)
        return 0;
    for (size_t i = 0; i < table->column_count; i++)
        loader->model->has_overlays |= strcmp(table->columns[i].name, "overlays") == 0;
    return count_columns(loader, writer, table->row_count, &columns);
}

/* Rows of a track that is not there go to a thread that stands for all such. */
static int count_track(struct cairn_model *model, const struct cairn_raw_met *met, uint32_t thread)
{
    if (thread == CAIRN_IDS_LOST) {
        model->quality.unknown_refs += met->rows;
        CAIRN_TRY(cairn_model_lost_thread(model, &thread));
    }
    model->threads.items[thread].python |= met->python;
    return 0;
}

static void count_marks(struct cairn_model *model, uint32_t node, uint64_t ticks)
{
    uint8_t marks = model->marks.items[node];

    if (marks & CAIRN_MARK_TORN)
        model->quality.torn += ticks;
    if (marks & CAIRN_MARK_TRUNCATED)
        model->quality.truncated += ticks;
}

static void count_stacks(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;

    model->quality.unknown_refs += loader->no_stack.rows;
    for (size_t i = 0; i < loader->met_stacks.count; i++) {
        const struct cairn_raw_met *met = &loader->met_stacks.items[i];
        uint32_t node = cairn_ids_get(&model->writers.items[met->writer].stacks, met->id);

        if (node == CAIRN_IDS_LOST)
            model->quality.unknown_refs += met->rows;
        else
            count_marks(model, node, met->ticks);
    }
    for (size_t writer = 0; writer < loader->writers.count; writer++) {
        const struct cairn_raw_writer *raw = &loader->writers.items[writer];

        for (size_t id = 0; id < raw->stack_ticks.cap; id++)
            if (raw->stack_ticks.items[id])
                count_marks(model,
                            cairn_ids_get(&model->writers.items[writer].stacks, (uint32_t)id),
                            raw->stack_ticks.items[id]);
    }
}

int cairn_model_counted(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;

    for (size_t i = 0; i < loader->met_tracks.count; i++) {
        const struct cairn_raw_met *met = &loader->met_tracks.items[i];

        CAIRN_TRY(count_track(model, met,
                              cairn_ids_get(&model->writers.items[met->writer].tracks, met->id)));
    }
    if (loader->no_track.rows)
        CAIRN_TRY(count_track(model, &loader->no_track, CAIRN_IDS_LOST));
    count_stacks(loader);
    return 0;
}
