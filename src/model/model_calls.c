/* Rows of exact trees of calls: kept, one for each thread and stack, for they are no more than the
 * stacks. */
#include "model_raw.h"

struct columns {
    const uint64_t *track, *stack, *calls, *resumes, *self, *total, *suspended, *let_go;
};

static int add(struct cairn_loader *loader, uint32_t writer, const struct columns *columns,
               size_t row)
{
    struct cairn_raw_calls *raw;

    CAIRN_TRY(cairn_vec_reserve(&loader->calls, loader->calls.count + 1, CAIRN_MODEL_ITEMS_MAX));
    raw = &loader->calls.items[loader->calls.count++];
    *raw = (struct cairn_raw_calls){
        .writer = writer,
        .track = (uint32_t)columns->track[row],
        .stack = (uint32_t)columns->stack[row],
        .sum =
            {
                .calls = columns->calls[row],
                .self_ns = columns->self[row],
                .total_ns = columns->total[row],
                .resumes = columns->resumes != NULL ? columns->resumes[row] : 0,
                .suspended_ns = columns->suspended != NULL ? columns->suspended[row] : 0,
                .let_go = columns->let_go != NULL ? (uint8_t)(columns->let_go[row] & 15) : 0,
            },
    };
    return 0;
}

int cairn_model_take_calls(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    static const char *const wanted[] = {"track", "stack",     "calls",  "resumes", "self",
                                         "total", "suspended", "let_go", NULL};
    struct cairn_table *table = &loader->table;
    struct columns columns;

    table->wanted = wanted;
    CAIRN_TRY(cairn_decode_table(section, table));
    columns = (struct columns){
        .track = cairn_table_find(table, "track"),
        .stack = cairn_table_find(table, "stack"),
        .calls = cairn_table_find(table, "calls"),
        .resumes = cairn_table_find(table, "resumes"),
        .self = cairn_table_find(table, "self"),
        .total = cairn_table_find(table, "total"),
        .suspended = cairn_table_find(table, "suspended"),
        .let_go = cairn_table_find(table, "let_go"),
    };
    if (!columns.track || !columns.stack || !columns.calls || !columns.self || !columns.total)
        return 0;
    for (size_t i = 0; i < table->row_count; i++) {
        if (columns.track[i] > UINT32_MAX || columns.stack[i] > UINT32_MAX) {
            loader->model->quality.unknown_refs++;
            continue;
        }
        CAIRN_TRY(add(loader, writer, &columns, i));
    }
    return 0;
}

int cairn_model_join_calls(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;

    CAIRN_TRY(cairn_vec_reserve(&model->calls, loader->calls.count, CAIRN_MODEL_ITEMS_MAX));
    for (size_t i = 0; i < loader->calls.count; i++) {
        const struct cairn_raw_calls *raw = &loader->calls.items[i];
        const struct cairn_model_writer *writer = &model->writers.items[raw->writer];
        struct cairn_call_sum sum = raw->sum;

        sum.thread = cairn_ids_get(&writer->tracks, raw->track);
        sum.node = cairn_ids_get(&writer->stacks, raw->stack);
        if (sum.thread == CAIRN_IDS_LOST || sum.node == CAIRN_IDS_LOST)
            model->quality.unknown_refs++;
        if (sum.thread == CAIRN_IDS_LOST)
            CAIRN_TRY(cairn_model_lost_thread(model, &sum.thread));
        if (sum.node == CAIRN_IDS_LOST || sum.node == CAIRN_NODE_EMPTY)
            sum.node = CAIRN_NODE_UNKNOWN;
        model->threads.items[sum.thread].python = true;
        model->calls.items[model->calls.count++] = sum;
    }
    return 0;
}

const struct cairn_model *cairn_model_whole(const struct cairn_model *model)
{
    return model->base ? model->base : model;
}

size_t cairn_model_calls(const struct cairn_model *model, const struct cairn_call_sum **ret)
{
    const struct cairn_model *whole = cairn_model_whole(model);

    *ret = whole->calls.items;
    return whole->calls.count;
}
