#include "html_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "html_block.h"
#include "io.h"

#define EACH 8 /* slices from one stop, which has all until there, to the next */
#define STOPS (CAIRN_HTML_PARTS / EACH)
#define BLOCKS (CAIRN_HTML_PARTS + STOPS) /* of the slices, then of the stops */
#define BLOCK_MAX_BYTES ((size_t)1 << 30)
#define LANES_MAX ((size_t)1 << 20)
#define COLUMNS CAIRN_HTML_PARTS_COLUMNS
#define COLUMN_IDLE CAIRN_STATE_COUNT
#define COLUMN_GIL (CAIRN_STATE_COUNT + 1)

_Static_assert(COLUMNS <= CAIRN_HTML_BLOCK_COLUMNS, "an entry says of which column it is");
_Static_assert(CAIRN_HTML_PARTS % EACH == 0, "the last stop is the end");

struct block { /* of the file, as an answer is (html_block.h) */
    uint64_t offset;
    size_t size_bytes;
};

struct lane {        /* what the threads of a cell's group spent */
    uint32_t thread; /* the first of them */
    uint64_t ns[CAIRN_HTML_PARTS][COLUMNS];
};

struct cairn_html_parts {
    int fd;
    struct block blocks[BLOCKS];
    uint64_t width_ns;
    size_t cell_count;
    CAIRN_VEC(struct lane) lanes; /* in the order of the cells */
    /* Kept, since an answer has to be quick: of the columns in which any cell has something; and
     * the bytes of a block. */
    struct cairn_html_table sums;
    uint8_t *bytes;
};

struct key { /* of a cell */
    uint32_t thread, node;
    uint8_t phase;
};

/* While it is made. */
struct maker {
    struct cairn_html_parts *parts;
    const struct cairn_model *model;
    const struct cairn_tally *whole;
    bool gil;
    struct key *keys;          /* of the cells of the page, in order */
    uint64_t *values, *so_far; /* of a slice, and of all until there: [cell][column] */
    uint64_t written;
    struct cairn_buf block;
};

static int compare(const struct key *key, const struct cairn_cell *cell)
{
    if (key->thread != cell->thread)
        return key->thread < cell->thread ? -1 : 1;
    if (key->node != cell->node)
        return key->node < cell->node ? -1 : 1;
    return (key->phase > cell->phase) - (key->phase < cell->phase);
}

static void take_value(const struct cairn_cell *cell, enum cairn_metric metric, uint64_t *values)
{
    if (metric == CAIRN_METRIC_GIL) {
        values[COLUMN_GIL] = cell->weight.value_ns;
        return;
    }
    memcpy(values, cell->state_ns, sizeof(cell->state_ns));
    values[COLUMN_IDLE] = cell->idle_blocked_ns;
}

/* The cells of a slice, each to its place among those of all of the time: both are in the same
 * order, and what has nothing in all of it has nothing in a part. */
static int take(struct maker *maker, unsigned slice, enum cairn_metric metric,
                struct cairn_err *err)
{
    const struct cairn_tally *whole = maker->whole;
    uint64_t first_ns, last_ns, from_ns, width_ns = maker->parts->width_ns;
    struct cairn_filter filter = whole->filter;
    size_t at = 0, count = maker->parts->cell_count;
    struct cairn_tally tally;

    cairn_model_span(maker->model, &first_ns, &last_ns);
    from_ns = whole->first_ns - first_ns + slice * width_ns;
    filter.metric = metric;
    if (slice > 0) /* else as it was: what is told of the very beginning lies in the first one */
        filter.from_ns = from_ns;
    if (slice + 1 < CAIRN_HTML_PARTS && from_ns + width_ns < filter.to_ns)
        filter.to_ns = from_ns + width_ns;
    if (filter.from_ns >= filter.to_ns || first_ns + filter.from_ns >= last_ns)
        return 0; /* a short recording is over before the last slice */
    CAIRN_TRY(cairn_tally_make(maker->model, &filter, &tally, err));
    for (size_t i = 0; i < tally.cell_count && tally.known; i++) {
        while (at < count && compare(&maker->keys[at], &tally.cells[i]) < 0)
            at++;
        if (at < count && compare(&maker->keys[at], &tally.cells[i]) == 0)
            take_value(&tally.cells[i], metric, maker->values + at * COLUMNS);
    }
    cairn_tally_release(&tally);
    return 0;
}

static int write_block(struct maker *maker, unsigned index, uint64_t *values)
{
    struct cairn_html_parts *parts = maker->parts;
    struct cairn_buf *buf = &maker->block;

    struct cairn_html_table table = {values, parts->cell_count, COLUMNS, {0}};

    for (uint8_t i = 0; i < COLUMNS; i++)
        table.numbers[i] = i;
    cairn_buf_clear(buf);
    CAIRN_TRY(cairn_html_block_put(&table, buf));
    parts->blocks[index] = (struct block){maker->written, buf->size_bytes};
    maker->written += buf->size_bytes;
    return cairn_io_pwrite(parts->fd, buf->data, buf->size_bytes, parts->blocks[index].offset) < 0
               ? -CAIRN_EIO
               : 0;
}

