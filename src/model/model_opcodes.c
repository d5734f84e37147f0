/* Rows of instructions that were counted: kept, one for each process and instruction. */
#include "model_raw.h"

struct columns {
    const uint64_t *track, *code, *offset, *line, *target, *depth, *string, *on, *hits, *let_go;
};

static bool is_possible(const struct columns *columns, size_t row)
{
    return columns->track[row] <= UINT32_MAX && columns->code[row] <= UINT32_MAX &&
           columns->offset[row] <= UINT32_MAX && columns->line[row] <= UINT32_MAX &&
           columns->string[row] <= UINT32_MAX &&
           (columns->on == NULL || columns->on[row] <= UINT32_MAX);
}

static int add(struct cairn_loader *loader, uint32_t writer, const struct columns *columns,
               size_t row)
{
    const struct cairn_ids *strings = &loader->model->writers.items[writer].strings;
    struct cairn_raw_opcode *raw;

    CAIRN_TRY(
        cairn_vec_reserve(&loader->opcodes, loader->opcodes.count + 1, CAIRN_MODEL_ITEMS_MAX));
    raw = &loader->opcodes.items[loader->opcodes.count++];
    *raw = (struct cairn_raw_opcode){
        .writer = writer,
        .track = (uint32_t)columns->track[row],
        .code = cairn_ids_get(&loader->writers.items[writer].codes, (uint32_t)columns->code[row]),
        .text = cairn_ids_get(strings, (uint32_t)columns->string[row]),
        .form = columns->on == NULL ? CAIRN_RAW_LOST
                                    : cairn_ids_get(strings, (uint32_t)columns->on[row]),
        .sum =
            {
                .offset = (uint32_t)columns->offset[row],
                .line = (uint32_t)columns->line[row],
                .target = columns->target[row] == 1,
                .depth = columns->depth == NULL || columns->depth[row] > UINT32_MAX
                             ? 0
                             : (uint32_t)columns->depth[row],
                .hits = columns->hits[row],
                .let_go = columns->let_go != NULL && columns->let_go[row] == 1,
            },
    };
    return 0;
}

int cairn_model_take_opcodes(struct cairn_loader *loader, uint32_t writer,
                             struct cairn_span section)
{
    static const char *const wanted[] = {"track",  "code", "offset", "line",   "target", "depth",
                                         "string", "on",   "hits",   "let_go", NULL};
    struct cairn_table *table = &loader->table;
    struct columns columns;

    table->wanted = wanted;
    CAIRN_TRY(cairn_decode_table(section, table));
    columns = (struct columns){
        .track = cairn_table_find(table, "track"),
        .code = cairn_table_find(table, "code"),
        .offset = cairn_table_find(table, "offset"),
        .line = cairn_table_find(table, "line"),
        .target = cairn_table_find(table, "target"),
        .depth = cairn_table_find(table, "depth"),
        .string = cairn_table_find(table, "string"),
        .on = cairn_table_find(table, "on"),
        .hits = cairn_table_find(table, "hits"),
        .let_go = cairn_table_find(table, "let_go"),
    };
    if (!columns.track || !columns.code || !columns.offset || !columns.line || !columns.target ||
        !columns.string || !columns.hits)
        return 0;
    for (size_t i = 0; i < table->row_count; i++) {
        if (is_possible(&columns, i))
            CAIRN_TRY(add(loader, writer, &columns, i));
        else
            loader->model->quality.unknown_refs++;
    }
    return 0;
}

int cairn_model_join_opcodes(struct cairn_loader *loader, const uint32_t *code_functions)
{
    struct cairn_model *model = loader->model;

    CAIRN_TRY(cairn_vec_reserve(&model->opcodes, loader->opcodes.count, CAIRN_MODEL_ITEMS_MAX));
    for (size_t i = 0; i < loader->opcodes.count; i++) {
        const struct cairn_raw_opcode *raw = &loader->opcodes.items[i];
        struct cairn_counted_opcode sum = raw->sum;

        sum.thread = cairn_ids_get(&model->writers.items[raw->writer].tracks, raw->track);
        if (sum.thread == CAIRN_IDS_LOST || raw->code == CAIRN_RAW_LOST ||
            raw->text == CAIRN_RAW_LOST) {
            model->quality.unknown_refs++;
            continue; /* without its code an instruction says nothing */
        }
        sum.function = code_functions[raw->code];
        sum.text = cairn_intern_get(&model->strings, raw->text);
        if (raw->form != CAIRN_RAW_LOST)
            sum.form = cairn_intern_get(&model->strings, raw->form);
        model->opcodes.items[model->opcodes.count++] = sum;
    }
    return 0;
}

size_t cairn_model_counted_opcodes(const struct cairn_model *model,
                                   const struct cairn_counted_opcode **ret)
{
    const struct cairn_model *whole = cairn_model_whole(model);

    *ret = whole->opcodes.items;
    return whole->opcodes.count;
}
