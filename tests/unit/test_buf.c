#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "buf.h"
#include "err.h"

static void assert_holds(const struct cairn_buf *buf)
{
    assert_true(buf->size_bytes <= buf->cap_bytes);
    assert_true(buf->cap_bytes <= buf->max_bytes);
    assert_int_equal(buf->data == NULL, buf->cap_bytes == 0);
}

static void test_what_is_appended_is_there_in_order(void **state)
{
    struct cairn_buf buf;

    (void)state;
    cairn_buf_init(&buf, 1000);
    assert_holds(&buf);
    assert_int_equal(cairn_buf_add(&buf, NULL, 0), 0);
    assert_int_equal(cairn_buf_add_str(&buf, ""), 0);
    assert_int_equal(buf.size_bytes, 0);
    assert_int_equal(cairn_buf_add(&buf, "a\0b", 3), 0);
    assert_int_equal(cairn_buf_add_str(&buf, "cd"), 0);
    assert_int_equal(cairn_buf_printf(&buf, "%d%s", 12, "e"), 0);
    assert_int_equal(cairn_buf_printf(&buf, "%s", ""), 0);
    assert_holds(&buf);
    assert_int_equal(buf.size_bytes, 8);
    assert_memory_equal(cairn_buf_cstr(&buf), "a\0bcd12e", 9);
    assert_ptr_equal(cairn_buf_span(&buf).data, buf.data);
    assert_int_equal(cairn_buf_span(&buf).size_bytes, 8);
    cairn_buf_release(&buf);
    assert_holds(&buf);
    assert_int_equal(cairn_buf_add_str(&buf, "again"), 0);
    assert_string_equal(cairn_buf_cstr(&buf), "again");
    cairn_buf_release(&buf);
}

static void test_numbers_come_back_through_a_cursor(void **state)
{
    /* Both sides of every change of length. */
    static const uint64_t values[] = {
        0,          1,
        127,        128,
        16383,      16384,
        UINT32_MAX, (uint64_t)UINT32_MAX + 1,
        INT64_MAX,  (uint64_t)INT64_MAX + 1,
        UINT64_MAX,
    };
    struct cairn_cursor cur;
    struct cairn_buf buf;

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        uint64_t unsigned_value, fixed64;
        int64_t signed_value;
        uint32_t fixed32;
        uint16_t fixed16;
        uint8_t fixed8;
        struct cairn_span span;

        cairn_buf_init(&buf, 100);
        cairn_buf_uvarint(&buf, values[i]);
        cairn_buf_svarint(&buf, (int64_t)values[i]);
        cairn_buf_u8(&buf, (uint8_t)values[i]);
        cairn_buf_u16(&buf, (uint16_t)values[i]);
        cairn_buf_u32(&buf, (uint32_t)values[i]);
        cairn_buf_u64(&buf, values[i]);
        cairn_buf_bytes(&buf, (struct cairn_span){(const uint8_t *)"xyz", 3});
        cairn_buf_bytes(&buf, (struct cairn_span){NULL, 0});
        assert_int_equal(buf.code, 0);

        cairn_cursor_init(&cur, cairn_buf_span(&buf));
        assert_int_equal(cairn_cursor_uvarint(&cur, &unsigned_value), 0);
        assert_int_equal(cairn_cursor_svarint(&cur, &signed_value), 0);
        assert_int_equal(cairn_cursor_u8(&cur, &fixed8), 0);
        assert_int_equal(cairn_cursor_u16(&cur, &fixed16), 0);
        assert_int_equal(cairn_cursor_u32(&cur, &fixed32), 0);
        assert_int_equal(cairn_cursor_u64(&cur, &fixed64), 0);
        assert_int_equal(unsigned_value, values[i]);
        assert_true(signed_value == (int64_t)values[i]);
        assert_int_equal(fixed8, (uint8_t)values[i]);
        assert_int_equal(fixed16, (uint16_t)values[i]);
        assert_int_equal(fixed32, (uint32_t)values[i]);
        assert_int_equal(fixed64, values[i]);
        assert_int_equal(cairn_cursor_bytes(&cur, &span), 0);
        assert_int_equal(span.size_bytes, 3);
        assert_memory_equal(span.data, "xyz", 3);
        assert_int_equal(cairn_cursor_bytes(&cur, &span), 0);
        assert_int_equal(span.size_bytes, 0);
        assert_int_equal(cairn_cursor_left_bytes(&cur), 0);
        cairn_buf_release(&buf);
    }
}

static void test_numbers_have_their_documented_bytes(void **state)
{
    struct cairn_buf buf;

    (void)state;
    cairn_buf_init(&buf, 100);
    cairn_buf_u16(&buf, 0x0102);
    cairn_buf_u32(&buf, 0x03040506);
    cairn_buf_uvarint(&buf, 300);
    cairn_buf_svarint(&buf, -2);
    assert_int_equal(buf.size_bytes, 9);
    assert_memory_equal(buf.data, "\x02\x01\x06\x05\x04\x03\xac\x02\x03", 9);
    cairn_buf_release(&buf);
}

