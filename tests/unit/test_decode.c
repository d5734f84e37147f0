/* Sections put together by hand: what decode.h promises about bytes nobody vouches for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode.h"
#include "err.h"
#include "rng.h"

struct bytes {
    const char *data;
    size_t size_bytes;
};

#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

/* In a block exactly as large, so that a read past the end is seen. */
static uint8_t *exact(struct bytes bytes, struct cairn_span *ret_span)
{
    uint8_t *copy = malloc(bytes.size_bytes);

    if (bytes.size_bytes > 0)
        memcpy(copy, bytes.data, bytes.size_bytes);
    *ret_span = (struct cairn_span){copy, bytes.size_bytes};
    return copy;
}

/* Reads one entry as `kind`. */
static int read_entry(uint32_t kind, struct cairn_span section)
{
    struct cairn_code_def code;
    struct cairn_module_def module;
    struct cairn_location_def location;
    struct cairn_stack_def stack;
    struct cairn_track_def track;
    struct cairn_linetable_def lines;
    struct cairn_span text, value;
    struct cairn_dict dict;
    uint64_t number;
    uint32_t id;

    cairn_dict_init(&dict, section);
    switch (kind) {
    case CAIRN_SECTION_STRINGS:
        return cairn_dict_string(&dict, &id, &text);
    case CAIRN_SECTION_CODES:
        return cairn_dict_code(&dict, &id, &code);
    case CAIRN_SECTION_LINETABLES:
        return cairn_dict_linetable(&dict, &lines);
    case CAIRN_SECTION_MODULES:
        return cairn_dict_module(&dict, &id, &module);
    case CAIRN_SECTION_LOCATIONS:
        return cairn_dict_location(&dict, &id, &location);
    case CAIRN_SECTION_STACKS:
        return cairn_dict_stack(&dict, &id, &stack);
    case CAIRN_SECTION_TRACKS:
        return cairn_dict_track(&dict, &id, &track);
    case CAIRN_SECTION_ENV:
        return cairn_dict_env(&dict, &text, &value);
    default:
        return cairn_dict_counter(&dict, &text, &number);
    }
}

