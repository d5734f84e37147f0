#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cursor.h"
#include "err.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Exactly as large as the input: valgrind and ASan then see a read past its end. */
static uint8_t *exact_copy(const char *bytes, size_t size_bytes)
{
    uint8_t *exact = malloc(size_bytes);

    assert_true(exact != NULL || size_bytes == 0);
    if (size_bytes > 0)
        memcpy(exact, bytes, size_bytes);
    return exact;
}

static void test_an_empty_span_has_an_end_and_nothing_else(void **state)
{
    struct cairn_cursor cur;
    struct cairn_span span = {NULL, 77};
    uint8_t u8 = 77;
    uint64_t u64 = 77;
    size_t count = 77;

    (void)state;
    cairn_cursor_init(&cur, (struct cairn_span){NULL, 0});
    assert_non_null(cur.start);
    assert_int_equal(cairn_cursor_left_bytes(&cur), 0);
    assert_int_equal(cairn_cursor_offset_bytes(&cur), 0);
    assert_int_equal(cairn_cursor_u8(&cur, &u8), -CAIRN_EEND);
    assert_int_equal(cairn_cursor_uvarint(&cur, &u64), -CAIRN_EEND);
    assert_int_equal(cairn_cursor_count(&cur, 1, &count), -CAIRN_EEND);
    assert_int_equal(cairn_cursor_bytes(&cur, &span), -CAIRN_EEND);
    assert_int_equal(cairn_cursor_take(&cur, 1, &span), -CAIRN_EEND);
    assert_int_equal(u8, 77);
    assert_int_equal(u64, 77);
    assert_int_equal(count, 77);
    assert_int_equal(span.size_bytes, 77);
    assert_int_equal(cairn_cursor_take(&cur, 0, &span), 0); /* nothing was asked for */
    assert_int_equal(span.size_bytes, 0);
}

static void test_fixed_widths_are_little_endian(void **state)
{
    uint8_t *exact = exact_copy("\x01\x03\x02\x07\x06\x05\x04\xff\xee\xdd\xcc\xbb\xaa\x99\x88", 15);
    struct cairn_cursor cur;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;

    (void)state;
    cairn_cursor_init(&cur, (struct cairn_span){exact, 15});
    assert_int_equal(cairn_cursor_u8(&cur, &u8), 0);
    assert_int_equal(cairn_cursor_u16(&cur, &u16), 0);
    assert_int_equal(cairn_cursor_u32(&cur, &u32), 0);
    assert_int_equal(cairn_cursor_u64(&cur, &u64), 0);
    assert_int_equal(u8, 0x01);
    assert_int_equal(u16, 0x0203);
    assert_int_equal(u32, 0x04050607);
    assert_int_equal(u64, 0x8899aabbccddeeffu);
    assert_int_equal(cairn_cursor_left_bytes(&cur), 0);
    assert_int_equal(cairn_cursor_offset_bytes(&cur), 15);
    free(exact);
}

static void test_fixed_widths_are_whole_or_refused(void **state)
{
    (void)state;
    for (size_t size_bytes = 0; size_bytes < 8; size_bytes++) {
        uint8_t *exact = exact_copy("\1\1\1\1\1\1\1", size_bytes);
        int code = size_bytes == 0 ? -CAIRN_EEND : -CAIRN_EDAMAGED;
        struct cairn_cursor cur;
        uint16_t u16 = 77;
        uint32_t u32 = 77;
        uint64_t u64 = 77;

        cairn_cursor_init(&cur, (struct cairn_span){exact, size_bytes});
        assert_int_equal(cairn_cursor_u64(&cur, &u64), code);
        assert_int_equal(u64, 77);
        if (size_bytes < 4) {
            assert_int_equal(cairn_cursor_u32(&cur, &u32), code);
            assert_int_equal(u32, 77);
        }
        if (size_bytes < 2) {
            assert_int_equal(cairn_cursor_u16(&cur, &u16), code);
            assert_int_equal(u16, 77);
        }
        assert_ptr_equal(cur.next, cur.start);
        free(exact);
    }
}

