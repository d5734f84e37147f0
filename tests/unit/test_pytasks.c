#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pytasks_parts.h"

/* Between the loop and its coroutine stands a frame that was not read, but must be there. */
static void test_where_on_the_stack_a_task_begins(void **state)
{
    struct cairn_pyframe frames[] = {{.address = 0x1000}, {.address = 0}, {.address = 0x2000}};
    const struct cairn_pythread thread = {.frames = frames, .depth = 3};
    struct cairn_pytask task = {.thread = &thread, .runs = true, .frame = 0x2000};

    (void)state;
    assert_int_equal(cairn_pytask_start(&task), 2);
    task.frame = 0x3000;
    assert_int_equal(cairn_pytask_start(&task), 3);
    task.frame = 0; /* its coroutine could not be read */
    assert_int_equal(cairn_pytask_start(&task), 3);
}

/* Where no task comes any more, or the same one stays, nothing happens. */
static void test_a_place_at_which_nothing_happens(void **state)
{
    struct cairn_pyknown known = {.round = 1};

    (void)state;
    cairn_pyknown_met(&known, 0, 2);
    assert_int_equal(known.round, 1);
    cairn_pyknown_met(&known, 0x1000, 3);
    assert_int_equal(known.round, 3);
    cairn_pyknown_met(&known, 0x1000, 4);
    assert_int_equal(known.round, 3);
    cairn_pyknown_met(&known, 0x2000, 5);
    cairn_pyknown_met(&known, 0, 6);
    assert_int_equal(known.round, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_on_the_stack_a_task_begins),
        cmocka_unit_test(test_a_place_at_which_nothing_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
