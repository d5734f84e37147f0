/* Rows of what instructions were given: kept, one for each process, instruction and kind. */
#include "model_raw.h"

enum { TRACK, CODE, OFFSET, STRING, ON, HITS, COLUMNS };

static bool is_possible(const uint64_t *const *columns, size_t row)
{
    return columns[TRACK][row] <= UINT32_MAX && columns[CODE][row] <= UINT32_MAX &&
           columns[OFFSET][row] <= UINT32_MAX && columns[STRING][row] <= UINT32_MAX &&
           columns[ON][row] <= UINT32_MAX;
}

static int add(struct cairn_loader *loader, uint32_t writer, const uint64_t *const *columns,
               size_t row)
{
    const struct cairn_ids *strings = &loader->model->writers.items[writer].strings;

    CAIRN_TRY(cairn_vec_reserve(&loader->given, loader->given.count + 1, CAIRN_MODEL_ITEMS_MAX));
    loader->given.items[loader->given.count++] = (struct cairn_raw_given){
        .writer = writer,
        .track = (uint32_t)columns[TRACK][row],
        .code = cairn_ids_get(&loader->writers.items[writer].codes, (uint32_t)columns[CODE][row]),
        .text = cairn_ids_get(strings, (uint32_t)columns[STRING][row]),
        .kind = cairn_ids_get(strings, (uint32_t)columns[ON][row]),
        .others = columns[ON][row] == 0,
        .sum = {.offset = (uint32_t)columns[OFFSET][row], .hits = columns[HITS][row]},
    };
    return 0;
}

int cairn_model_take_given(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    static const char *const wanted[] = {"track", "code", "offset", "string", "on", "hits", NULL};
    const struct cairn_table *table = &loader->table;
    const uint64_t *columns[COLUMNS];
    int code = cairn_model_columns(loader, section, wanted, HITS + 1, columns);

    if (code <= 0)
        return code;
    for (size_t i = 0; i < table->row_count; i++) {
        if (is_possible(columns, i))
            CAIRN_TRY(add(loader, writer, columns, i));
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