static void test_uvarint_is_whole_or_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size_bytes;
        int code;
        uint64_t value;
    } cases[] = {
        {"", 0, -CAIRN_EEND, 77},
        {"\x00", 1, 0, 0},
        {"\x7f", 1, 0, 127},
        {"\x80", 1, -CAIRN_EDAMAGED, 77}, /* says that more follows */
        {"\x80\x01", 2, 0, 128},
        {"\x81\x80\x00", 3, 0, 1}, /* padded */
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, 0, 0},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, -CAIRN_EDAMAGED, 77},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, 0, UINT64_MAX},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, -CAIRN_EDAMAGED, 77}, /* a 65th bit */
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9, -CAIRN_EDAMAGED, 77},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *exact = exact_copy(cases[i].bytes, cases[i].size_bytes);
        struct cairn_cursor cur;
        uint64_t value = 77; /* what a failure must leave alone */

        cairn_cursor_init(&cur, (struct cairn_span){exact, cases[i].size_bytes});
        assert_int_equal(cairn_cursor_uvarint(&cur, &value), cases[i].code);
        assert_int_equal(value, cases[i].value);
        assert_int_equal(cairn_cursor_left_bytes(&cur),
                         cases[i].code < 0 ? cases[i].size_bytes : 0);
        free(exact);
    }
}

static void test_uvarint32_refuses_a_33rd_bit(void **state)
{
    uint8_t *exact = exact_copy("\xff\xff\xff\xff\x0f\x80\x80\x80\x80\x10", 10);
    struct cairn_cursor cur;
    uint32_t value = 0;

    (void)state;
    cairn_cursor_init(&cur, (struct cairn_span){exact, 10});
    assert_int_equal(cairn_cursor_uvarint32(&cur, &value), 0);
    assert_int_equal(value, UINT32_MAX);
    value = 77;
    assert_int_equal(cairn_cursor_uvarint32(&cur, &value), -CAIRN_EDAMAGED);
    assert_int_equal(value, 77);
    assert_int_equal(cairn_cursor_offset_bytes(&cur), 5);
    free(exact);
}

static void test_svarint_is_zigzag(void **state)
{
    static const struct {
        const char *bytes;
        size_t size_bytes;
        int64_t value;
    } cases[] = {
        {"\x00", 1, 0},
        {"\x01", 1, -1},
        {"\x02", 1, 1},
        {"\x03", 1, -2},
        {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, INT64_MAX},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, INT64_MIN},
    };
    struct cairn_cursor cur;
    int64_t value = 77;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *exact = exact_copy(cases[i].bytes, cases[i].size_bytes);

        cairn_cursor_init(&cur, (struct cairn_span){exact, cases[i].size_bytes});
        assert_int_equal(cairn_cursor_svarint(&cur, &value), 0);
        assert_true(value == cases[i].value);
        free(exact);
    }
    value = 77;
    assert_int_equal(cairn_cursor_svarint(&cur, &value), -CAIRN_EEND);
    assert_int_equal(value, 77);
}

static void test_take_borrows_what_is_there(void **state)
{
    uint8_t *exact = exact_copy("abcde", 5);
    struct cairn_cursor cur;
    struct cairn_span span = {NULL, 77};

    (void)state;
    cairn_cursor_init(&cur, (struct cairn_span){exact, 5});
    assert_int_equal(cairn_cursor_take(&cur, 6, &span), -CAIRN_EDAMAGED);
    assert_int_equal(cairn_cursor_take(&cur, UINT64_MAX, &span), -CAIRN_EDAMAGED);
    assert_null(span.data);
    assert_int_equal(cairn_cursor_take(&cur, 2, &span), 0);
    assert_ptr_equal(span.data, exact);
    assert_int_equal(span.size_bytes, 2);
    assert_int_equal(cairn_cursor_take(&cur, 3, &span), 0);
    assert_ptr_equal(span.data, exact + 2);
    assert_int_equal(cairn_cursor_take(&cur, 1, &span), -CAIRN_EEND);
    free(exact);
}

