/* Ticks and rows: what a writer measures. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "writer_parts.h"

#define KINDS_MAX 256
#define TICK_BYTES 3 /* an estimate */

int cairn_writer_schedule(struct cairn_writer *writer, uint64_t seed, uint64_t mean_ns,
                          uint64_t quantum_ns, uint64_t first_tick, uint64_t due_ns,
                          uint64_t before_ns)
{
    struct cairn_writer_ticks *ticks = &writer->ticks;

    if (ticks->numbers.count > 0 || quantum_ns == 0 || quantum_ns > INT64_MAX)
        return -CAIRN_EINTERNAL;
    ticks->scheduled = true;
    ticks->seed = seed;
    ticks->mean_ns = mean_ns;
    ticks->quantum_ns = quantum_ns;
    ticks->next_number = first_tick;
    ticks->due_number = first_tick;
    ticks->due_ns = due_ns;
    ticks->last_ns = before_ns;
    return 0;
}

/* The nearest quantum, but never before the tick before. */
static int64_t round_delay(const struct cairn_writer_ticks *ticks, uint64_t due_ns,
                           uint64_t time_ns)
{
    int64_t quantum_ns = (int64_t)ticks->quantum_ns;
    int64_t late_ns, delay;

    if (time_ns < ticks->last_ns)
        time_ns = ticks->last_ns;
    late_ns = (int64_t)(time_ns - due_ns);
    delay = late_ns / quantum_ns;
    if (late_ns % quantum_ns > quantum_ns / 2)
        delay++;
    else if (late_ns % quantum_ns < -(quantum_ns / 2))
        delay--;
    if (due_ns + (uint64_t)(delay * quantum_ns) < ticks->last_ns)
        delay++;
    return delay;
}

int cairn_writer_tick(struct cairn_writer *writer, uint64_t number, uint64_t time_ns)
{
    struct cairn_writer_ticks *ticks = &writer->ticks;
    size_t count = ticks->numbers.count;
    uint64_t missed = number - ticks->next_number;
    uint64_t due_ns = ticks->due_ns;
    int64_t delay;

    if (!ticks->scheduled || number < ticks->next_number || number == UINT64_MAX)
        return -CAIRN_EINTERNAL;
    if (writer->row_bytes >= CAIRN_WRITER_FULL_BYTES ||
        (count > 0 && missed > CAIRN_TICK_GAPS_MAX - ticks->gaps))
        return -CAIRN_ELIMIT;
    CAIRN_TRY(cairn_vec_reserve(&ticks->numbers, count + 1, CAIRN_CHUNK_MAX_BYTES));
    CAIRN_TRY(cairn_vec_reserve(&ticks->delays, count + 1, CAIRN_CHUNK_MAX_BYTES));

    for (uint64_t k = ticks->due_number; k < number && ticks->mean_ns > 0; k++)
        due_ns += cairn_tick_interval(ticks->seed, k + 1, ticks->mean_ns);
    delay = round_delay(ticks, due_ns, time_ns);
    if (count == 0) {
        ticks->base_number = number;
        ticks->base_ns = due_ns;
        ticks->before_ns = ticks->last_ns;
        ticks->gaps = 0;
    } else {
        ticks->gaps += missed;
    }
    ticks->numbers.items[ticks->numbers.count++] = number;
    ticks->delays.items[ticks->delays.count++] = delay;
    ticks->next_number = number + 1;
    ticks->last_ns = due_ns + (uint64_t)delay * ticks->quantum_ns;
    ticks->due_number = number;
    ticks->due_ns = ticks->mean_ns > 0 ? due_ns : ticks->last_ns;
    writer->row_bytes += TICK_BYTES;
    return 0;
}

uint64_t cairn_writer_tick_time(const struct cairn_writer *writer)
{
    return writer->ticks.last_ns;
}

int64_t cairn_writer_tick_index(const struct cairn_writer *writer)
{
    return (int64_t)writer->ticks.numbers.count - 1;
}

static enum cairn_part part_of(const struct cairn_column_def *column)
{
    static const char *const names[CAIRN_PART_COUNT] = {
        [CAIRN_PART_STRING] = "string", [CAIRN_PART_CODE] = "code",
        [CAIRN_PART_MODULE] = "module", [CAIRN_PART_LOCATION] = "location",
        [CAIRN_PART_STACK] = "stack",   [CAIRN_PART_TRACK] = "track",
    };

