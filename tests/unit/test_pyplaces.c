/* Places that a thread's frames were met at: how long they are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pyplaces.h"

#define SIZE 64
#define APART 4096

static void add(struct cairn_pyplaces *places, size_t count, uint64_t tick)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            cairn_pyplaces_add(places, APART * (places->pieces.count + 1), SIZE, false, tick), 0);
}

static void test_few_are_kept_for_long(void **state)
{
    struct cairn_pyplaces places = {0};

    (void)state;
    add(&places, 16, 1);
    cairn_pyplaces_age(&places, 4001);
    assert_int_equal(places.pieces.count, 16);
    cairn_pyplaces_age(&places, 4002);
    assert_int_equal(places.pieces.count, 0);
    cairn_pyplaces_release(&places);
}

static void test_more_are_kept_if_they_were_in_stacks_again(void **state)
{
    struct cairn_pyplaces places = {0};

    (void)state;
    add(&places, 48, 1);
    for (size_t i = 0; i < 20; i++) {
        cairn_pyplaces_use(&places, i, 1);
        if (i < 18)
            cairn_pyplaces_use(&places, i, 1);
    }
    cairn_pyplaces_age(&places, 13);
    assert_int_equal(places.pieces.count, 48);
    cairn_pyplaces_age(&places, 14);
    assert_int_equal(places.pieces.count, 18);
    assert_true(cairn_pyplaces_has(&places, APART));
    assert_false(cairn_pyplaces_has(&places, APART * 20));
    cairn_pyplaces_age(&places, 4002);
    assert_int_equal(places.pieces.count, 0);
    cairn_pyplaces_release(&places);
}

static void test_many_are_kept_while_they_are_in_use(void **state)
{
    struct cairn_pyplaces places = {0};

    (void)state;
    add(&places, 49, 1);
    for (size_t i = 0; i < 49; i++) {
        cairn_pyplaces_use(&places, i, 1);
        cairn_pyplaces_use(&places, i, i < 5 ? 2 : 1);
    }
    cairn_pyplaces_age(&places, 14);
    assert_int_equal(places.pieces.count, 5);
    cairn_pyplaces_release(&places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_are_kept_for_long),
        cmocka_unit_test(test_more_are_kept_if_they_were_in_stacks_again),
        cmocka_unit_test(test_many_are_kept_while_they_are_in_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
