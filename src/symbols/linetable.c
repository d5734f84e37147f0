#include "linetable.h"

#include "err.h"
#include "format.h"

/* Entry codes of the location table: what follows the first byte. */
enum {
    CODE_SHORT_END =
        10, /* 0..9: column in code and one byte, same line; 10..12: one line, 0..2 on */
    CODE_NO_COLUMNS = 13,
    CODE_LONG = 14,
    CODE_NONE = 15,
};

#define NO_LINE_DELTA (-128) /* in the line table of 3.10 */
#define CODE_UNIT_BYTES 2

void cairn_linetable_init(struct cairn_linetable *table, uint8_t kind, struct cairn_span bytes,
                          uint32_t first_line)
{
    cairn_cursor_init(&table->cur, bytes);
    table->kind = kind;
    table->done = false;
    table->offset_bytes = 0;
    table->line = first_line;
}

static uint32_t line_of(int64_t line)
{
    return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

static void entry_set(struct cairn_line_entry *entry, uint32_t start_bytes, uint32_t end_bytes,
                      uint32_t line)
{
    *entry = (struct cairn_line_entry){
        .start_bytes = start_bytes,
        .end_bytes = end_bytes,
        .line = line,
        .end_line = line,
        .column = CAIRN_COLUMN_NONE,
        .end_column = CAIRN_COLUMN_NONE,
    };
}

/* Moves the table's place `more_bytes` on; the sum may not leave 31 bits, as in CPython. */
static int advance(struct cairn_linetable *table, uint32_t more_bytes)
{
    if (more_bytes > INT32_MAX - table->offset_bytes)
        return -CAIRN_EDAMAGED;
    table->offset_bytes += more_bytes;
    return 0;
}

/* A second byte that must follow a first one. */
static int byte_of_pair(struct cairn_cursor *cur, uint8_t *ret_byte)
{
    return cairn_cursor_u8(cur, ret_byte) < 0 ? -CAIRN_EDAMAGED : 0;
}

/* Pairs {bytes forward, signed lines}: the line holds until the address moves on. The last one
 * holds to the end of the code, whose length the table does not know. */
static int next_lnotab(struct cairn_linetable *table, struct cairn_line_entry *ret_entry)
{
    uint32_t start_bytes = table->offset_bytes;
    uint8_t forward_bytes, lines;

    if (table->done)
        return -CAIRN_EEND;
    while (cairn_cursor_u8(&table->cur, &forward_bytes) == 0) {
        CAIRN_TRY(byte_of_pair(&table->cur, &lines));
        if (forward_bytes) {
            CAIRN_TRY(advance(table, forward_bytes));
            entry_set(ret_entry, start_bytes, table->offset_bytes, line_of(table->line));
        }
        table->line += (int8_t)lines;
        if (forward_bytes)
            return 0;
    }
    table->done = true;
    entry_set(ret_entry, start_bytes, UINT32_MAX, line_of(table->line));
    return 0;
}

/* Pairs {bytes covered, signed lines}: the line moves first, then holds for so many bytes. */
static int next_pep626(struct cairn_linetable *table, struct cairn_line_entry *ret_entry)
{
    uint8_t covered_bytes, lines;

    while (cairn_cursor_u8(&table->cur, &covered_bytes) == 0) {
        uint32_t start_bytes = table->offset_bytes;
        bool has_line;

        CAIRN_TRY(byte_of_pair(&table->cur, &lines));
        has_line = (int8_t)lines != NO_LINE_DELTA;
        if (has_line)
            table->line += (int8_t)lines;
        if (!covered_bytes)
            continue;
        CAIRN_TRY(advance(table, covered_bytes));
        entry_set(ret_entry, start_bytes, table->offset_bytes, has_line ? line_of(table->line) : 0);
        return 0;
    }
    return -CAIRN_EEND;
}

/* Six bits a byte, lowest first, bit 6 says that more follow. */
static int location_varint(struct cairn_cursor *cur, uint32_t *ret_value)
{
    uint64_t value = 0;
    uint8_t byte;

    for (unsigned shift = 0; shift <= 30; shift += 6) {
        CAIRN_TRY(byte_of_pair(cur, &byte));
        value |= (uint64_t)(byte & 0x3f) << shift;
        if (byte & 0x80 || value > UINT32_MAX)
            return -CAIRN_EDAMAGED; /* bit 7 begins the next entry */
        if (!(byte & 0x40)) {
            *ret_value = (uint32_t)value;
            return 0;
        }
    }
    return -CAIRN_EDAMAGED;
}

static int location_line_delta(struct cairn_linetable *table)
{
    uint32_t value;

    CAIRN_TRY(location_varint(&table->cur, &value));
    table->line += value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
    return 0;
}

/* A column is stored plus one; 0 stands for none. */
static int location_column(struct cairn_cursor *cur, uint32_t *ret_column)
{
    uint32_t value;

    CAIRN_TRY(location_varint(cur, &value));
    *ret_column = value ? value - 1 : CAIRN_COLUMN_NONE;
    return 0;
}

static int location_long(struct cairn_linetable *table, struct cairn_line_entry *entry)
{
    uint32_t lines;

    CAIRN_TRY(location_line_delta(table));
    CAIRN_TRY(location_varint(&table->cur, &lines));
    entry->line = line_of(table->line);
    entry->end_line = line_of(table->line + lines);
    CAIRN_TRY(location_column(&table->cur, &entry->column));
    return location_column(&table->cur, &entry->end_column);
}

/* What stands behind the first byte of an entry. */
static int location_place(struct cairn_linetable *table, unsigned code,
                          struct cairn_line_entry *entry)
{
    uint8_t first, second;

    if (code == CODE_NONE)
        return 0;
    if (code == CODE_LONG)
        return location_long(table, entry);
    if (code == CODE_NO_COLUMNS) {
        CAIRN_TRY(location_line_delta(table));
    } else if (code < CODE_SHORT_END) {
        CAIRN_TRY(byte_of_pair(&table->cur, &first));
        entry->column = code << 3 | first >> 4;
        entry->end_column = entry->column + (first & 15);
    } else {
        CAIRN_TRY(byte_of_pair(&table->cur, &first));
        CAIRN_TRY(byte_of_pair(&table->cur, &second));
        table->line += code - CODE_SHORT_END;
        entry->column = first;
        entry->end_column = second;
    }
    entry->line = entry->end_line = line_of(table->line);
    return 0;
}

static int next_location(struct cairn_linetable *table, struct cairn_line_entry *ret_entry)
{
    uint32_t start_bytes = table->offset_bytes;
    struct cairn_line_entry entry;
    uint8_t head;

    CAIRN_TRY(cairn_cursor_u8(&table->cur, &head));
    if (!(head & 0x80))
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(advance(table, ((head & 7) + 1) * CODE_UNIT_BYTES));
    entry_set(&entry, start_bytes, table->offset_bytes, 0);
    CAIRN_TRY(location_place(table, head >> 3 & 15, &entry));
    *ret_entry = entry;
    return 0;
}

int cairn_linetable_next(struct cairn_linetable *table, struct cairn_line_entry *ret_entry)
{
    switch (table->kind) {
    case CAIRN_LINES_NONE:
        return -CAIRN_EEND;
    case CAIRN_LINES_LNOTAB:
        return next_lnotab(table, ret_entry);
    case CAIRN_LINES_PEP626:
        return next_pep626(table, ret_entry);
    case CAIRN_LINES_LOCATION:
        return next_location(table, ret_entry);
    default:
        return -CAIRN_EDAMAGED;
    }
}

int cairn_linetable_find(uint8_t kind, struct cairn_span bytes, uint32_t first_line,
                         int64_t offset_bytes, struct cairn_line_entry *ret_entry)
{
    struct cairn_linetable table;
    struct cairn_line_entry entry;

    if (offset_bytes < 0) {
        entry_set(ret_entry, 0, 0, first_line);
        return 0;
    }
    cairn_linetable_init(&table, kind, bytes, first_line);
    do {
        CAIRN_TRY(cairn_linetable_next(&table, &entry));
    } while (entry.end_bytes <= offset_bytes);
    *ret_entry = entry;
    return 0;
}
