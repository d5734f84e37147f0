/* Rows of what instructions were given: kept, one for each process, instruction and kind. */
#include "model_raw.h"

struct columns {
    const uint64_t *track, *code, *offset, *string, *on, *hits;
};

static bool is_possible(const struct columns *columns, size_t row)
{
    return columns->track[row] <= UINT32_MAX && columns->code[row] <= UINT32_MAX &&
           columns->offset[row] <= UINT32_MAX && columns->string[row] <= UINT32_MAX &&
           columns->on[row] <= UINT32_MAX;
}

static int add(struct cairn_loader *loader, uint32_t writer, const struct columns *columns,
               size_t row)
{
    const struct cairn_ids *strings = &loader->model->writers.items[writer].strings;

    CAIRN_TRY(cairn_vec_reserve(&loader->given, loader->given.count + 1, CAIRN_MODEL_ITEMS_MAX));
    loader->given.items[loader->given.count++] = (struct cairn_raw_given){
        .writer = writer,
        .track = (uint32_t)columns->track[row],
        .code = cairn_ids_get(&loader->writers.items[writer].codes, (uint32_t)columns->code[row]),
        .text = cairn_ids_get(strings, (uint32_t)columns->string[row]),
        .kind = cairn_ids_get(strings, (uint32_t)columns->on[row]),
        .others = columns->on[row] == 0,
        .sum = {.offset = (uint32_t)columns->offset[row], .hits = columns->hits[row]},
    };
    return 0;
}

int cairn_model_take_given(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    static const char *const wanted[] = {"track", "code", "offset", "string", "on", "hits", NULL};
    struct cairn_table *table = &loader->table;
    struct columns columns;

    table->wanted = wanted;
    CAIRN_TRY(cairn_decode_table(section, table));
    columns = (struct columns){
        .track = cairn_table_find(table, "track"),
        .code = cairn_table_find(table, "code"),
        .offset = cairn_table_find(table, "offset"),
        .string = cairn_table_find(table, "string"),
        .on = cairn_table_find(table, "on"),
        .hits = cairn_table_find(table, "hits"),
    };
    if (!columns.track || !columns.code || !columns.offset || !columns.string || !columns.on ||
        !columns.hits)
        return 0;
    for (size_t i = 0; i < table->row_count; i++) {
        if (is_possible(&columns, i))
            CAIRN_TRY(add(loader, writer, &columns, i));
        else
            loader->model->quality.unknown_refs++;
    }
    return 0;
}

int cairn_model_join_given(struct cairn_loader *loader, const uint32_t *code_functions)
{
    struct cairn_model *model = loader->model;

    CAIRN_TRY(cairn_vec_reserve(&model->given, loader->given.count, CAIRN_MODEL_ITEMS_MAX));
    for (size_t i = 0; i < loader->given.count; i++) {
        const struct cairn_raw_given *raw = &loader->given.items[i];
        struct cairn_counted_given sum = raw->sum;

        sum.thread = cairn_ids_get(&model->writers.items[raw->writer].tracks, raw->track);
        if (sum.thread == CAIRN_IDS_LOST || raw->code == CAIRN_RAW_LOST ||
            raw->text == CAIRN_RAW_LOST || (raw->kind == CAIRN_RAW_LOST && !raw->others)) {
            model->quality.unknown_refs++;
            continue;
        }
        sum.function = code_functions[raw->code];
        sum.text = cairn_intern_get(&model->strings, raw->text);
        if (!raw->others)
            sum.kind = cairn_intern_get(&model->strings, raw->kind);
        model->given.items[model->given.count++] = sum;
    }
    return 0;
}

size_t cairn_model_counted_given(const struct cairn_model *model,
                                 const struct cairn_counted_given **ret)
{
    const struct cairn_model *whole = cairn_model_whole(model);

    *ret = whole->given.items;
    return whole->given.count;
}
