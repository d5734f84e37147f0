/* Lines of frames, as events tell of them: hits, time that goes to the frame it belongs to, and
 * what is counted when somebody begins or ends in the middle. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "lines.h"
#include "ticks.h"

#define FIRST 10
#define LINES 5
#define OUTER ((uintptr_t)0x1000)
#define INNER ((uintptr_t)0x2000)

static const char key[2];
static struct cairn_lines_hub hub;
static struct cairn_lines_counter *counter;
static struct cairn_lines_code *code;

static int setup(void **state)
{
    (void)state;
    cairn_lines_init(&hub, (size_t)8 << 20);
    counter = cairn_lines_add(&hub, &key[0], FIRST, LINES);
    assert_non_null(counter);
    code = cairn_lines_find(&hub, &key[0]);
    assert_ptr_equal(code, counter->code);
    cairn_lines_on(counter);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (counter != NULL)
        assert_true(cairn_lines_remove(&hub, counter));
    cairn_lines_release(&hub);
    assert_int_equal(hub.budget.used_bytes, 0);
    return 0;
}

static void work(void)
{
    int64_t begun = cairn_ticks_now();

    while (cairn_ticks_now() - begun < 1000)
        ;
}

static void line(uintptr_t frame, uint32_t number)
{
    cairn_lines_line(&hub, code, frame, number);
    work();
}

static int64_t hits(uint32_t number)
{
    return counter->sums[number - FIRST].hits;
}

static int64_t total(uint32_t number)
{
    return counter->sums[number - FIRST].total;
}

static void test_every_level_of_a_recursion_has_its_line(void **state)
{
    (void)state;
    cairn_lines_enter(&hub, code, OUTER);
    line(OUTER, 10);
    cairn_lines_enter(&hub, code, INNER);
    line(INNER, 10);
    line(INNER, 12);
    cairn_lines_leave(&hub, INNER);
    assert_true(total(10) > 0 && total(10) < total(12) + 100 * 1000 * 1000);
    line(OUTER, 13);
    assert_true(total(10) > total(12)); /* the outer one lasted while the inner one ran */
    cairn_lines_leave(&hub, OUTER);
    assert_int_equal(hits(10), 2);
    assert_int_equal(hits(12), 1);
    assert_int_equal(hits(13), 1);
    assert_true(total(13) >= 1000);
}

static void test_a_generator_sleeps_in_nobodys_time(void **state)
{
    int64_t before;

    (void)state;
    cairn_lines_enter(&hub, code, INNER);
    line(INNER, 11);
    cairn_lines_suspend(&hub, INNER);
    before = total(11);
    work();
    assert_int_equal(total(11), before);
    cairn_lines_resume(&hub, code, INNER);
    work();
    line(INNER, 12);
    assert_true(total(11) >= before + 1000);
    assert_true(counter->sums[1].slept >= 1000);
    assert_int_equal(hits(11), 1);
    cairn_lines_leave(&hub, INNER);
    /* Another generator at its address has not slept. */
    before = counter->sums[1].slept;
    cairn_lines_resume(&hub, code, INNER);
    assert_int_equal(counter->sums[1].slept, before);
    cairn_lines_leave(&hub, INNER);
}

static void test_frames_whose_end_nobody_told(void **state)
{
    (void)state;
    line(OUTER, 10); /* it began before anybody asked */
    line(INNER, 11);
    line(OUTER, 12);
    assert_true(total(11) >= 1000);
    cairn_lines_leave(&hub, INNER); /* it is over already */
    cairn_lines_enter(&hub, code, OUTER);
    assert_true(total(12) >= 1000);
    line(OUTER, 13);
    cairn_lines_leave(&hub, OUTER);
    assert_int_equal(hits(10) + hits(11) + hits(12) + hits(13), 4);
}

static void test_counters_are_on_from_when_to_when_they_like(void **state)
{
    struct cairn_lines_counter *late;
    int64_t before;

    (void)state;
    line(OUTER, 10);
    late = cairn_lines_add(&hub, &key[0], FIRST, LINES);
    assert_non_null(late);
    cairn_lines_on(late);
    work();
    cairn_lines_off(&hub, counter);
    before = total(10);
    assert_true(before >= 2000);
    line(OUTER, 11);
    assert_int_equal(total(10), before);
    assert_int_equal(hits(11), 0);
    assert_int_equal(late->sums[1].hits, 1);
    assert_true(late->sums[0].total >= 1000 && late->sums[0].total < before);
    assert_false(cairn_lines_remove(&hub, late));
    line(OUTER, 12); /* nobody counts */
    assert_int_equal(hits(12), 0);
    cairn_lines_on(counter);
    cairn_lines_clear(counter);
    assert_int_equal(total(10), 0);
    cairn_lines_leave(&hub, OUTER);
    assert_int_equal(total(11) + total(12), 0);
}

static void test_lines_outside_their_function_are_lost(void **state)
{
    (void)state;
    line(OUTER, FIRST - 1);
    line(OUTER, FIRST + LINES);
    cairn_lines_leave(&hub, OUTER);
    assert_int_equal(hub.lost, 2);
}

static void test_other_code_at_the_same_address(void **state)
{
    (void)state;
    line(OUTER, 10);
    assert_true(cairn_lines_remove(&hub, counter));
    counter = cairn_lines_add(&hub, &key[0], 100, 2);
    assert_non_null(counter);
    cairn_lines_on(counter);
    cairn_lines_line(&hub, code, OUTER, 101);
    cairn_lines_leave(&hub, OUTER);
    assert_int_equal(counter->sums[1].hits, 1);
    assert_int_equal(counter->sums[0].total, 0);
}

static void *in_thread(void *unused)
{
    (void)unused;
    cairn_lines_enter(&hub, code, INNER);
    line(INNER, 14);
    return NULL; /* it ends in the middle of a line */
}

static void test_threads_have_stacks_of_their_own(void **state)
{
    struct cairn_lines_thread *threads = NULL;

    (void)state;
    line(OUTER, 10);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
        pthread_join(thread, NULL);
        assert_true(threads == NULL || threads == hub.threads); /* the next takes its stack */
        threads = hub.threads;
    }
    assert_int_equal(total(10), 0); /* it goes on */
    cairn_lines_leave(&hub, OUTER);
    assert_true(total(10) >= 3000);
    assert_int_equal(hits(14), 3);
}

static void test_no_memory_is_a_loss(void **state)
{
    (void)state;
    hub.budget.max_bytes = hub.budget.used_bytes;
    for (uintptr_t frame = 1; frame < 1000; frame++)
        cairn_lines_line(&hub, code, frame << 4, 10);
    assert_true(hub.lost > 0);
    assert_null(cairn_lines_add(&hub, &key[1], 1, 100000));
    hub.budget.max_bytes = (size_t)8 << 20;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_level_of_a_recursion_has_its_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_generator_sleeps_in_nobodys_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frames_whose_end_nobody_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counters_are_on_from_when_to_when_they_like, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_lines_outside_their_function_are_lost, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_other_code_at_the_same_address, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_have_stacks_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory_is_a_loss, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
