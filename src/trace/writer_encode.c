#include "writer_encode.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

static void put_str(struct cairn_buf *buf, const char *str)
{
    cairn_buf_bytes(buf, (struct cairn_span){(const uint8_t *)str, strlen(str)});
}

void cairn_encode_writer(struct cairn_writer *writer)
{
    struct cairn_buf *buf = &writer->body;
    char boot_id[37];

    cairn_clock_boot_id(boot_id);
    put_str(buf, writer->options.role);
    put_str(buf, boot_id);
    put_str(buf, CAIRN_VERSION);
    cairn_buf_uvarint(buf, writer->options.pid);
    cairn_buf_uvarint(buf, writer->options.start_ns);
}

static void put_code(struct cairn_buf *buf, const struct cairn_code_def *code)
{
    cairn_buf_uvarint(buf, code->name);
    cairn_buf_uvarint(buf, code->qualname);
    cairn_buf_uvarint(buf, code->file);
    cairn_buf_uvarint(buf, code->first_line);
}

static void put_location(struct cairn_buf *buf, const struct cairn_location_def *location)
{
    cairn_buf_u8(buf, location->kind);
    cairn_buf_uvarint(buf, location->ref);
    if (location->kind != CAIRN_LOC_LABEL)
        cairn_buf_svarint(buf, location->offset);
}

static void put_track(struct cairn_buf *buf, const struct cairn_track_def *track)
{
    cairn_buf_u8(buf, track->kind);
    cairn_buf_uvarint(buf, track->parent);
    cairn_buf_uvarint(buf, track->number);
    cairn_buf_uvarint(buf, track->start_ns);
    cairn_buf_uvarint(buf, track->boot_id);
    cairn_buf_uvarint(buf, track->name);
    cairn_buf_uvarint(buf, track->detail);
    cairn_buf_u8(buf, track->birth);
}

void cairn_encode_entry(struct cairn_writer *writer, enum cairn_part part, uint32_t id)
{
    struct cairn_buf *buf = &writer->body;
    const struct cairn_stack_def *stack;

    switch (part) {
    case CAIRN_PART_STRING:
        cairn_buf_bytes(buf, cairn_writer_strings_get(&writer->strings, id));
        break;
    case CAIRN_PART_CODE:
        put_code(buf, &writer->codes.items[id].def);
        break;
    case CAIRN_PART_MODULE:
        cairn_buf_uvarint(buf, writer->modules.items[id].path);
        cairn_buf_bytes(buf, writer->modules.items[id].build_id);
        break;
    case CAIRN_PART_LOCATION:
        put_location(buf, &writer->locations.items[id]);
        break;
    case CAIRN_PART_STACK:
        stack = &writer->stacks.items[id];
        cairn_buf_uvarint(buf, id - stack->parent);
        cairn_buf_svarint(buf, (int64_t)stack->location - (int64_t)writer->last_location);
        writer->last_location = stack->location;
        break;
    case CAIRN_PART_TRACK:
        put_track(buf, cairn_writer_tracks_get(&writer->tracks, id));
        break;
    case CAIRN_PART_NONE:
        break;
    }
}

void cairn_encode_linetable(struct cairn_writer *writer, const struct cairn_linetable_def *def)
{
    cairn_buf_uvarint(&writer->body, def->code);
    cairn_buf_u8(&writer->body, def->kind);
    cairn_buf_bytes(&writer->body, def->bytes);
}

void cairn_encode_clock(struct cairn_writer *writer, const struct cairn_clock_def *clock)
{
    cairn_buf_uvarint(&writer->body, clock->mono_ns);
    cairn_buf_uvarint(&writer->body, clock->boot_ns);
    cairn_buf_uvarint(&writer->body, clock->real_ns);
    cairn_buf_uvarint(&writer->body, clock->boot_id);
}

void cairn_encode_counters(struct cairn_writer *writer)
{
    for (size_t i = 0; i < writer->counters.count; i++) {
        const struct cairn_writer_counter *counter = &writer->counters.items[i];

        if (!counter->dirty)
            continue;
        put_str(&writer->body, counter->name);
        cairn_buf_uvarint(&writer->body, counter->value);
    }
}

/* Runs of {how many were missed before each, how many ticks}. */
static void put_numbers(struct cairn_buf *buf, const struct cairn_writer_ticks *ticks)
{
    uint64_t next = ticks->base_number;
    size_t count = ticks->numbers.count;

    for (size_t i = 0; i < count;) {
        uint64_t missed = ticks->numbers.items[i] - next;
        size_t run = 0;

        while (i < count && ticks->numbers.items[i] - next == missed) {
            next = ticks->numbers.items[i++] + 1;
            run++;
        }
        cairn_buf_uvarint(buf, missed);
        cairn_buf_uvarint(buf, run);
    }
}

void cairn_encode_ticks(struct cairn_writer *writer)
{
    const struct cairn_writer_ticks *ticks = &writer->ticks;
    struct cairn_buf *buf = &writer->body;

    cairn_buf_u64(buf, ticks->seed);
    cairn_buf_uvarint(buf, ticks->mean_ns);
    cairn_buf_uvarint(buf, ticks->quantum_ns);
    cairn_buf_uvarint(buf, ticks->before_ns);
    cairn_buf_uvarint(buf, ticks->base_ns);
    cairn_buf_uvarint(buf, ticks->base_number);
    cairn_buf_uvarint(buf, ticks->numbers.count);
    put_numbers(buf, ticks);
    for (size_t i = 0; i < ticks->delays.count; i++)
        cairn_buf_svarint(buf, ticks->delays.items[i]);
}