static void test_the_ceiling_is_kept_to_the_byte(void **state)
{
    struct cairn_buf buf;

    (void)state;
    cairn_buf_init(&buf, 10);
    assert_int_equal(cairn_buf_printf(&buf, "%s", "0123456789"), 0); /* its NUL needs no room */
    assert_int_equal(buf.cap_bytes, 10);
    assert_int_equal(cairn_buf_add(&buf, NULL, 0), 0);
    assert_int_equal(cairn_buf_u8(&buf, 1), -CAIRN_ELIMIT);
    assert_string_equal(cairn_buf_cstr(&buf), "0123456789");
    assert_holds(&buf);
    cairn_buf_release(&buf);

    cairn_buf_init(&buf, 0);
    assert_string_equal(cairn_buf_cstr(&buf), "");
    assert_int_equal(cairn_buf_reserve(&buf, 0), 0);
    assert_int_equal(cairn_buf_u8(&buf, 1), -CAIRN_ELIMIT);
    cairn_buf_release(&buf);

    cairn_buf_init(&buf, SIZE_MAX);
    assert_int_equal(cairn_buf_u8(&buf, 1), 0);
    assert_int_equal(cairn_buf_reserve(&buf, SIZE_MAX), -CAIRN_ELIMIT);
    assert_int_equal(buf.size_bytes, 1);
    cairn_buf_release(&buf);
}

static void test_the_first_failure_sticks_and_nothing_follows_it(void **state)
{
    struct cairn_buf buf;

    (void)state;
    cairn_buf_init(&buf, 5);
    assert_int_equal(cairn_buf_add_str(&buf, "abc"), 0);
    assert_int_equal(cairn_buf_add_str(&buf, "def"), -CAIRN_ELIMIT);
    /* This one would fit, but would stand where "def" was meant to be. */
    assert_int_equal(cairn_buf_add_str(&buf, "g"), -CAIRN_ELIMIT);
    assert_int_equal(cairn_buf_printf(&buf, "%d", 1), -CAIRN_ELIMIT);
    assert_int_equal(buf.code, -CAIRN_ELIMIT);
    assert_string_equal(cairn_buf_cstr(&buf), "abc");
    cairn_buf_clear(&buf);
    assert_int_equal(buf.code, 0);
    assert_int_equal(cairn_buf_add_str(&buf, "g"), 0);
    assert_string_equal(cairn_buf_cstr(&buf), "g");

    /* The length of a span does not stay behind without the span. */
    assert_int_equal(cairn_buf_bytes(&buf, (struct cairn_span){(const uint8_t *)"wxyz", 4}),
                     -CAIRN_ELIMIT);
    assert_string_equal(cairn_buf_cstr(&buf), "g");
    cairn_buf_release(&buf);
    assert_int_equal(buf.code, 0);
}

static void test_detach_hands_the_bytes_over(void **state)
{
    struct cairn_buf buf;
    size_t size_bytes = 77;
    uint8_t *data;

    (void)state;
    cairn_buf_init(&buf, 100);
    assert_null(cairn_buf_detach(&buf, &size_bytes));
    assert_int_equal(size_bytes, 0);
    cairn_buf_add_str(&buf, "abc");
    data = cairn_buf_detach(&buf, &size_bytes);
    assert_int_equal(size_bytes, 3);
    assert_memory_equal(data, "abc", 3);
    assert_holds(&buf);
    assert_int_equal(buf.size_bytes, 0);
    assert_int_equal(cairn_buf_add_str(&buf, "def"), 0);
    assert_memory_equal(data, "abc", 3);
    free(data);
    cairn_buf_release(&buf);
}

/* Appends in every way there is, 700 bytes and more. */
static void write_everything(struct cairn_buf *buf)
{
    for (uint64_t i = 0; i < 50; i++) {
        cairn_buf_uvarint(buf, i << 30);
        cairn_buf_printf(buf, "line %d\n", (int)i);
        cairn_buf_bytes(buf, (struct cairn_span){(const uint8_t *)"span", 4});
        cairn_buf_u64(buf, i);
    }
}

static void test_short_memory_leaves_a_prefix(void **state)
{
    struct cairn_buf whole;

    (void)state;
    cairn_buf_init(&whole, 10000);
    write_everything(&whole);
    assert_int_equal(whole.code, 0);
    for (long n = 0;; n++) {
        struct cairn_buf buf;
        bool failed;

        cairn_buf_init(&buf, 10000);
        cairn_alloc_fail_after(n);
        write_everything(&buf);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);

        assert_holds(&buf);
        assert_int_equal(buf.code, failed ? -CAIRN_ENOMEM : 0);
        assert_int_equal(buf.size_bytes < whole.size_bytes, failed);
        if (buf.size_bytes > 0)
            assert_memory_equal(buf.data, whole.data, buf.size_bytes);
        cairn_buf_release(&buf);
        if (!failed) {
            assert_true(n > 3); /* something was there to fail */
            break;
        }
    }
    cairn_buf_release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_appended_is_there_in_order),
        cmocka_unit_test(test_numbers_come_back_through_a_cursor),
        cmocka_unit_test(test_numbers_have_their_documented_bytes),
        cmocka_unit_test(test_the_ceiling_is_kept_to_the_byte),
        cmocka_unit_test(test_the_first_failure_sticks_and_nothing_follows_it),
        cmocka_unit_test(test_detach_hands_the_bytes_over),
        cmocka_unit_test(test_short_memory_leaves_a_prefix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