static void test_bytes_behind_their_length_are_whole_or_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size_bytes;
        int code;
        const char *span;
    } cases[] = {
        {"\x00", 1, 0, ""},
        {"\x02xy", 3, 0, "xy"},
        {"\x02xyz", 4, 0, "xy"},
        {"\x02x", 2, -CAIRN_EDAMAGED, NULL},
        {"\x02", 1, -CAIRN_EDAMAGED, NULL}, /* a length and then the end: no ordinary one */
        {"\x80", 1, -CAIRN_EDAMAGED, NULL},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xy", 12, -CAIRN_EDAMAGED, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *exact = exact_copy(cases[i].bytes, cases[i].size_bytes);
        struct cairn_span span = {NULL, 77};
        struct cairn_cursor cur;

        cairn_cursor_init(&cur, (struct cairn_span){exact, cases[i].size_bytes});
        assert_int_equal(cairn_cursor_bytes(&cur, &span), cases[i].code);
        if (cases[i].code == 0) {
            assert_int_equal(span.size_bytes, strlen(cases[i].span));
            assert_memory_equal(span.data, cases[i].span, span.size_bytes);
            assert_ptr_equal(cur.next, span.data + span.size_bytes);
        } else {
            assert_int_equal(span.size_bytes, 77);
            assert_ptr_equal(cur.next, cur.start);
        }
        free(exact);
    }
}

static void test_a_count_is_believed_against_what_is_left(void **state)
{
    static const struct {
        const char *bytes;
        size_t size_bytes, min_bytes;
        int code;
        size_t count;
    } cases[] = {
        {"\x00", 1, 1, 0, 0},
        {"\x03xxx", 4, 1, 0, 3},
        {"\x04xxx", 4, 1, -CAIRN_EDAMAGED, 77},
        {"\x01xxx", 4, 3, 0, 1},
        {"\x01xx", 3, 3, -CAIRN_EDAMAGED, 77},
        {"\x02xxxxx", 6, 3, -CAIRN_EDAMAGED, 77},
        {"\x01", 1, SIZE_MAX, -CAIRN_EDAMAGED, 77},
        /* 2^63 items of 2 bytes: the product wraps to 0 */
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01xx", 12, 2, -CAIRN_EDAMAGED, 77},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *exact = exact_copy(cases[i].bytes, cases[i].size_bytes);
        struct cairn_cursor cur;
        size_t count = 77;

        cairn_cursor_init(&cur, (struct cairn_span){exact, cases[i].size_bytes});
        assert_int_equal(cairn_cursor_count(&cur, cases[i].min_bytes, &count), cases[i].code);
        assert_int_equal(count, cases[i].count);
        assert_int_equal(cur.next == cur.start, cases[i].code < 0);
        free(exact);
    }
}

static void test_fail_names_the_place(void **state)
{
    struct cairn_cursor cur;
    struct cairn_err err;
    uint8_t byte;

    (void)state;
    cairn_cursor_init(&cur, (struct cairn_span){(const uint8_t *)"abc", 3});
    cairn_cursor_u8(&cur, &byte);
    assert_int_equal(cairn_cursor_fail(&cur, -CAIRN_EDAMAGED, "the index", &err), -CAIRN_EDAMAGED);
    assert_int_equal(err.code, -CAIRN_EDAMAGED);
    assert_string_equal(err.where, "the index");
    assert_string_equal(err.text, "the index, at offset 1 of 3 bytes: the file is damaged");
    assert_int_equal(cairn_cursor_fail(&cur, -CAIRN_EEND, "the index", &err), -CAIRN_EEND);
    assert_string_equal(err.text, "the index: the bytes end at offset 1, before it");
    assert_int_equal(cairn_cursor_fail(&cur, -CAIRN_EEND, "the index", NULL), -CAIRN_EEND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_span_has_an_end_and_nothing_else),
        cmocka_unit_test(test_fixed_widths_are_little_endian),
        cmocka_unit_test(test_fixed_widths_are_whole_or_refused),
        cmocka_unit_test(test_uvarint_is_whole_or_refused),
        cmocka_unit_test(test_uvarint32_refuses_a_33rd_bit),
        cmocka_unit_test(test_svarint_is_zigzag),
        cmocka_unit_test(test_take_borrows_what_is_there),
        cmocka_unit_test(test_bytes_behind_their_length_are_whole_or_refused),
        cmocka_unit_test(test_a_count_is_believed_against_what_is_left),
        cmocka_unit_test(test_fail_names_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
