#include "decode.h"

#include <endian.h>
#include <string.h>

#include "err.h"

/* A section that holds one thing has no ordinary end inside it. */
static int inside(int code)
{
    return code == -CAIRN_EEND ? -CAIRN_EDAMAGED : code;
}

static int done(const struct cairn_cursor *cur)
{
    return cairn_cursor_left_bytes(cur) == 0 ? 0 : -CAIRN_EDAMAGED;
}

int cairn_decode_writer(struct cairn_span section, struct cairn_writer_def *ret_def)
{
    struct cairn_cursor cur;

    cairn_cursor_init(&cur, section);
    CAIRN_TRY(inside(cairn_cursor_bytes(&cur, &ret_def->role)));
    CAIRN_TRY(inside(cairn_cursor_bytes(&cur, &ret_def->boot_id)));
    CAIRN_TRY(inside(cairn_cursor_bytes(&cur, &ret_def->version)));
    CAIRN_TRY(inside(cairn_cursor_uvarint(&cur, &ret_def->pid)));
    CAIRN_TRY(inside(cairn_cursor_uvarint(&cur, &ret_def->start_ns)));
    return done(&cur);
}

int cairn_decode_clock(struct cairn_span section, struct cairn_clock_def *ret_def)
{
    struct cairn_cursor cur;

    cairn_cursor_init(&cur, section);
    CAIRN_TRY(inside(cairn_cursor_uvarint(&cur, &ret_def->mono_ns)));
    CAIRN_TRY(inside(cairn_cursor_uvarint(&cur, &ret_def->boot_ns)));
    CAIRN_TRY(inside(cairn_cursor_uvarint(&cur, &ret_def->real_ns)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&cur, &ret_def->boot_id)));
    return done(&cur);
}

int cairn_decode_set(struct cairn_span section, uint64_t *ret_set_id, uint64_t *ret_sequence,
                     uint64_t *ret_parent_file_id)
{
    struct cairn_cursor cur;

    cairn_cursor_init(&cur, section);
    CAIRN_TRY(inside(cairn_cursor_u64(&cur, ret_set_id)));
    CAIRN_TRY(inside(cairn_cursor_uvarint(&cur, ret_sequence)));
    CAIRN_TRY(inside(cairn_cursor_u64(&cur, ret_parent_file_id)));
    return done(&cur);
}

void cairn_ticks_release(struct cairn_ticks *ticks)
{
    cairn_vec_release(&ticks->numbers);
    cairn_vec_release(&ticks->times_ns);
    ticks->def = (struct cairn_ticks_def){0};
}

static int read_ticks_head(struct cairn_cursor *cur, struct cairn_ticks_def *def,
                           uint64_t *ret_number)
{
    CAIRN_TRY(cairn_cursor_u64(cur, &def->seed));
    CAIRN_TRY(cairn_cursor_uvarint(cur, &def->mean_ns));
    CAIRN_TRY(cairn_cursor_uvarint(cur, &def->quantum_ns));
    CAIRN_TRY(cairn_cursor_uvarint(cur, &def->before_ns));
    CAIRN_TRY(cairn_cursor_uvarint(cur, &def->base_ns));
    CAIRN_TRY(cairn_cursor_uvarint(cur, ret_number));
    CAIRN_TRY(cairn_cursor_count(cur, 1, &def->count));
    return def->quantum_ns == 0 ? -CAIRN_EDAMAGED : 0;
}

