#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"
#include "ticks.h"

static void test_ticks_measure_what_the_clock_does(void **state)
{
    uint64_t before_ns, begun_ns, ended_ns, after_ns;
    int64_t begun, ended;
    double told_ns;

    (void)state;
    before_ns = cairn_clock_mono_ns();
    begun = cairn_ticks_now();
    begun_ns = cairn_clock_mono_ns();
    cairn_clock_sleep_until(begun_ns + 30000000);
    ended_ns = cairn_clock_mono_ns();
    ended = cairn_ticks_now();
    after_ns = cairn_clock_mono_ns();
    /* Between the two clocks others may have run: it lies within what that allows. */
    told_ns = (double)(ended - begun) * cairn_ticks_ns();
    assert_true(told_ns > (double)(ended_ns - begun_ns) * 0.99);
    assert_true(told_ns < (double)(after_ns - before_ns) * 1.01);
}

static void test_ticks_do_not_run_backwards(void **state)
{
    int64_t last;

    (void)state;
    last = cairn_ticks_now();
    for (int i = 0; i < 100000; i++) {
        int64_t now = cairn_ticks_now();

        assert_true(now >= last);
        last = now;
    }
}

static void test_a_tick_has_a_length_right_after_the_start(void **state)
{
    (void)state;
    assert_true(cairn_ticks_ns() > 0.05 && cairn_ticks_ns() < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tick_has_a_length_right_after_the_start),
        cmocka_unit_test(test_ticks_measure_what_the_clock_does),
        cmocka_unit_test(test_ticks_do_not_run_backwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