static void add_to_lanes(struct maker *maker, unsigned slice)
{
    struct lane *lane = maker->parts->lanes.items;

    for (size_t i = 0; i < maker->parts->cell_count; i++) {
        const uint64_t *values = maker->values + i * COLUMNS;

        while (lane->thread != maker->keys[i].thread)
            lane++;
        for (int column = 0; column < COLUMNS; column++)
            lane->ns[slice][column] += values[column];
    }
}

static int make_slice(struct maker *maker, unsigned slice, struct cairn_err *err)
{
    size_t count = maker->parts->cell_count * COLUMNS;

    memset(maker->values, 0, count * sizeof(*maker->values));
    CAIRN_TRY(take(maker, slice, CAIRN_METRIC_WALL, err));
    if (maker->gil)
        CAIRN_TRY(take(maker, slice, CAIRN_METRIC_GIL, err));
    add_to_lanes(maker, slice);
    CAIRN_TRY(write_block(maker, slice, maker->values));
    for (size_t i = 0; i < count; i++)
        maker->so_far[i] += maker->values[i];
    return slice % EACH == EACH - 1
               ? write_block(maker, CAIRN_HTML_PARTS + slice / EACH, maker->so_far)
               : 0;
}

/* A file that nobody else can open, gone when it is closed. */
static int open_file(struct cairn_html_parts *parts)
{
    const char *place = getenv("TMPDIR");

    parts->fd =
        cairn_io_open(place && place[0] == '/' ? place : "/tmp", O_TMPFILE | O_RDWR | O_EXCL, 0600);
    if (parts->fd >= 0)
        return 0;
    parts->fd = -1;
    return -CAIRN_EIO;
}

static int read_cells(struct maker *maker)
{
    struct cairn_html_parts *parts = maker->parts;
    const struct cairn_tally *whole = maker->whole;

    maker->keys = cairn_calloc(whole->cell_count + 1, sizeof(*maker->keys));
    if (!maker->keys)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < whole->cell_count; i++) {
        const struct cairn_cell *cell = &whole->cells[i];

        if (cell->weight.value_ns == 0)
            continue;
        maker->keys[parts->cell_count++] = (struct key){cell->thread, cell->node, cell->phase};
        if (parts->lanes.count == 0 ||
            parts->lanes.items[parts->lanes.count - 1].thread != cell->thread) {
            CAIRN_TRY(cairn_vec_reserve(&parts->lanes, parts->lanes.count + 1, LANES_MAX));
            parts->lanes.items[parts->lanes.count++].thread = cell->thread;
        }
    }
    maker->values = cairn_calloc(parts->cell_count + 1, COLUMNS * sizeof(*maker->values));
    maker->so_far = cairn_calloc(parts->cell_count + 1, COLUMNS * sizeof(*maker->so_far));
    return maker->values && maker->so_far ? 0 : -CAIRN_ENOMEM;
}

/* Room for the sums of an answer, in those columns that any cell has something in. */
static int keep_sums(struct maker *maker)
{
    struct cairn_html_table *sums = &maker->parts->sums;
    size_t cell_count = maker->parts->cell_count;

    for (uint8_t column = 0; column < COLUMNS; column++) {
        size_t i = 0;

        while (i < cell_count && maker->so_far[i * COLUMNS + column] == 0)
            i++;
        if (i < cell_count)
            sums->numbers[sums->column_count++] = column;
    }
    sums->cell_count = cell_count;
    sums->values = cairn_calloc(cell_count * sums->column_count + 1, sizeof(*sums->values));
    return sums->values ? 0 : -CAIRN_ENOMEM;
}

static int make(struct maker *maker, struct cairn_err *err)
{
    struct cairn_html_parts *parts = maker->parts;
    size_t largest = 0;

    CAIRN_TRY(open_file(parts));
    CAIRN_TRY(read_cells(maker));
    for (unsigned slice = 0; slice < CAIRN_HTML_PARTS; slice++)
        CAIRN_TRY(make_slice(maker, slice, err));
    for (int i = 0; i < BLOCKS; i++)
        largest = parts->blocks[i].size_bytes > largest ? parts->blocks[i].size_bytes : largest;
    parts->bytes = cairn_malloc(largest + 1);
    return parts->bytes ? keep_sums(maker) : -CAIRN_ENOMEM;
}