    if (strcmp(column->unit, "id") != 0)
        return CAIRN_PART_NONE;
    if (strcmp(column->name, "on") == 0)
        return CAIRN_PART_STRING;
    for (size_t i = 0; i < CAIRN_PART_COUNT; i++) {
        if (strcmp(column->name, names[i]) == 0)
            return (enum cairn_part)i;
    }
    return CAIRN_PART_NONE;
}

static int declare(struct cairn_writer_table *table, const struct cairn_column_def *columns,
                   size_t column_count)
{
    if (column_count == 0 || column_count > CAIRN_COLUMNS_MAX)
        return -CAIRN_EINTERNAL;
    for (size_t i = 0; i < column_count; i++) {
        if (strlen(columns[i].name) > CAIRN_NAME_MAX_BYTES ||
            strlen(columns[i].unit) > CAIRN_NAME_MAX_BYTES || columns[i].encoding > CAIRN_ENC_F64)
            return -CAIRN_EINTERNAL;
    }
    table->column_count = column_count;
    table->time_column = column_count;
    table->dur_column = column_count;
    for (size_t i = 0; i < column_count; i++) {
        struct cairn_writer_column *column = &table->columns[i];

        memcpy(column->name, columns[i].name, strlen(columns[i].name) + 1);
        memcpy(column->unit, columns[i].unit, strlen(columns[i].unit) + 1);
        column->name_seen = columns[i].name;
        column->encoding = columns[i].encoding;
        column->part = part_of(&columns[i]);
        column->values.count = 0;
        if (strcmp(column->name, "time") == 0)
            table->time_column = i;
        else if (strcmp(column->name, "dur") == 0)
            table->dur_column = i;
    }
    return 0;
}

/* What was declared must not change under the rows that stand already. */
static bool declares_the_same(const struct cairn_writer_table *table,
                              const struct cairn_column_def *columns, size_t column_count)
{
    if (column_count != table->column_count)
        return false;
    for (size_t i = 0; i < column_count; i++) {
        const struct cairn_writer_column *column = &table->columns[i];

        if (columns[i].encoding != column->encoding)
            return false;
        if (columns[i].name != column->name_seen && strcmp(columns[i].name, column->name) != 0)
            return false;
    }
    return true;
}

static int find_table(struct cairn_writer *writer, uint8_t kind,
                      struct cairn_writer_table **ret_table)
{
    struct cairn_writer_table *table;
    size_t count = writer->tables.count;

    for (size_t i = 0; i < count; i++) {
        if (writer->tables.items[i].kind == kind) {
            *ret_table = &writer->tables.items[i];
            return 0;
        }
    }
    CAIRN_TRY(cairn_vec_reserve(&writer->tables, count + 1, KINDS_MAX));
    table = &writer->tables.items[count];
    table->columns = cairn_calloc(CAIRN_COLUMNS_MAX, sizeof(*table->columns));
    if (table->columns == NULL)
        return -CAIRN_ENOMEM;
    table->kind = kind;
    writer->tables.count++;
    *ret_table = table;
    return 0;
}

/* Bytes of the value as a varint, and one for what a difference or a run adds. */
static size_t value_bytes(uint64_t value)
{
    return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 2;
}

int cairn_writer_row(struct cairn_writer *writer, uint8_t kind,
                     const struct cairn_column_def *columns, size_t column_count,
                     const uint64_t *values)
{
    struct cairn_writer_table *table;
    size_t size_bytes = 0;

    CAIRN_TRY(find_table(writer, kind, &table));
    if (writer->row_bytes >= CAIRN_WRITER_FULL_BYTES || table->row_count >= CAIRN_ROWS_MAX ||
        (table->row_count + 1) * column_count > CAIRN_VALUES_MAX)
        return -CAIRN_ELIMIT;
    if (table->row_count == 0)
        CAIRN_TRY(declare(table, columns, column_count));
    else if (!declares_the_same(table, columns, column_count))
        return -CAIRN_EINTERNAL;
    for (size_t i = 0; i < column_count; i++) {
        struct cairn_writer_column *column = &table->columns[i];

        if (column->part != CAIRN_PART_NONE &&
            values[i] >= cairn_writer_count(writer, column->part))
            return -CAIRN_EINTERNAL;
        CAIRN_TRY(cairn_vec_reserve(&column->values, table->row_count + 1, CAIRN_ROWS_MAX));
    }
    for (size_t i = 0; i < column_count; i++) {
        struct cairn_writer_column *column = &table->columns[i];

        column->values.items[column->values.count++] = values[i];
        size_bytes += column->encoding == CAIRN_ENC_F64 ? 8 : value_bytes(values[i]);
    }
    table->row_count++;
    writer->row_bytes += size_bytes;
    return 0;
}
