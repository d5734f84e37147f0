/* What the rows of samples hold, counted while the files are read; what the tracks and stacks they
 * name are is known only after the join. */
#include "model_raw.h"

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

/* A stack that is there is counted by its id, without more ado: there are millions of rows. */
static int count_stack(struct cairn_loader *loader, uint32_t writer, uint64_t stack, uint64_t ticks)
{
    const struct cairn_ids *stacks = &loader->model->writers.items[writer].stacks;
    struct cairn_raw_writer *raw = &loader->writers.items[writer];
    struct cairn_raw_met *met = &loader->no_stack;

    if (stack < stacks->near.count && stacks->near.items[stack]) {
        if (stack >= raw->stack_ticks.cap)
            CAIRN_TRY(cairn_vec_reserve(&raw->stack_ticks, stacks->near.count, RAW_MAX));
        raw->stack_ticks.items[stack] += ticks;
        return 0;
    }
    if (stack <= UINT32_MAX)
        CAIRN_TRY(met_of(&raw->met_stacks, &loader->met_stacks, writer, (uint32_t)stack, &met));
    met->rows++;
    met->ticks += ticks;
    return 0;
}

/* A row of a track that was met already. */
static int count_row(struct cairn_loader *loader, uint32_t writer, struct cairn_raw_met *track,
                     uint64_t stack, uint64_t ticks)
{
    track->rows++;
    track->python = track->python || !is_not_python(loader, writer, stack);
    return stack ? count_stack(loader, writer, stack, ticks) : 0;
}

static int count_columns(struct cairn_loader *loader, uint32_t writer, size_t row_count,
                         const struct columns *columns)
{
    struct cairn_raw_writer *raw = &loader->writers.items[writer];
    struct cairn_quality *quality = &loader->model->quality;
    uint64_t tick_count = loader->ticks.def.count;
    struct cairn_raw_met *met = NULL;

    for (size_t i = 0; i < row_count; i++) {
        uint64_t track = columns->track[i], tick = columns->tick[i], ticks = columns->ticks[i];

        if (ticks == 0 || tick >= tick_count || ticks > tick_count - tick) {
            quality->unknown_refs++;
            continue;
        }
        if (track > UINT32_MAX)
            met = &loader->no_track;
        else if (!met || met->id != track || met == &loader->no_track)
            CAIRN_TRY(met_of(&raw->met_tracks, &loader->met_tracks, writer, (uint32_t)track, &met));
        quality->samples += ticks;
        CAIRN_TRY(count_row(loader, writer, met, columns->stack[i], ticks));
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
