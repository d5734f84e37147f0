#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pprof_units.h"

static void assert_label(int64_t value, const char *from, const char *to, const char *expected)
{
    struct cairn_buf out;

    cairn_buf_init(&out, 4096);
    cairn_pprof_label(&out, value, from, to);
    assert_string_equal(cairn_buf_cstr(&out), expected);
    cairn_buf_release(&out);
}

static void test_values_get_the_largest_unit_that_holds_one(void **state)
{
    (void)state;
    assert_label(0, "nanoseconds", "auto", "0");
    assert_label(999, "ns", "minimum", "999ns");
    assert_label(1500000, "nanoseconds", "auto", "1.50ms");
    assert_label(-2000000000, "Nanosecond", "auto", "-2s");
    assert_label(7200, "seconds", "auto", "2hrs");
    assert_label(1536, "bytes", "auto", "1.50kB");
    assert_label(37, "count", "minimum", "37");
    assert_label(37, "things", "widgets", "37widgets");
    assert_label(1500000, "us", "seconds", "1.50s");
    assert_label(1500000, "us", "furlongs", "1.50s");
}

static void assert_share(int64_t value, int64_t total, const char *expected)
{
    struct cairn_buf out;

    cairn_buf_init(&out, 4096);
    cairn_pprof_share(&out, value, total);
    assert_string_equal(cairn_buf_cstr(&out), expected);
    cairn_buf_release(&out);
}

static void test_shares_have_their_columns(void **state)
{
    (void)state;
    assert_share(1, 1, "  100%");
    assert_share(99951, 100000, "  100%");
    assert_share(1234, 10000, "12.34%");
    assert_share(-1, 200, "  0.5%");
    assert_share(0, 5, "    0%");
    assert_share(5, 0, "    0%");
    assert_share(1, 1000000000, "1e-07%");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_get_the_largest_unit_that_holds_one),
        cmocka_unit_test(test_shares_have_their_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