static void put_runs(struct cairn_buf *buf, const uint64_t *values, size_t count, bool delta)
{
    uint64_t last = 0;

    for (size_t i = 0; i < count;) {
        uint64_t item = delta ? values[i] - last : values[i];
        size_t run = 0;

        while (i < count && (delta ? values[i] - last : values[i]) == item) {
            last = values[i++];
            run++;
        }
        if (delta)
            cairn_buf_svarint(buf, (int64_t)item);
        else
            cairn_buf_uvarint(buf, item);
        cairn_buf_uvarint(buf, run);
    }
}

static void put_values(struct cairn_buf *buf, uint8_t encoding, const uint64_t *values,
                       size_t count)
{
    uint64_t last = 0;

    if (encoding == CAIRN_ENC_RLE || encoding == CAIRN_ENC_DELTA_RLE) {
        put_runs(buf, values, count, encoding == CAIRN_ENC_DELTA_RLE);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        switch (encoding) {
        case CAIRN_ENC_UVARINT:
            cairn_buf_uvarint(buf, values[i]);
            break;
        case CAIRN_ENC_SVARINT:
            cairn_buf_svarint(buf, (int64_t)values[i]);
            break;
        case CAIRN_ENC_DELTA:
            cairn_buf_svarint(buf, (int64_t)(values[i] - last));
            last = values[i];
            break;
        default:
            cairn_buf_u64(buf, values[i]);
        }
    }
}

/* Tracks whose ids lie further apart than this, and than the rows are many, are sorted by
 * comparing: ids are not given out again, and counting them would take the more the longer a
 * program runs. */
#define TRACK_RANGE_MAX ((uint64_t)1 << 12)

static int by_key(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* No two keys are equal, so rows of one track stay in their order. */
static int order_by_comparing(struct cairn_writer *writer, const uint64_t *tracks, size_t count)
{
    CAIRN_TRY(cairn_vec_reserve(&writer->ordered, count, CAIRN_ROWS_MAX));
    for (size_t i = 0; i < count; i++)
        writer->ordered.items[i] = tracks[i] << 32 | i;
    qsort(writer->ordered.items, count, sizeof(uint64_t), by_key);
    for (size_t i = 0; i < count; i++)
        writer->order.items[i] = (uint32_t)writer->ordered.items[i];
    return 0;
}

static int order_by_counting(struct cairn_writer *writer, const uint64_t *tracks, size_t count,
                             uint64_t least, uint64_t most)
{
    CAIRN_TRY(cairn_vec_reserve(&writer->starts, most - least + 2, CAIRN_IDS_MAX));
    memset(writer->starts.items, 0, (most - least + 2) * sizeof(uint32_t));
    for (size_t i = 0; i < count; i++)
        writer->starts.items[tracks[i] - least + 1]++;
    for (uint64_t i = 1; i <= most - least; i++)
        writer->starts.items[i] += writer->starts.items[i - 1];
    for (size_t i = 0; i < count; i++)
        writer->order.items[writer->starts.items[tracks[i] - least]++] = (uint32_t)i;
    return 0;
}

/* The rows of one track next to each other, in the order they came: what follows is then much like
 * what went before, and a third of the file is saved. *ret_order: the rows in that order, or NULL
 * when they stand well as they are. */
static int order_by_track(struct cairn_writer *writer, const struct cairn_writer_table *table,
                          const uint32_t **ret_order)
{
    const uint64_t *tracks = NULL;
    uint64_t least = UINT64_MAX, most = 0;
    bool ascend = true;

    *ret_order = NULL;
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].part == CAIRN_PART_TRACK)
            tracks = table->columns[i].values.items;
    }
    for (size_t i = 0; tracks != NULL && i < table->row_count; i++) {
        least = tracks[i] < least ? tracks[i] : least;
        ascend &= tracks[i] >= most;
        most = tracks[i] > most ? tracks[i] : most;
    }
    if (tracks == NULL || ascend)
        return 0;

    CAIRN_TRY(cairn_vec_reserve(&writer->order, table->row_count, CAIRN_ROWS_MAX));
    if (most - least > TRACK_RANGE_MAX && most - least > table->row_count)
        CAIRN_TRY(order_by_comparing(writer, tracks, table->row_count));
    else
        CAIRN_TRY(order_by_counting(writer, tracks, table->row_count, least, most));
    *ret_order = writer->order.items;
    return 0;
}

static int put_column(struct cairn_writer *writer, const struct cairn_writer_column *column,
                      const uint32_t *order)
{
    const uint64_t *values = column->values.items;
    size_t count = column->values.count;
    struct cairn_buf *buf = &writer->column;

    if (order != NULL) {
        CAIRN_TRY(cairn_vec_reserve(&writer->ordered, count, CAIRN_ROWS_MAX));
        for (size_t i = 0; i < count; i++)
            writer->ordered.items[i] = values[order[i]];
        values = writer->ordered.items;
    }
    cairn_buf_clear(buf);
    put_values(buf, column->encoding, values, count);
    CAIRN_TRY(buf->code);
    return cairn_buf_bytes(&writer->body, cairn_buf_span(buf));
}

int cairn_encode_table(struct cairn_writer *writer, const struct cairn_writer_table *table)
{
    struct cairn_buf *buf = &writer->body;
    const uint32_t *order;

    CAIRN_TRY(order_by_track(writer, table, &order));
    cairn_buf_uvarint(buf, table->kind);
    cairn_buf_uvarint(buf, table->column_count);
    for (size_t i = 0; i < table->column_count; i++) {
        put_str(buf, table->columns[i].name);
        put_str(buf, table->columns[i].unit);
        cairn_buf_u8(buf, table->columns[i].encoding);
    }
    cairn_buf_uvarint(buf, table->row_count);
    for (size_t i = 0; i < table->column_count; i++)
        CAIRN_TRY(put_column(writer, &table->columns[i], order));
    return buf->code;
}