int cairn_html_parts_make(const struct cairn_model *model, const struct cairn_tally *whole,
                          bool gil, struct cairn_html_parts **ret_parts, struct cairn_err *err)
{
    struct maker maker = {.model = model, .whole = whole, .gil = gil};
    struct cairn_err own = {0};
    int code;

    *ret_parts = NULL;
    maker.parts = cairn_calloc(1, sizeof(*maker.parts));
    if (!maker.parts)
        return -CAIRN_ENOMEM;
    maker.parts->width_ns = (whole->last_ns - whole->first_ns) / CAIRN_HTML_PARTS + 1;
    cairn_buf_init(&maker.block, BLOCK_MAX_BYTES);
    code = make(&maker, &own);
    cairn_buf_release(&maker.block);
    free(maker.keys);
    free(maker.values);
    free(maker.so_far);
    if (code < 0) {
        cairn_html_parts_free(maker.parts);
        if (code == -CAIRN_EIO)
            return 0;
        if (err)
            *err = own;
        return code;
    }
    *ret_parts = maker.parts;
    return 0;
}

void cairn_html_parts_free(struct cairn_html_parts *parts)
{
    if (!parts)
        return;
    cairn_io_close(&parts->fd);
    cairn_vec_release(&parts->lanes);
    free(parts->sums.values);
    free(parts->bytes);
    free(parts);
}

uint64_t cairn_html_parts_width_ns(const struct cairn_html_parts *parts)
{
    return parts->width_ns;
}

void cairn_html_parts_say(const struct cairn_html_parts *parts, const uint32_t *thread_of,
                          struct cairn_json *json)
{
    cairn_json_key(json, cairn_span_of("lanes"));
    cairn_json_array(json);
    for (size_t i = 0; i < parts->lanes.count; i++) {
        const struct lane *lane = &parts->lanes.items[i];

        cairn_json_array(json);
        cairn_json_u64(json, thread_of[lane->thread]);
        for (int column = 0; column < COLUMNS; column++) {
            cairn_json_array(json);
            for (int slice = 0; slice < CAIRN_HTML_PARTS; slice++)
                cairn_json_u64(json, lane->ns[slice][column]);
            cairn_json_close(json);
        }
        cairn_json_close(json);
    }
    cairn_json_close(json);
    cairn_json_key(json, cairn_span_of("asked"));
    cairn_json_array(json);
    for (unsigned i = 0; i < parts->sums.column_count; i++)
        cairn_json_u64(json, parts->sums.numbers[i]);
    cairn_json_close(json);
}

/* --- answers --- */

/* The sums wrap while more was taken off than is added yet. */
static int add_block(struct cairn_html_parts *parts, unsigned index, bool off)
{
    const struct block *block = &parts->blocks[index];

    if (cairn_io_pread(parts->fd, parts->bytes, block->size_bytes, block->offset) !=
        (ssize_t)block->size_bytes)
        return -CAIRN_EIO;
    return cairn_html_block_add(parts->bytes, block->size_bytes, off, &parts->sums) < 0 ? -CAIRN_EIO
                                                                                        : 0;
}

static int add_slices(struct cairn_html_parts *parts, unsigned from, unsigned to, bool off)
{
    for (unsigned slice = from; slice < to; slice++)
        CAIRN_TRY(add_block(parts, slice, off));
    return 0;
}

/* All before a slice: from the nearest stop, there or back. */
static int add_until(struct cairn_html_parts *parts, unsigned slice, bool off)
{
    unsigned stop = (slice + EACH / 2) / EACH;

    if (stop > 0)
        CAIRN_TRY(add_block(parts, CAIRN_HTML_PARTS + stop - 1, off));
    CAIRN_TRY(add_slices(parts, stop * EACH, slice, off));
    return add_slices(parts, slice, stop * EACH, !off);
}

static int add_up(struct cairn_html_parts *parts, unsigned from, unsigned to)
{
    if (to - from <= EACH)
        return add_slices(parts, from, to, false);
    CAIRN_TRY(add_until(parts, to, false));
    return add_until(parts, from, true);
}

/* Most that is looked at knows no states, and two of them would be twice as much to send. */
static void join_states(struct cairn_html_table *sums)
{
    unsigned states = 0;

    while (states < sums->column_count && sums->numbers[states] < CAIRN_STATE_COUNT)
        states++;
    for (size_t cell = 0; cell < sums->cell_count; cell++) {
        uint64_t *values = sums->values + cell * sums->column_count;

        for (unsigned i = 1; i < states; i++) {
            values[0] += values[i];
            values[i] = 0;
        }
    }
}

int cairn_html_parts_ask(struct cairn_html_parts *parts, unsigned from, unsigned to, bool states,
                         struct cairn_buf *buf)
{
    if (from >= to || to > CAIRN_HTML_PARTS)
        return -CAIRN_EUSAGE;
    memset(parts->sums.values, 0,
           parts->cell_count * parts->sums.column_count * sizeof(*parts->sums.values));
    CAIRN_TRY(add_up(parts, from, to));
    if (!states)
        join_states(&parts->sums);
    return cairn_html_block_put(&parts->sums, buf);
}
