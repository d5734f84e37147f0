/* Strings last as long as they are named, and a while longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "writer_strings.h"

static struct cairn_writer_strings strings;

static int setup(void **state)
{
    (void)state;
    cairn_writer_strings_init(&strings);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cairn_writer_strings_release(&strings);
    return 0;
}

static uint32_t add(const char *text, bool lasting)
{
    const struct cairn_span bytes = {(const uint8_t *)text, strlen(text)};
    uint32_t id;

    assert_int_equal(cairn_writer_strings_add(&strings, bytes, lasting, &id), 0);
    return id;
}

static void check(uint32_t id, const char *want)
{
    struct cairn_span bytes = cairn_writer_strings_get(&strings, id);

    assert_int_equal(bytes.size_bytes, strlen(want));
    assert_memory_equal(bytes.data, want, bytes.size_bytes);
}

/* A name that tracks have and do not have any more. */
static uint32_t pass(const char *prefix, unsigned number)
{
    char name[32];
    uint32_t id;

    snprintf(name, sizeof(name), "%s-%u", prefix, number);
    id = add(name, false);
    cairn_writer_strings_hold(&strings, id);
    cairn_writer_strings_let_go(&strings, id);
    return id;
}

static void test_the_same_has_one_id(void **state)
{
    (void)state;
    assert_int_equal(add("", true), 0);
    assert_int_equal(add("a", true), 1);
    assert_int_equal(add("b", false), 2);
    assert_int_equal(add("a", false), 1);
    assert_int_equal(add("b", true), 2);
    assert_int_equal(strings.count, 3);
    check(0, "");
    check(1, "a");
    check(2, "b");
    check(3, "");
    assert_null(cairn_writer_strings_stamp(&strings, 0));
    assert_null(cairn_writer_strings_stamp(&strings, 3));
    *cairn_writer_strings_stamp(&strings, 2) = 7;
    assert_int_equal(*cairn_writer_strings_stamp(&strings, 2), 7);
    assert_int_equal(*cairn_writer_strings_stamp(&strings, 1), 0);
}

static void test_what_was_named_by_tracks_alone_goes_after_them(void **state)
{
    const uint32_t lasting = add("code", true), held = add("pool-0", false);
    uint32_t first;
    size_t most = 0;

    (void)state;
    cairn_writer_strings_hold(&strings, held);
    cairn_writer_strings_hold(&strings, held);
    cairn_writer_strings_let_go(&strings, held);
    cairn_writer_strings_hold(&strings, lasting);
    cairn_writer_strings_let_go(&strings, lasting);
    for (unsigned i = 0; i < 20 * CAIRN_STRINGS_IDLE; i++) {
        uint32_t id = pass("Thread", i);

        assert_int_equal(id, 3 + i); /* never one that was another's */
        if (strings.blocks.count > most)
            most = strings.blocks.count;
    }
    assert_in_range(most, 1, CAIRN_STRINGS_IDLE / CAIRN_STRING_BLOCK + 3);
    assert_int_equal(strings.ids.count, CAIRN_STRINGS_IDLE + 2);
    check(lasting, "code");
    check(held, "pool-0");
    check(3, "");
    assert_null(cairn_writer_strings_stamp(&strings, 3));
    assert_int_equal(add("pool-0", false), held);
    first = add("Thread-0", false);
    assert_int_equal(first, strings.count - 1); /* it is new again */
}

static void test_a_name_that_comes_again_soon_is_the_same(void **state)
{
    const uint32_t id = pass("soak", 0);

    (void)state;
    for (unsigned i = 0; i < CAIRN_STRINGS_IDLE - 1; i++)
        pass("other", i);
    assert_int_equal(pass("soak", 0), id);
    add("other-0", true); /* code may have it, too */
    for (unsigned i = 0; i < CAIRN_STRINGS_IDLE - 1; i++)
        pass("another", i);
    check(id, "soak-0");
    check(add("other-0", false), "other-0");
    assert_int_equal(add("other-0", false), id + 1);
    pass("more", 0);
    pass("more", 1);
    check(id, "");
}

static void test_no_memory_loses_nothing(void **state)
{
    const struct cairn_span bytes = {(const uint8_t *)"new", 3};
    uint32_t id = 0;
    int code = -CAIRN_ENOMEM;

    (void)state;
    for (int fail = 0; code == -CAIRN_ENOMEM; fail++) {
        cairn_alloc_fail_after(fail);
        code = cairn_writer_strings_add(&strings, bytes, true, &id);
        cairn_alloc_fail_after(-1);
        assert_int_equal(strings.count, code == 0 ? 2 : 1);
        assert_true(fail < 10);
    }
    assert_int_equal(code, 0);
    check(id, "new");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_same_has_one_id, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_named_by_tracks_alone_goes_after_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_name_that_comes_again_soon_is_the_same, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_no_memory_loses_nothing, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
