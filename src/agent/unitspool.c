#include "unitspool.h"

#include <string.h>

#define UNIT_BYTES 2
#define MOST_COUNT ((uint64_t)1 << 48)
#define MOST_INSTRUCTIONS ((size_t)1 << 24)

enum column {
    COL_TRACK,
    COL_CODE,
    COL_OFFSET,
    COL_LINE,
    COL_TARGET,
    COL_DEPTH,
    COL_STRING,
    COL_ON,
    COL_HITS,
    COL_LET_GO,
    COLS
};

static const struct cairn_column_def columns[COLS] = {
    [COL_TRACK] = {"track", "id", CAIRN_ENC_RLE},
    [COL_CODE] = {"code", "id", CAIRN_ENC_RLE},
    [COL_OFFSET] = {"offset", "bytes", CAIRN_ENC_DELTA_RLE},
    [COL_LINE] = {"line", "", CAIRN_ENC_DELTA_RLE},
    [COL_TARGET] = {"target", "", CAIRN_ENC_RLE},
    [COL_DEPTH] = {"depth", "", CAIRN_ENC_UVARINT},
    [COL_STRING] = {"string", "id", CAIRN_ENC_UVARINT},
    [COL_ON] = {"on", "id", CAIRN_ENC_RLE},
    [COL_HITS] = {"hits", "count", CAIRN_ENC_RLE},
    [COL_LET_GO] = {"let_go", "", CAIRN_ENC_RLE},
};

enum given_column {
    GIVEN_TRACK,
    GIVEN_CODE,
    GIVEN_OFFSET,
    GIVEN_STRING,
    GIVEN_ON,
    GIVEN_HITS,
    GIVENS
};

static const struct cairn_column_def given_columns[GIVENS] = {
    [GIVEN_TRACK] = {"track", "id", CAIRN_ENC_RLE},
    [GIVEN_CODE] = {"code", "id", CAIRN_ENC_RLE},
    [GIVEN_OFFSET] = {"offset", "bytes", CAIRN_ENC_DELTA_RLE},
    [GIVEN_STRING] = {"string", "id", CAIRN_ENC_RLE},
    [GIVEN_ON] = {"on", "id", CAIRN_ENC_UVARINT},
    [GIVEN_HITS] = {"hits", "count", CAIRN_ENC_UVARINT},
};

/* --- the listing --- */

/* What stands in front of the next tab, taken off with it. */
static bool take_field(struct cairn_span *text, struct cairn_span *ret_field)
{
    const uint8_t *tab = memchr(text->data, '\t', text->size_bytes);

    if (tab == NULL)
        return false;
    *ret_field = (struct cairn_span){text->data, (size_t)(tab - text->data)};
    *text = (struct cairn_span){tab + 1, text->size_bytes - ret_field->size_bytes - 1};
    return true;
}

static bool take_number(struct cairn_span *text, uint32_t *ret_number)
{
    struct cairn_span field;

    *ret_number = 0;
    if (!take_field(text, &field) || field.size_bytes == 0)
        return false;
    for (size_t i = 0; i < field.size_bytes; i++)
        if (field.data[i] < '0' || field.data[i] > '9' ||
            __builtin_mul_overflow(*ret_number, 10u, ret_number) ||
            __builtin_add_overflow(*ret_number, (uint32_t)(field.data[i] - '0'), ret_number))
            return false;
    return true;
}

/* The text up to the end of its first line, taken off the front. */
static struct cairn_span take_line(struct cairn_span *text)
{
    const uint8_t *end = memchr(text->data, '\n', text->size_bytes);
    struct cairn_span line = {text->data, end ? (size_t)(end - text->data) : text->size_bytes};
    size_t taken_bytes = line.size_bytes + (end != NULL);

    *text = (struct cairn_span){text->data + taken_bytes, text->size_bytes - taken_bytes};
    return line;
}

/* What a file says may be anything; sums of these stay numbers. */
static uint64_t to_count(uint64_t value)
{
    return value < MOST_COUNT ? value : MOST_COUNT;
}

static bool read_line(struct cairn_span text, struct cairn_instruction *ret_instruction)
{
    uint32_t target, leads;

    if (!take_number(&text, &ret_instruction->unit) ||
        !take_number(&text, &ret_instruction->line) || !take_number(&text, &target) ||
        !take_number(&text, &leads) || !take_number(&text, &ret_instruction->depth) ||
        !take_field(&text, &ret_instruction->form))
        return false;
    ret_instruction->target = target == 1;
    ret_instruction->leads = leads == 1;
    ret_instruction->text = text;
    return true;
}

/* Raises are told of a unit within an instruction: of its caches, too. */
static void take_raises(struct cairn_unitspool *units, const uint64_t *raises, uint32_t unit_count)
{
    for (size_t i = 0; i < units->instructions.count; i++) {
        struct cairn_instruction *instruction = &units->instructions.items[i];
        uint32_t end = i + 1 < units->instructions.count ? instruction[1].unit : unit_count;

        for (uint32_t unit = instruction->unit; unit < end; unit++)
            instruction->raises += to_count(raises[unit]);
    }
}

