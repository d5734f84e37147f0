#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "format.h"
#include "linetable.h"

#define NONE CAIRN_COLUMN_NONE
#define END UINT32_MAX

struct table {
    uint8_t kind;
    const char *bytes;
    size_t size_bytes;
    uint32_t first_line;
};

/* A copy of exactly the table's size: ASan and valgrind see a read past its end. */
static struct cairn_span exact(const struct table *table)
{
    uint8_t *copy = malloc(table->size_bytes ? table->size_bytes : 1);

    memcpy(copy, table->bytes, table->size_bytes);
    return (struct cairn_span){copy, table->size_bytes};
}

static void assert_entries(const struct table *table, const struct cairn_line_entry *want,
                           size_t count, int end_code)
{
    struct cairn_span bytes = exact(table);
    struct cairn_linetable walk;
    struct cairn_line_entry entry;

    cairn_linetable_init(&walk, table->kind, bytes, table->first_line);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(cairn_linetable_next(&walk, &entry), 0);
        assert_memory_equal(&entry, &want[i], sizeof(entry));
    }
    memset(&entry, 77, sizeof(entry));
    assert_int_equal(cairn_linetable_next(&walk, &entry), end_code);
    free((void *)bytes.data);
}

static void test_lnotab_holds_until_the_address_moves(void **state)
{
    /* def f(): / (300 bytes of line 2) / a line 4, then back to line 3 */
    static const struct table table = {CAIRN_LINES_LNOTAB, "\x00\x01\xff\x00\x2d\x02\x06\xff", 8,
                                       1};
    static const struct cairn_line_entry want[] = {
        {0, 255, 2, 2, NONE, NONE},
        {255, 300, 2, 2, NONE, NONE},
        {300, 306, 4, 4, NONE, NONE},
        {306, END, 3, 3, NONE, NONE},
    };
    (void)state;

    assert_entries(&table, want, 4, -CAIRN_EEND);
}

static void test_an_empty_lnotab_is_one_line(void **state)
{
    static const struct table table = {CAIRN_LINES_LNOTAB, "", 0, 7};
    static const struct cairn_line_entry want[] = {{0, END, 7, 7, NONE, NONE}};
    (void)state;

    assert_entries(&table, want, 1, -CAIRN_EEND);
}

static void test_pep626_may_have_no_line(void **state)
{
    static const struct table table = {CAIRN_LINES_PEP626, "\x04\x01\x00\x05\x02\x80\x06\xfe", 8,
                                       10};
    static const struct cairn_line_entry want[] = {
        {0, 4, 11, 11, NONE, NONE},
        {4, 6, 0, 0, NONE, NONE},
        {6, 12, 14, 14, NONE, NONE}, /* the empty entry moved the line all the same */
    };
    (void)state;

    assert_entries(&table, want, 3, -CAIRN_EEND);
}

static void test_location_has_five_forms(void **state)
{
    static const struct table table = {CAIRN_LINES_LOCATION,
                                       "\x80\x35"                 /* short: column 3 to 8 */
                                       "\xdd\x04\x0a"             /* line + 1, 6 code units */
                                       "\xe8\x03"                 /* no columns, line - 1 */
                                       "\xf0\x42\x01\x02\x05\x09" /* long: + 33, over 2 lines */
                                       "\xf8"                     /* no place */
                                       "\xd0\x00\xff",            /* line + 0 */
                                       17, 5};
    static const struct cairn_line_entry want[] = {
        {0, 2, 5, 5, 3, 8},     {2, 14, 6, 6, 4, 10},       {14, 16, 5, 5, NONE, NONE},
        {16, 18, 38, 40, 4, 8}, {18, 20, 0, 0, NONE, NONE}, {20, 22, 38, 38, 0, 255},
    };
    (void)state;

    assert_entries(&table, want, 6, -CAIRN_EEND);
}

static void test_what_does_not_fit_is_damaged(void **state)
{
    static const struct table tables[] = {
        {CAIRN_LINES_LNOTAB, "\x02", 1, 1},
        {CAIRN_LINES_PEP626, "\x02", 1, 1},
        {CAIRN_LINES_LOCATION, "\x00", 1, 1},     /* no entry begins so */
        {CAIRN_LINES_LOCATION, "\x80", 1, 1},     /* its column is missing */
        {CAIRN_LINES_LOCATION, "\xd0\x01", 2, 1}, /* its end column is */
        {CAIRN_LINES_LOCATION, "\xe8", 1, 1},
        {CAIRN_LINES_LOCATION, "\xe8\x41", 2, 1},                     /* says that more follows */
        {CAIRN_LINES_LOCATION, "\xe8\x80", 2, 1},                     /* the next entry's byte */
        {CAIRN_LINES_LOCATION, "\xe8\x7f\x7f\x7f\x7f\x7f\x04", 7, 1}, /* a 33rd bit */
        {CAIRN_LINES_LOCATION, "\xf0\x02\x00\x01", 4, 1},
        {9, "\x00\x00", 2, 1},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        assert_entries(&tables[i], NULL, 0, -CAIRN_EDAMAGED);
}

static void test_lines_out_of_range_are_none(void **state)
{
    static const struct table below = {CAIRN_LINES_PEP626, "\x02\xfe\x02\x05", 4, 1};
    static const struct cairn_line_entry want[] = {
        {0, 2, 0, 0, NONE, NONE}, /* line -1 */
        {2, 4, 4, 4, NONE, NONE}, /* and on from there */
    };
    static const struct table above = {CAIRN_LINES_LOCATION, "\xe8\x02", 2, UINT32_MAX};
    static const struct cairn_line_entry none[] = {{0, 2, 0, 0, NONE, NONE}};
    (void)state;

    assert_entries(&below, want, 2, -CAIRN_EEND);
    assert_entries(&above, none, 1, -CAIRN_EEND);
}

static void test_an_instruction_is_found(void **state)
{
    static const struct table table = {CAIRN_LINES_PEP626, "\x04\x01\x06\x02", 4, 10};
    static const struct {
        int64_t offset_bytes;
        int code;
        uint32_t line;
    } cases[] = {
        {-1, 0, 10},
        {0, 0, 11},
        {3, 0, 11},
        {4, 0, 13},
        {9, 0, 13},
        {10, -CAIRN_EEND, 77},
        {INT64_MAX, -CAIRN_EEND, 77},
    };
    struct cairn_span bytes = exact(&table);
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_line_entry entry = {.line = 77};

        assert_int_equal(cairn_linetable_find(table.kind, bytes, table.first_line,
                                              cases[i].offset_bytes, &entry),
                         cases[i].code);
        assert_int_equal(entry.line, cases[i].line);
    }
    free((void *)bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lnotab_holds_until_the_address_moves),
        cmocka_unit_test(test_an_empty_lnotab_is_one_line),
        cmocka_unit_test(test_pep626_may_have_no_line),
        cmocka_unit_test(test_location_has_five_forms),
        cmocka_unit_test(test_what_does_not_fit_is_damaged),
        cmocka_unit_test(test_lines_out_of_range_are_none),
        cmocka_unit_test(test_an_instruction_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