/* The numbers: runs of {how many were missed before each, how many ticks}. */
static int read_numbers(struct cairn_cursor *cur, struct cairn_ticks *ticks, uint64_t number)
{
    size_t count = ticks->def.count;
    uint64_t missed_sum = 0;

    while (ticks->numbers.count < count) {
        uint64_t missed, run;

        CAIRN_TRY(cairn_cursor_uvarint(cur, &missed));
        CAIRN_TRY(cairn_cursor_uvarint(cur, &run));
        if (run == 0 || run > count - ticks->numbers.count || missed > CAIRN_TICK_GAPS_MAX)
            return -CAIRN_EDAMAGED;
        /* The sum is what the schedule below is walked by: it must stay small. */
        missed_sum += missed * run;
        if (missed_sum > CAIRN_TICK_GAPS_MAX || number > UINT64_MAX - (missed + 1) * run)
            return -CAIRN_EDAMAGED;
        for (; run > 0; run--) {
            number += missed;
            ticks->numbers.items[ticks->numbers.count++] = number++;
        }
    }
    return 0;
}

/* The times: each tick's delay against when it was due, or against the tick before. */
static int read_times(struct cairn_cursor *cur, struct cairn_ticks *ticks)
{
    const struct cairn_ticks_def *def = &ticks->def;
    uint64_t due_ns = def->base_ns, last_ns = def->before_ns;
    uint64_t number = def->count == 0 ? 0 : ticks->numbers.items[0];

    for (size_t i = 0; i < def->count; i++) {
        int64_t delay, delay_ns;
        uint64_t time_ns;

        for (; number < ticks->numbers.items[i] && def->mean_ns > 0; number++)
            due_ns += cairn_tick_interval(def->seed, number + 1, def->mean_ns);
        CAIRN_TRY(cairn_cursor_svarint(cur, &delay));
        if (def->quantum_ns > INT64_MAX ||
            __builtin_mul_overflow(delay, (int64_t)def->quantum_ns, &delay_ns))
            return -CAIRN_EDAMAGED;
        time_ns = due_ns + (uint64_t)delay_ns;
        if (time_ns < last_ns)
            return -CAIRN_EDAMAGED;
        ticks->times_ns.items[ticks->times_ns.count++] = time_ns;
        last_ns = time_ns;
        if (def->mean_ns == 0)
            due_ns = time_ns;
    }
    return 0;
}

int cairn_decode_ticks(struct cairn_span section, struct cairn_ticks *ticks)
{
    struct cairn_ticks_def *def = &ticks->def;
    struct cairn_cursor cur;
    uint64_t number;

    cairn_cursor_init(&cur, section);
    ticks->numbers.count = 0;
    ticks->times_ns.count = 0;
    *def = (struct cairn_ticks_def){0};
    CAIRN_TRY(inside(read_ticks_head(&cur, def, &number)));
    CAIRN_TRY(cairn_vec_reserve(&ticks->numbers, def->count, CAIRN_CHUNK_MAX_BYTES));
    CAIRN_TRY(cairn_vec_reserve(&ticks->times_ns, def->count, CAIRN_CHUNK_MAX_BYTES));
    CAIRN_TRY(inside(read_numbers(&cur, ticks, number)));
    CAIRN_TRY(inside(read_times(&cur, ticks)));
    def->numbers = ticks->numbers.items;
    def->times_ns = ticks->times_ns.items;
    return done(&cur);
}

void cairn_table_init(struct cairn_table *table)
{
    memset(table, 0, sizeof(*table));
}

void cairn_table_release(struct cairn_table *table)
{
    for (size_t i = 0; i < CAIRN_COLUMNS_MAX; i++)
        free(table->columns[i].values);
    cairn_table_init(table);
}

static int read_name(struct cairn_cursor *cur, char ret_name[65])
{
    struct cairn_span name;

    CAIRN_TRY(cairn_cursor_bytes(cur, &name));
    if (name.size_bytes > CAIRN_NAME_MAX_BYTES || memchr(name.data, '\0', name.size_bytes) != NULL)
        return -CAIRN_EDAMAGED;
    memcpy(ret_name, name.data, name.size_bytes);
    ret_name[name.size_bytes] = '\0';
    return 0;
}