static int read_listing(struct cairn_unitspool *units, struct cairn_span listing,
                        const uint64_t *hits, uint32_t unit_count)
{
    uint32_t next = 0;

    units->instructions.count = 0;
    while (listing.size_bytes > 0) {
        struct cairn_instruction instruction = {.hits = 0};

        if (!read_line(take_line(&listing), &instruction) || instruction.unit < next ||
            instruction.unit >= unit_count)
            continue;
        next = instruction.unit + 1;
        instruction.hits = to_count(hits[instruction.unit]);
        CAIRN_TRY(cairn_vec_reserve(&units->instructions, units->instructions.count + 1,
                                    MOST_INSTRUCTIONS));
        units->instructions.items[units->instructions.count++] = instruction;
    }
    take_raises(units, hits + unit_count, unit_count);
    return 0;
}

/* --- what is counted through others --- */

static bool is_called(const struct cairn_instruction *instruction, const char *name)
{
    size_t length = strlen(name);

    return instruction->text.size_bytes >= length &&
           memcmp(instruction->text.data, name, length) == 0 &&
           (instruction->text.size_bytes == length || instruction->text.data[length] == ' ');
}

static void raise_to(struct cairn_instruction *instruction, uint64_t hits)
{
    if (instruction->hits < hits)
        instruction->hits = hits;
}

static void follow_leaders(struct cairn_unitspool *units)
{
    struct cairn_instruction *all = units->instructions.items;

    for (size_t i = 1; i < units->instructions.count; i++)
        if (!all[i].leads)
            all[i].hits =
                all[i - 1].hits > all[i - 1].raises ? all[i - 1].hits - all[i - 1].raises : 0;
}

static void join_extended(struct cairn_unitspool *units)
{
    struct cairn_instruction *all = units->instructions.items;
    size_t first = 0; /* of those that make one together */

    for (size_t i = 0; i < units->instructions.count; i++) {
        uint64_t most = 0;

        if (is_called(&all[i], "EXTENDED_ARG"))
            continue;
        for (size_t k = first; k <= i; k++)
            most = all[k].hits > most ? all[k].hits : most;
        for (size_t k = first; k <= i; k++)
            raise_to(&all[k], most);
        first = i + 1;
    }
}

static void count_entry(struct cairn_unitspool *units)
{
    struct cairn_instruction *all = units->instructions.items;
    size_t begin = 0;

    while (begin < units->instructions.count && !is_called(&all[begin], "RESUME"))
        begin++;
    for (size_t i = 0; begin < units->instructions.count && i < begin; i++)
        raise_to(&all[i], all[begin].hits);
}

/* --- rows --- */

static int put_row(struct cairn_unitspool *units, uint32_t kind,
                   const struct cairn_column_def *defs, size_t count, const uint64_t *values)
{
    int result = cairn_writer_row(units->writer, kind, defs, count, values);

    if (result != -CAIRN_ELIMIT)
        return result;
    CAIRN_TRY(cairn_writer_flush(units->writer, CAIRN_CHUNK_DATA, units->err));
    return cairn_writer_row(units->writer, kind, defs, count, values);
}

int cairn_unitspool_put(struct cairn_unitspool *units, uint32_t track, uint32_t code,
                        struct cairn_span listing, const uint64_t *hits, uint32_t unit_count,
                        uint64_t *instructions)
{
    CAIRN_TRY(read_listing(units, listing, hits, unit_count));
    follow_leaders(units);
    join_extended(units);
    count_entry(units);
    for (size_t i = 0; i < units->instructions.count; i++) {
        const struct cairn_instruction *instruction = &units->instructions.items[i];
        uint64_t values[COLS] = {
            [COL_TRACK] = track,
            [COL_CODE] = code,
            [COL_OFFSET] = (uint64_t)instruction->unit * UNIT_BYTES,
            [COL_LINE] = instruction->line,
            [COL_TARGET] = instruction->target,
            [COL_DEPTH] = instruction->depth,
            [COL_HITS] = instruction->hits,
            [COL_LET_GO] = units->let_go,
        };
        uint32_t text, form;

        CAIRN_TRY(cairn_writer_string(units->writer, instruction->text, &text));
        CAIRN_TRY(cairn_writer_string(units->writer, instruction->form, &form));
        values[COL_STRING] = text;
        values[COL_ON] = form;
        CAIRN_TRY(put_row(units, CAIRN_ROW_OPCODE, columns, COLS, values));
        *instructions += instruction->hits;
    }
    return 0;
}

int cairn_unitspool_given(struct cairn_unitspool *units, uint32_t track, uint32_t code,
                          uint64_t unit, struct cairn_span kind, uint64_t hits)
{
    const struct cairn_instruction *all = units->instructions.items;
    size_t i = 0, count = units->instructions.count;
    uint32_t text, given = 0;

    while (i < count && all[i].unit < unit)
        i++;
    while (i + 1 < count && is_called(&all[i], "EXTENDED_ARG"))
        i++;
    if (hits == 0 || i == count)
        return 0;
    CAIRN_TRY(cairn_writer_string(units->writer, all[i].text, &text));
    if (kind.size_bytes > 0)
        CAIRN_TRY(cairn_writer_string(units->writer, kind, &given));
    return put_row(units, CAIRN_ROW_GIVEN, given_columns, GIVENS,
                   (const uint64_t[GIVENS]){[GIVEN_TRACK] = track,
                                            [GIVEN_CODE] = code,
                                            [GIVEN_OFFSET] = (uint64_t)all[i].unit * UNIT_BYTES,
                                            [GIVEN_STRING] = text,
                                            [GIVEN_ON] = given,
                                            [GIVEN_HITS] = to_count(hits)});
}

void cairn_unitspool_release(struct cairn_unitspool *units)
{
    cairn_vec_release(&units->instructions);
}
