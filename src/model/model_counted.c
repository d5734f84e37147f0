/* Rows of lines that were counted: kept, one for each process and line. */
#include "model_raw.h"

/* Older recordings end at TOTAL. */
enum { TRACK, CODE, LINE, HITS, TOTAL, SUSPENDED, CALLED, NATIVE, KNOWN, LET_GO, APART, COLUMNS };

static int add(struct cairn_loader *loader, uint32_t writer, const uint64_t *const *columns,
               size_t row)
{
    struct cairn_raw_line *raw;

    CAIRN_TRY(
        cairn_vec_reserve(&loader->counted, loader->counted.count + 1, CAIRN_MODEL_ITEMS_MAX));
    raw = &loader->counted.items[loader->counted.count++];
    *raw = (struct cairn_raw_line){
        .writer = writer,
        .track = (uint32_t)columns[TRACK][row],
        .code = cairn_ids_get(&loader->writers.items[writer].codes, (uint32_t)columns[CODE][row]),
        .sum =
            {
                .line = (uint32_t)columns[LINE][row],
                .hits = columns[HITS][row],
                .total_ns = columns[TOTAL][row],
                .suspended_ns = columns[SUSPENDED] != NULL ? columns[SUSPENDED][row] : 0,
                .let_go = columns[LET_GO] != NULL && columns[LET_GO][row] == 1,
                .apart = columns[APART] != NULL && columns[APART][row] == 1,
            },
    };
    if (columns[CALLED] != NULL && columns[NATIVE] != NULL && columns[KNOWN] != NULL) {
        raw->sum.knows_calls = columns[KNOWN][row] == 1;
        raw->sum.untimed = columns[KNOWN][row] == 2;
        raw->sum.called_ns = columns[CALLED][row];
        raw->sum.native_ns = columns[NATIVE][row];
    }
    return 0;
}

int cairn_model_take_counted(struct cairn_loader *loader, uint32_t writer,
                             struct cairn_span section)
{
    static const char *const wanted[] = {"track", "code",      "line",   "hits",
                                         "total", "suspended", "called", "native",
                                         "known", "let_go",    "apart",  NULL};
    const struct cairn_table *table = &loader->table;
    const uint64_t *columns[COLUMNS];
    int code = cairn_model_columns(loader, section, wanted, TOTAL + 1, columns);

    if (code <= 0)
        return code;
    for (size_t i = 0; i < table->row_count; i++) {
        if (columns[TRACK][i] > UINT32_MAX || columns[CODE][i] > UINT32_MAX ||
            columns[LINE][i] > UINT32_MAX) {
            loader->model->quality.unknown_refs++;
            continue;
        }
        CAIRN_TRY(add(loader, writer, columns, i));
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
