/* Rows of exact trees of calls: kept, one for each thread and stack, for they are no more than the
 * stacks. */
#include "model_raw.h"

/* Older recordings end at TOTAL. */
enum { TRACK, STACK, CALLS, SELF, TOTAL, RESUMES, SUSPENDED, LET_GO, COLUMNS };

static int add(struct cairn_loader *loader, uint32_t writer, const uint64_t *const *columns,
               size_t row)
{
    struct cairn_raw_calls *raw;

    CAIRN_TRY(cairn_vec_reserve(&loader->calls, loader->calls.count + 1, CAIRN_MODEL_ITEMS_MAX));
    raw = &loader->calls.items[loader->calls.count++];
    *raw = (struct cairn_raw_calls){
        .writer = writer,
        .track = (uint32_t)columns[TRACK][row],
        .stack = (uint32_t)columns[STACK][row],
        .sum =
            {
                .calls = columns[CALLS][row],
                .self_ns = columns[SELF][row],
                .total_ns = columns[TOTAL][row],
                .resumes = columns[RESUMES] != NULL ? columns[RESUMES][row] : 0,
                .suspended_ns = columns[SUSPENDED] != NULL ? columns[SUSPENDED][row] : 0,
                .let_go = columns[LET_GO] != NULL ? (uint8_t)(columns[LET_GO][row] & 15) : 0,
            },
    };
    return 0;
}

int cairn_model_take_calls(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    static const char *const wanted[] = {"track",   "stack",     "calls",  "self", "total",
                                         "resumes", "suspended", "let_go", NULL};
    const struct cairn_table *table = &loader->table;
    const uint64_t *columns[COLUMNS];
    int code = cairn_model_columns(loader, section, wanted, TOTAL + 1, columns);

    if (code <= 0)
        return code;
    for (size_t i = 0; i < table->row_count; i++) {
        if (columns[TRACK][i] > UINT32_MAX || columns[STACK][i] > UINT32_MAX) {
            loader->model->quality.unknown_refs++;
            continue;
        }
        CAIRN_TRY(add(loader, writer, columns, i));
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