/* Most values take a byte or two, and a report reads tens of millions of them. */
static inline int quick_uvarint(struct cairn_cursor *cur, uint64_t *ret_value)
{
    const uint8_t *p = cur->next;

    if (cur->end - p >= 2) {
        if (p[0] < 0x80) {
            *ret_value = p[0];
            cur->next = p + 1;
            return 0;
        }
        if (p[1] < 0x80) {
            *ret_value = (p[0] & 0x7fu) | (uint64_t)p[1] << 7;
            cur->next = p + 2;
            return 0;
        }
    }
    return cairn_cursor_uvarint(cur, ret_value);
}

/* Puts the seven low bits of each of four bytes together, or of eight. */
static inline uint64_t join_four_sevens(uint32_t word)
{
    word = (word & 0x007f007f) | (word & 0x7f007f00) >> 1;
    return (word & 0x00003fff) | (word & 0x3fff0000) >> 2;
}

static inline uint64_t join_sevens(uint64_t word)
{
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Where lengths are mixed, a branch on them is guessed wrong half of the time and costs more than
 * this arithmetic; but hardly any are above four bytes. Reads as many as it can, up to `count`;
 * returns how many. */
static size_t read_mixed(struct cairn_cursor *cur, uint64_t *values, size_t count)
{
    const uint8_t *p = cur->next;
    size_t done = 0;

    for (; done < count && cur->end - p >= 8; done++) {
        uint64_t word, ends;

        memcpy(&word, p, sizeof(word));
        word = le64toh(word);
        ends = ~word & UINT64_C(0x8080808080808080);
        if (!ends) /* nine or ten bytes */
            break;
        p += __builtin_ctzll(ends) / 8 + 1;
        word &= ends ^ (ends - 1);
        values[done] = word >> 32 ? join_sevens(word) : join_four_sevens((uint32_t)word);
    }
    cur->next = p;
    return done;
}

/* Where nearly all are single bytes: eight at a time, up to the first that is not single. Reads up
 * to `count`, and not the last few; returns how many. */
static size_t read_single(struct cairn_cursor *cur, uint64_t *values, size_t count)
{
    const uint8_t *p = cur->next;
    uint64_t longer = 0;
    size_t done = 0;

    while (longer == 0 && count - done >= 8 && cur->end - p >= 8) {
        uint64_t word;
        size_t single = 8;

        memcpy(&word, p, sizeof(word));
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            values[done + (size_t)i] = p[i];
        longer = le64toh(word) & UINT64_C(0x8080808080808080);
        if (longer)
            single = (size_t)__builtin_ctzll(longer) / 8;
        done += single;
        p += single;
    }
    cur->next = p;
    return done;
}

/* As many bytes as values: each must be one. */
static int read_bytes(struct cairn_cursor *cur, uint64_t *values, size_t count)
{
    size_t done = read_single(cur, values, count);
    const uint8_t *bytes = cur->next;
    uint8_t all = 0;

    for (size_t i = 0; i < count - done; i++) {
        values[done + i] = bytes[i];
        all |= bytes[i];
    }
    cur->next += count - done;
    return all < 0x80 ? 0 : -CAIRN_EDAMAGED;
}

static int read_unsigned(struct cairn_cursor *cur, uint64_t *values, size_t count)
{
    size_t size_bytes = cairn_cursor_left_bytes(cur), i = 0;

    if (size_bytes == count)
        return read_bytes(cur, values, count);
    while (i < count) {
        i += size_bytes > count + count / 8 ? read_mixed(cur, &values[i], count - i)
                                            : read_single(cur, &values[i], count - i);
        if (i < count)
            CAIRN_TRY(quick_uvarint(cur, &values[i++]));
    }
    return 0;
}

static inline uint64_t unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

/* Zigzag; with `delta` each value is the difference to the one before. */
static int read_signed(struct cairn_cursor *cur, bool delta, uint64_t *values, size_t count)
{
    uint64_t last = 0;

    CAIRN_TRY(read_unsigned(cur, values, count));
    if (delta) {
#pragma GCC unroll 4
        for (size_t i = 0; i < count; i++)
            values[i] = last += unzigzag(values[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            values[i] = unzigzag(values[i]);
    }
    return 0;
}

static int read_doubles(struct cairn_cursor *cur, uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(cairn_cursor_u64(cur, &values[i]));
    return 0;
}

/* A value, or a difference in zigzag, and how often; most pairs take two bytes. */
static inline int read_run(struct cairn_cursor *cur, size_t most, uint64_t *ret_value,
                           size_t *ret_run)
{
    const uint8_t *p = cur->next;
    uint64_t run;

    if (cur->end - p >= 2 && !((p[0] | p[1]) & 0x80)) {
        *ret_value = p[0];
        run = p[1];
        cur->next = p + 2;
    } else {
        CAIRN_TRY(quick_uvarint(cur, ret_value));
        CAIRN_TRY(quick_uvarint(cur, &run));
    }
    if (run == 0 || run > most)
        return -CAIRN_EDAMAGED;
    *ret_run = (size_t)run;
    return 0;
}

static int read_runs(struct cairn_cursor *cur, uint64_t *values, size_t count)
{
    uint64_t *const end = values + count;

    while (values < end) {
        uint64_t value;
        size_t run;

        CAIRN_TRY(read_run(cur, (size_t)(end - values), &value, &run));
        for (; run >= 8; run -= 8, values += 8) {
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++)
                values[i] = value;
        }
        for (; run > 0; run--)
            *values++ = value;
    }
    return 0;
}

static int read_delta_runs(struct cairn_cursor *cur, uint64_t *values, size_t count)
{
    uint64_t *const end = values + count;
    uint64_t last = 0;

    while (values < end) {
        uint64_t step;
        size_t run;

        CAIRN_TRY(read_run(cur, (size_t)(end - values), &step, &run));
        step = unzigzag(step);
        for (uint64_t *stop = values + run; values < stop; values++)
            *values = last += step;
    }
    return 0;
}

static int read_values(struct cairn_cursor *cur, uint8_t encoding, uint64_t *values, size_t count)
{
    switch (encoding) {
    case CAIRN_ENC_UVARINT:
        return read_unsigned(cur, values, count);
    case CAIRN_ENC_SVARINT:
    case CAIRN_ENC_DELTA:
        return read_signed(cur, encoding == CAIRN_ENC_DELTA, values, count);
    case CAIRN_ENC_F64:
        return read_doubles(cur, values, count);
    case CAIRN_ENC_RLE:
        return read_runs(cur, values, count);
    default:
        return read_delta_runs(cur, values, count);
    }
}

/* Passes over `count` varints: eight bytes at a time, as long as no varint can be over-long (nine
 * bytes that go on would fill one half of such a word at least). */
static int skip_uvarints(struct cairn_cursor *cur, size_t count)
{
    const uint8_t *p = cur->next;

    while (cur->end - p >= 8) {
        uint64_t word, ends;
        size_t end_count;

        memcpy(&word, p, sizeof(word)); /* in any byte order: they are only counted */
        ends = ~word & UINT64_C(0x8080808080808080);
        end_count = (size_t)((ends >> 7) * UINT64_C(0x0101010101010101) >> 56);
        if (!(ends >> 32) || !(uint32_t)ends || end_count > count)
            break;
        count -= end_count;
        p += 8;
    }
    /* Back to where the varint begins that the last word cut. */
    while (p > cur->next && p[-1] & 0x80)
        p--;
    cur->next = p;
    for (; count > 0; count--) {
        uint64_t value;

        CAIRN_TRY(quick_uvarint(cur, &value));
    }
    return 0;
}

static int skip_runs(struct cairn_cursor *cur, size_t count)
{
    while (count > 0) {
        uint64_t value;
        size_t run;

        CAIRN_TRY(read_run(cur, count, &value, &run));
        count -= run;
    }
    return 0;
}

static int skip_values(struct cairn_cursor *cur, uint8_t encoding, size_t count)
{
    struct cairn_span skipped;

    switch (encoding) {
    case CAIRN_ENC_UVARINT:
    case CAIRN_ENC_SVARINT:
    case CAIRN_ENC_DELTA:
        return skip_uvarints(cur, count);
    case CAIRN_ENC_F64:
        return cairn_cursor_take(cur, count * sizeof(double), &skipped);
    default:
        return skip_runs(cur, count);
    }
}

static bool is_wanted(const struct cairn_table *table, const char *name)
{
    if (!table->wanted)
        return true;
    for (size_t i = 0; table->wanted[i]; i++)
        if (strcmp(table->wanted[i], name) == 0)
            return true;
    return false;
}

/* Room is made by the count of rows once the column's own bytes allow for so many; runs can be of
 * any length, there the limit of a table is the check. */
static int read_column(struct cairn_cursor *cur, struct cairn_table_column *column, size_t count)
{
    struct cairn_span bytes;
    struct cairn_cursor inner;
    bool runs = column->encoding == CAIRN_ENC_RLE || column->encoding == CAIRN_ENC_DELTA_RLE;

    CAIRN_TRY(cairn_cursor_bytes(cur, &bytes));
    if (!runs && count > bytes.size_bytes)
        return -CAIRN_EDAMAGED;
    if (!column->wanted) {
        cairn_cursor_init(&inner, bytes);
        CAIRN_TRY(skip_values(&inner, column->encoding, count));
        return done(&inner);
    }
    /* One at least, for a NULL would say that the column is not there. */
    CAIRN_TRY(cairn_vec_grow((void **)&column->values, &column->cap, count > 0 ? count : 1,
                             sizeof(uint64_t), CAIRN_ROWS_MAX));
    cairn_cursor_init(&inner, bytes);
    CAIRN_TRY(read_values(&inner, column->encoding, column->values, count));
    return done(&inner);
}

static int read_table(struct cairn_cursor *cur, struct cairn_table *table)
{
    size_t column_count;
    uint64_t row_count;

    CAIRN_TRY(cairn_cursor_uvarint32(cur, &table->kind));
    CAIRN_TRY(cairn_cursor_count(cur, 4, &column_count));
    if (column_count == 0 || column_count > CAIRN_COLUMNS_MAX)
        return -CAIRN_EDAMAGED;
    for (size_t i = 0; i < column_count; i++) {
        struct cairn_table_column *column = &table->columns[i];

        CAIRN_TRY(read_name(cur, column->name));
        CAIRN_TRY(read_name(cur, column->unit));
        CAIRN_TRY(cairn_cursor_u8(cur, &column->encoding));
        if (column->encoding > CAIRN_ENC_F64)
            return -CAIRN_ETOONEW;
        column->wanted = is_wanted(table, column->name);
    }
    CAIRN_TRY(cairn_cursor_uvarint(cur, &row_count));
    if (row_count > CAIRN_ROWS_MAX || row_count * column_count > CAIRN_VALUES_MAX)
        return -CAIRN_EDAMAGED;
    for (size_t i = 0; i < column_count; i++)
        CAIRN_TRY(read_column(cur, &table->columns[i], (size_t)row_count));
    CAIRN_TRY(done(cur));
    table->row_count = (size_t)row_count;
    table->column_count = column_count;
    return 0;
}

int cairn_decode_table(struct cairn_span section, struct cairn_table *table)
{
    struct cairn_cursor cur;

    cairn_cursor_init(&cur, section);
    table->row_count = 0;
    table->column_count = 0;
    return inside(read_table(&cur, table));
}

const uint64_t *cairn_table_find(const struct cairn_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].wanted && strcmp(table->columns[i].name, name) == 0)
            return table->columns[i].values;
    }
    return NULL;
}