static void test_entries_are_judged(void **state)
{
    static const struct {
        uint32_t kind;
        int code;
        struct bytes bytes;
    } cases[] = {
        {CAIRN_SECTION_STRINGS, -CAIRN_EEND, BYTES("")},
        {CAIRN_SECTION_STRINGS, 0, BYTES("\x01\x01\x02hi")},
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\x01")},
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\x01\x01")},
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\x01\x01\x03hi")},
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\x00\x01\x02hi")}, /* id 0 */
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\x01\x00\x02hi")}, /* an empty run */
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\x01\x7f\x02hi")}, /* more than there is */
        {CAIRN_SECTION_STRINGS, 0, BYTES("\xff\xff\xff\xff\x0f\x01\x00")}, /* the last id */
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\xff\xff\xff\xff\x0f\x02\x00\x00")},
        {CAIRN_SECTION_STRINGS, -CAIRN_EDAMAGED, BYTES("\x80\x80\x80\x80\x10\x01\x00")},
        {CAIRN_SECTION_CODES, 0, BYTES("\x01\x01\x01\x02\x03\x04")},
        {CAIRN_SECTION_CODES, -CAIRN_EDAMAGED, BYTES("\x01\x01\x01\x02\x03")},
        {CAIRN_SECTION_CODES, -CAIRN_EDAMAGED, BYTES("\x01\x01\x01\x02\x03\x80\x80\x80\x80\x10")},
        {CAIRN_SECTION_LINETABLES, 0, BYTES("\x01\x03\x01x")},
        {CAIRN_SECTION_LINETABLES, -CAIRN_EDAMAGED, BYTES("\x00\x03\x01x")}, /* of no code */
        {CAIRN_SECTION_LINETABLES, -CAIRN_EDAMAGED, BYTES("\x01\x04\x01x")}, /* of no kind */
        {CAIRN_SECTION_MODULES, 0, BYTES("\x01\x01\x01\x02xy")},
        {CAIRN_SECTION_MODULES, -CAIRN_EDAMAGED,
         BYTES("\x01\x01\x01\x41"
               "0123456789012345678901234567890123456789012345678901234567890123x")},
        {CAIRN_SECTION_LOCATIONS, 0, BYTES("\x01\x01\x01\x05\x01")},
        {CAIRN_SECTION_LOCATIONS, 0, BYTES("\x01\x01\x03\x00")}, /* the label "" */
        {CAIRN_SECTION_LOCATIONS, -CAIRN_EDAMAGED, BYTES("\x01\x01\x01\x00\x01")}, /* no code */
        {CAIRN_SECTION_LOCATIONS, -CAIRN_EDAMAGED, BYTES("\x01\x01\x00\x05\x01")}, /* no kind */
        {CAIRN_SECTION_LOCATIONS, -CAIRN_EDAMAGED, BYTES("\x01\x01\x04\x05\x01")},
        {CAIRN_SECTION_STACKS, 0, BYTES("\x05\x01\x05\x02")},
        {CAIRN_SECTION_STACKS, 0, BYTES("\x05\x01\x01\x02")},
        {CAIRN_SECTION_STACKS, -CAIRN_EDAMAGED, BYTES("\x05\x01\x00\x02")}, /* its own parent */
        {CAIRN_SECTION_STACKS, -CAIRN_EDAMAGED, BYTES("\x05\x01\x06\x02")}, /* parent -1 */
        {CAIRN_SECTION_STACKS, -CAIRN_EDAMAGED, BYTES("\x05\x01\x01\x00")}, /* location 0 */
        {CAIRN_SECTION_STACKS, -CAIRN_EDAMAGED, BYTES("\x05\x01\x01\x01")}, /* location -1 */
        {CAIRN_SECTION_TRACKS, 0, BYTES("\x02\x01\x01\x01\x00\x00\x00\x00\x00\x00")},
        {CAIRN_SECTION_TRACKS, 0, BYTES("\x02\x01\x01\x01\x00\x00\x00\x00\x00\x09")}, /* birth */
        {CAIRN_SECTION_TRACKS, -CAIRN_EDAMAGED, BYTES("\x02\x01\x01\x01\x00\x00\x00\x00\x00")},
        {CAIRN_SECTION_TRACKS, -CAIRN_EDAMAGED, BYTES("\x02\x01\x01\x02\x00\x00\x00\x00\x00\x00")},
        {CAIRN_SECTION_TRACKS, -CAIRN_EDAMAGED, BYTES("\x02\x01\x00\x01\x00\x00\x00\x00\x00\x00")},
        {CAIRN_SECTION_TRACKS, -CAIRN_EDAMAGED, BYTES("\x02\x01\x06\x01\x00\x00\x00\x00\x00\x00")},
        {CAIRN_SECTION_ENV, 0, BYTES("\x01k\x00")},
        {CAIRN_SECTION_ENV, -CAIRN_EDAMAGED, BYTES("\x01k")},
        {CAIRN_SECTION_ENV, -CAIRN_EEND, BYTES("")},
        {CAIRN_SECTION_COUNTERS, 0, BYTES("\x01n\x07")},
        {CAIRN_SECTION_COUNTERS, -CAIRN_EDAMAGED, BYTES("\x01n\xff")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_span section;
        uint8_t *copy = exact(cases[i].bytes, &section);

        if (read_entry(cases[i].kind, section) != cases[i].code)
            fail_msg("case %zu", i);
        free(copy);
    }
}

static void test_tables_are_judged(void **state)
{
    static const struct {
        int code;
        struct bytes bytes;
    } cases[] = {
        /* kind, columns, {name, unit, encoding}, rows, values */
        {0, BYTES("\x01\x01\x01"
                  "a\x00\x00\x02\x02\x05\x06")},
        {0, BYTES("\x01\x01\x01"
                  "a\x00\x00\x00\x00")}, /* no rows */
        {-CAIRN_EDAMAGED, BYTES("")},
        {-CAIRN_EDAMAGED, BYTES("\x01\x00\x00")}, /* no columns */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "\x00\x00\x00\x02\x02\x05\x06")}, /* NUL in a name */
        {-CAIRN_ETOONEW, BYTES("\x01\x01\x01"
                               "a\x00\x06\x02\x02\x05\x06")}, /* encoding 6 */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x00\x03\x02\x05\x06")}, /* a row too many */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x00\x01\x02\x05\x06")}, /* a value too many */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x00\x02\x02\x05\x06x")}, /* and behind it */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x05\x02\x08"
                                "12345678")}, /* half of a double */
        {0, BYTES("\x01\x01\x01"
                  "a\x00\x03\x05\x02\x07\x05")}, /* a run of 5 */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x03\x05\x02\x07\x06")}, /* of 6 for 5 rows */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x03\x05\x02\x07\x04")}, /* of 4 */
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x03\x05\x02\x07\x00")}, /* of none */
        /* 2^22 rows from a run, and one more than may be. */
        {0, BYTES("\x01\x01\x01"
                  "a\x00\x03\x80\x80\x80\x02\x05\x07\x80\x80\x80\x02")},
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x03\x81\x80\x80\x02\x05\x07\x81\x80\x80\x02")},
        {-CAIRN_EDAMAGED, BYTES("\x01\x01\x01"
                                "a\x00\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                "\x02\x07\x05")},
        {-CAIRN_EDAMAGED, BYTES("\x01\xff\xff\x03\x01"
                                "a\x00\x00\x02\x02\x05\x06")}, /* columns */
    };
    struct cairn_table table; /* reused: nothing may stay of the one before */

    (void)state;
    cairn_table_init(&table);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_span section;
        uint8_t *copy = exact(cases[i].bytes, &section);

        if (cairn_decode_table(section, &table) != cases[i].code)
            fail_msg("case %zu", i);
        assert_int_equal(cairn_table_find(&table, "a") != NULL, cases[i].code == 0);
        free(copy);
    }
    cairn_table_release(&table);
}

