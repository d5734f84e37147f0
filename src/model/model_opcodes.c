/* Rows of instructions that were counted: kept, one for each process and instruction. */
#include "model_raw.h"

/* Older recordings end at HITS. */
enum { TRACK, CODE, OFFSET, LINE, TARGET, STRING, HITS, DEPTH, ON, LET_GO, COLUMNS };

static bool is_possible(const uint64_t *const *columns, size_t row)
{
    return columns[TRACK][row] <= UINT32_MAX && columns[CODE][row] <= UINT32_MAX &&
           columns[OFFSET][row] <= UINT32_MAX && columns[LINE][row] <= UINT32_MAX &&
           columns[STRING][row] <= UINT32_MAX &&
           (columns[ON] == NULL || columns[ON][row] <= UINT32_MAX);
}

static int add(struct cairn_loader *loader, uint32_t writer, const uint64_t *const *columns,
               size_t row)
{
    const struct cairn_ids *strings = &loader->model->writers.items[writer].strings;
    struct cairn_raw_opcode *raw;

    CAIRN_TRY(
        cairn_vec_reserve(&loader->opcodes, loader->opcodes.count + 1, CAIRN_MODEL_ITEMS_MAX));
    raw = &loader->opcodes.items[loader->opcodes.count++];
    *raw = (struct cairn_raw_opcode){
        .writer = writer,
        .track = (uint32_t)columns[TRACK][row],
        .code = cairn_ids_get(&loader->writers.items[writer].codes, (uint32_t)columns[CODE][row]),
        .text = cairn_ids_get(strings, (uint32_t)columns[STRING][row]),
        .form = columns[ON] == NULL ? CAIRN_RAW_LOST
                                    : cairn_ids_get(strings, (uint32_t)columns[ON][row]),
        .sum =
            {
                .offset = (uint32_t)columns[OFFSET][row],
                .line = (uint32_t)columns[LINE][row],
                .target = columns[TARGET][row] == 1,
                .depth = columns[DEPTH] == NULL || columns[DEPTH][row] > UINT32_MAX
                             ? 0
                             : (uint32_t)columns[DEPTH][row],
                .hits = columns[HITS][row],
                .let_go = columns[LET_GO] != NULL && columns[LET_GO][row] == 1,
            },
    };
    return 0;
}

int cairn_model_take_opcodes(struct cairn_loader *loader, uint32_t writer,
                             struct cairn_span section)
{
    static const char *const wanted[] = {"track", "code",  "offset", "line",   "target", "string",
                                         "hits",  "depth", "on",     "let_go", NULL};
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
