/* Rows of lines that were counted: kept, one for each process and line. */
#include "model_raw.h"

struct columns {
    const uint64_t *track, *code, *line, *hits, *total, *suspended, *called, *native, *known,
        *let_go, *apart;
};

static int add(struct cairn_loader *loader, uint32_t writer, const struct columns *columns,
               size_t row)
{
    struct cairn_raw_line *raw;

    CAIRN_TRY(
        cairn_vec_reserve(&loader->counted, loader->counted.count + 1, CAIRN_MODEL_ITEMS_MAX));
    raw = &loader->counted.items[loader->counted.count++];
    *raw = (struct cairn_raw_line){
        .writer = writer,
        .track = (uint32_t)columns->track[row],
        .code = cairn_ids_get(&loader->writers.items[writer].codes, (uint32_t)columns->code[row]),
        .sum =
            {
                .line = (uint32_t)columns->line[row],
                .hits = columns->hits[row],
                .total_ns = columns->total[row],
                .suspended_ns = columns->suspended != NULL ? columns->suspended[row] : 0,
                .let_go = columns->let_go != NULL && columns->let_go[row] == 1,
                .apart = columns->apart != NULL && columns->apart[row] == 1,
            },
    };
    if (columns->called != NULL && columns->native != NULL && columns->known != NULL) {
        raw->sum.knows_calls = columns->known[row] == 1;
        raw->sum.untimed = columns->known[row] == 2;
        raw->sum.called_ns = columns->called[row];
        raw->sum.native_ns = columns->native[row];
    }
    return 0;
}

int cairn_model_take_counted(struct cairn_loader *loader, uint32_t writer,
                             struct cairn_span section)
{
    static const char *const wanted[] = {"track", "code",      "line",   "hits",
                                         "total", "suspended", "called", "native",
                                         "known", "let_go",    "apart",  NULL};
    struct cairn_table *table = &loader->table;
    struct columns columns;

    table->wanted = wanted;
    CAIRN_TRY(cairn_decode_table(section, table));
    columns = (struct columns){
        .track = cairn_table_find(table, "track"),
        .code = cairn_table_find(table, "code"),
        .line = cairn_table_find(table, "line"),
        .hits = cairn_table_find(table, "hits"),
        .total = cairn_table_find(table, "total"),
        .suspended = cairn_table_find(table, "suspended"),
        .called = cairn_table_find(table, "called"),
        .native = cairn_table_find(table, "native"),
        .known = cairn_table_find(table, "known"),
        .let_go = cairn_table_find(table, "let_go"),
        .apart = cairn_table_find(table, "apart"),
    };
    if (!columns.track || !columns.code || !columns.line || !columns.hits || !columns.total)
        return 0;
    for (size_t i = 0; i < table->row_count; i++) {
        if (columns.track[i] > UINT32_MAX || columns.code[i] > UINT32_MAX ||
            columns.line[i] > UINT32_MAX) {
            loader->model->quality.unknown_refs++;
            continue;
        }
        CAIRN_TRY(add(loader, writer, &columns, i));
    }
    return 0;
}

int cairn_model_join_counted(struct cairn_loader *loader, const uint32_t *code_functions)
{
    struct cairn_model *model = loader->model;

    CAIRN_TRY(cairn_vec_reserve(&model->counted, loader->counted.count, CAIRN_MODEL_ITEMS_MAX));
    for (size_t i = 0; i < loader->counted.count; i++) {
        const struct cairn_raw_line *raw = &loader->counted.items[i];
        struct cairn_counted_line sum = raw->sum;

        sum.thread = cairn_ids_get(&model->writers.items[raw->writer].tracks, raw->track);
        sum.function =
            raw->code == CAIRN_RAW_LOST ? CAIRN_FUNCTION_UNKNOWN : code_functions[raw->code];
        if (sum.thread == CAIRN_IDS_LOST || raw->code == CAIRN_RAW_LOST)
            model->quality.unknown_refs++;
        if (sum.thread == CAIRN_IDS_LOST)
            CAIRN_TRY(cairn_model_lost_thread(model, &sum.thread));
        model->threads.items[sum.thread].python = true;
        model->counted.items[model->counted.count++] = sum;
    }
    return 0;
}

size_t cairn_model_counted_lines(const struct cairn_model *model,
                                 const struct cairn_counted_line **ret)
{
    const struct cairn_model *whole = cairn_model_whole(model);

    *ret = whole->counted.items;
    return whole->counted.count;
}