/* A table of one column "a" with these values, and so many rows of them; its size. */
static size_t table_of(uint8_t *data, uint8_t encoding, uint8_t row_count, const uint8_t *values,
                       uint8_t size_bytes)
{
    const uint8_t head[] = {1, 1, 1, 'a', 0, encoding, row_count, size_bytes};

    memcpy(data, head, sizeof(head));
    memcpy(data + sizeof(head), values, size_bytes);
    return sizeof(head) + size_bytes;
}

/* Whoever leaves a column out must count the same files as damaged as who reads it. Most bytes go
 * on, so that varints of all lengths come up, the over-long ones too. */
static void test_a_column_left_out_is_judged_like_one_that_is_read(void **state)
{
    static const char *const none[] = {NULL};
    struct cairn_table read, left_out;
    unsigned good = 0, damaged = 0;
    uint64_t drawn = 0;
    (void)state;

    cairn_table_init(&read);
    cairn_table_init(&left_out);
    left_out.wanted = none;
    for (unsigned turn = 0; turn < 60000; turn++) {
        uint8_t values[100], data[128], encoding = turn % (CAIRN_ENC_F64 + 1);
        uint8_t size_bytes = (uint8_t)(cairn_rng_at(1, drawn++) % sizeof(values));
        unsigned goes_on = cairn_rng_at(1, drawn++) % 8, ends = 0, pairs;
        struct cairn_span section;
        uint8_t row_count, *copy;
        int code;

        for (uint8_t i = 0; i < size_bytes; i++) {
            uint64_t byte = cairn_rng_at(1, drawn++);

            values[i] = byte % 8 < goes_on ? 0x80 | (byte >> 8 & 0x7f) : byte >> 8 & 1;
            ends += values[i] < 0x80;
        }
        pairs = encoding == CAIRN_ENC_RLE || encoding == CAIRN_ENC_DELTA_RLE;
        row_count = (uint8_t)(encoding == CAIRN_ENC_F64 ? size_bytes / 8 : ends >> pairs);
        row_count += cairn_rng_at(1, drawn++) % 4 == 0;
        section =
            (struct cairn_span){data, table_of(data, encoding, row_count, values, size_bytes)};
        copy = exact((struct bytes){(const char *)data, section.size_bytes}, &section);
        code = cairn_decode_table(section, &read);
        assert_int_equal(cairn_decode_table(section, &left_out), code);
        assert_null(cairn_table_find(&left_out, "a"));
        assert_int_equal(left_out.row_count, read.row_count);
        good += code == 0;
        damaged += code == -CAIRN_EDAMAGED;
        free(copy);
    }
    assert_true(good > 5000 && damaged > 5000);
    cairn_table_release(&read);
    cairn_table_release(&left_out);
}

/* Short and long ones side by side, up to the last byte of the column. */
static void test_values_of_all_lengths_are_read(void **state)
{
    uint8_t data[128], bytes[100];
    struct cairn_table table;
    uint64_t drawn = 0;
    (void)state;

    cairn_table_init(&table);
    for (unsigned turn = 0; turn < 5000; turn++) {
        uint64_t want[10];
        uint8_t size_bytes = 0;
        struct cairn_span section;
        const uint64_t *values;
        uint8_t *copy;

        for (int i = 0; i < 10; i++) {
            uint64_t left;

            want[i] = cairn_rng_at(2, drawn) >> cairn_rng_at(3, drawn) % 64;
            drawn++;
            for (left = want[i]; left >= 0x80; left >>= 7)
                bytes[size_bytes++] = 0x80 | (left & 0x7f);
            bytes[size_bytes++] = (uint8_t)left;
        }
        section.size_bytes = table_of(data, CAIRN_ENC_UVARINT, 10, bytes, size_bytes);
        copy = exact((struct bytes){(const char *)data, section.size_bytes}, &section);
        assert_int_equal(cairn_decode_table(section, &table), 0);
        values = cairn_table_find(&table, "a");
        for (int i = 0; i < 10; i++)
            assert_true(values[i] == want[i]);
        free(copy);
    }
    cairn_table_release(&table);
}

