/* Rows of what another tool counted: calls by function, and by pair of caller and callee. */
#include <math.h>
#include <string.h>

#include "model_raw.h"

/* Older recordings end at TOTAL. */
enum { TRACK, STACK, CALLS, PRIMITIVE, SELF, TOTAL, PLAIN, COLUMNS };

/* A column of seconds; what is no number is none. */
static double seconds_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return isfinite(value) ? value : 0;
}

static int add(struct cairn_loader *loader, uint32_t writer, const uint64_t *const *columns,
               size_t row)
{
    struct cairn_raw_pair *raw;

    CAIRN_TRY(cairn_vec_reserve(&loader->pairs, loader->pairs.count + 1, CAIRN_MODEL_ITEMS_MAX));
    raw = &loader->pairs.items[loader->pairs.count++];
    *raw = (struct cairn_raw_pair){
        .writer = writer,
        .track = (uint32_t)columns[TRACK][row],
        .stack = (uint32_t)columns[STACK][row],
        .sum =
            {
                .calls = columns[CALLS][row],
                .primitive_calls = columns[PRIMITIVE][row],
                .self_s = seconds_of(columns[SELF][row]),
                .total_s = seconds_of(columns[TOTAL][row]),
                .plain = columns[PLAIN] != NULL && columns[PLAIN][row] == 1,
                .inferred = columns[PLAIN] != NULL && columns[PLAIN][row] >= 2,
                .unsure = columns[PLAIN] != NULL && columns[PLAIN][row] == 3,
            },
    };
    return 0;
}

int cairn_model_take_pairs(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    static const char *const wanted[] = {"track", "stack", "calls", "primitive",
                                         "self",  "total", "plain", NULL};
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

/* A stack of one is a function, of two a callee below its caller. */
static bool read_stack(const struct cairn_model *model, uint32_t node, struct cairn_call_pair *pair)
{
    uint32_t parent;

    if (node == CAIRN_IDS_LOST || node == CAIRN_NODE_EMPTY)
        return false;
    parent = model->nodes.items[node].parent;
    pair->function = model->frames.items[model->nodes.items[node].frame].function;
    pair->caller = UINT32_MAX;
    if (parent == CAIRN_NODE_EMPTY)
        return true;
    pair->caller = model->frames.items[model->nodes.items[parent].frame].function;
    return model->nodes.items[parent].parent == CAIRN_NODE_EMPTY;
}

int cairn_model_join_pairs(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;

    CAIRN_TRY(cairn_vec_reserve(&model->pairs, loader->pairs.count, CAIRN_MODEL_ITEMS_MAX));
    for (size_t i = 0; i < loader->pairs.count; i++) {
        const struct cairn_raw_pair *raw = &loader->pairs.items[i];
        const struct cairn_model_writer *writer = &model->writers.items[raw->writer];
        struct cairn_call_pair pair = raw->sum;

        pair.thread = cairn_ids_get(&writer->tracks, raw->track);
        if (pair.thread == CAIRN_IDS_LOST ||
            !read_stack(model, cairn_ids_get(&writer->stacks, raw->stack), &pair)) {
            model->quality.unknown_refs++;
            continue;
        }
        model->threads.items[pair.thread].python = true;
        model->pairs.items[model->pairs.count++] = pair;
    }
    return 0;
}

size_t cairn_model_pairs(const struct cairn_model *model, const struct cairn_call_pair **ret)
{
    const struct cairn_model *whole = cairn_model_whole(model);

    *ret = whole->pairs.items;
    return whole->pairs.count;
}