/* Columns of runs are cheap in the file: the rows of all columns together have a ceiling. */
static void test_a_small_table_cannot_ask_for_all_the_memory(void **state)
{
    uint8_t data[512];
    size_t size = 0;
    struct cairn_table table;

    (void)state;
    data[size++] = 1;
    data[size++] = 5;
    for (int i = 0; i < 5; i++) {
        memcpy(data + size,
               "\x01"
               "a\x00\x03",
               4);
        size += 4;
    }
    memcpy(data + size, "\x80\x80\x80\x02", 4);
    size += 4;
    for (int i = 0; i < 5; i++) {
        memcpy(data + size, "\x05\x07\x80\x80\x80\x02", 6);
        size += 6;
    }
    cairn_table_init(&table);
    assert_int_equal(cairn_decode_table((struct cairn_span){data, size}, &table), -CAIRN_EDAMAGED);
    for (size_t i = 0; i < CAIRN_COLUMNS_MAX; i++)
        assert_null(table.columns[i].values);
    cairn_table_release(&table);
}

static void test_ticks_are_judged(void **state)
{
#define SEED "\x01\x00\x00\x00\x00\x00\x00\x00"
    static const struct {
        int code;
        struct bytes bytes;
    } cases[] = {
        /* seed, mean, quantum, before, base, number, count, {missed, run}, delays */
        {0, BYTES(SEED "\x00\x01\x05\x05\x01\x02\x00\x02\x00\x02")},
        {0, BYTES(SEED "\x00\x01\x05\x05\x01\x00")}, /* no ticks */
        {-CAIRN_EDAMAGED, BYTES("")},
        {-CAIRN_EDAMAGED, BYTES(SEED "\x00\x00\x05\x05\x01\x02\x00\x02\x00\x02")}, /* quantum 0 */
        {-CAIRN_EDAMAGED, BYTES(SEED "\x00\x01\x05\x05\x01\x7f\x00\x02\x00\x02")}, /* 127 ticks */
        {-CAIRN_EDAMAGED, BYTES(SEED "\x00\x01\x05\x05\x01\x02\x00\x03\x00\x02")}, /* run of 3 */
        {-CAIRN_EDAMAGED, BYTES(SEED "\x00\x01\x05\x05\x01\x02\x00\x00\x00\x02")}, /* run of 0 */
        {-CAIRN_EDAMAGED, BYTES(SEED "\x00\x01\x05\x05\x01\x02\x00\x02\x00\x01")}, /* backwards */
        {-CAIRN_EDAMAGED,
         BYTES(SEED "\x00\x01\x05\x04\x01\x02\x00\x02\x00\x02")}, /* before `before` */
        {-CAIRN_EDAMAGED, BYTES(SEED "\x00\x01\x05\x05\x01\x02\x00\x02\x00\x02x")},
        /* One tick too many was missed, and a walk over 2^60 of them. */
        {-CAIRN_EDAMAGED, BYTES(SEED "\x01\x01\x05\x05\x01\x01\x81\x80\x80\x08\x01\x00")},
        {-CAIRN_EDAMAGED, BYTES(SEED "\x01\x01\x05\x05\x01\x01"
                                     "\x80\x80\x80\x80\x80\x80\x80\x80\x10\x01\x00")},
        /* The last number there is. */
        {-CAIRN_EDAMAGED, BYTES(SEED "\x00\x01\x05\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                     "\x01\x00\x01\x00")},
    };
    struct cairn_ticks ticks = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_span section;
        uint8_t *copy = exact(cases[i].bytes, &section);

        if (cairn_decode_ticks(section, &ticks) != cases[i].code)
            fail_msg("case %zu", i);
        free(copy);
    }
    cairn_ticks_release(&ticks);
}

/* The numbers of docs/format.md, worked out by hand: they must never change. */
static void test_the_schedule_is_the_one_of_the_page(void **state)
{
    (void)state;
    assert_true(cairn_tick_interval(0, 0, 1000) == 500 + 883);
    for (uint64_t k = 0; k < 1000; k++)
        assert_in_range(cairn_tick_interval(42, k, 1000001), 500000, 1500000);
    assert_true(cairn_tick_interval(1, 1, INT64_MAX) >= INT64_MAX / 2);
    assert_int_equal(cairn_tick_interval(1, 1, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_judged),
        cmocka_unit_test(test_tables_are_judged),
        cmocka_unit_test(test_a_column_left_out_is_judged_like_one_that_is_read),
        cmocka_unit_test(test_values_of_all_lengths_are_read),
        cmocka_unit_test(test_a_small_table_cannot_ask_for_all_the_memory),
        cmocka_unit_test(test_ticks_are_judged),
        cmocka_unit_test(test_the_schedule_is_the_one_of_the_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
