#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#include "clock.h"

static void test_clocks_do_not_run_backwards(void **state)
{
    uint64_t mono_ns = cairn_clock_mono_ns();
    uint64_t boot_ns = cairn_clock_boot_ns();
    uint64_t cpu_ns = cairn_clock_own_cpu_ns();

    (void)state;
    assert_true(mono_ns > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t next_ns = cairn_clock_mono_ns();

        assert_true(next_ns >= mono_ns);
        mono_ns = next_ns;
    }
    assert_true(cairn_clock_boot_ns() > boot_ns);
    assert_true(cairn_clock_own_cpu_ns() > cpu_ns);
    /* BOOTTIME also counts while the machine is suspended. */
    assert_true(cairn_clock_boot_ns() >= mono_ns);
}

static void test_the_real_clock_is_the_calendar(void **state)
{
    uint64_t before_s = (uint64_t)time(NULL);
    uint64_t real_ns = cairn_clock_real_ns();

    (void)state;
    /* time() lags behind by up to a tick, never ahead. */
    assert_in_range(real_ns / 1000000000u, before_s, before_s + 60);
}

static void test_sleep_ends_at_its_time_and_not_before(void **state)
{
    uint64_t when_ns = cairn_clock_mono_ns() + 2000000;

    (void)state;
    assert_int_equal(cairn_clock_sleep_until(when_ns), 0);
    assert_true(cairn_clock_mono_ns() >= when_ns);
    /* A time that has passed is no wait. */
    assert_int_equal(cairn_clock_sleep_until(0), 0);
    assert_int_equal(cairn_clock_sleep_until(when_ns), 0);
}

static void on_alarm(int number)
{
    (void)number;
}

static void test_a_signal_ends_the_sleep(void **state)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    /* It repeats, so that one that came before the sleep began does no harm. */
    const struct itimerval every = {{0, 5000}, {0, 5000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    struct sigaction before;

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    assert_int_equal(cairn_clock_sleep_until(cairn_clock_mono_ns() + 50000000000u), -EINTR);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

static void test_what_takes_long_is_done_more_rarely(void **state)
{
    const uint64_t begun_ns = UINT64_C(1000000000000), spent_ns = 1000000;
    uint64_t begun_cpu_ns = cairn_clock_own_cpu_ns(), again_ns;

    (void)state;
    while (cairn_clock_own_cpu_ns() - begun_cpu_ns < spent_ns)
        continue;
    assert_int_equal(cairn_clock_again(begun_ns, begun_cpu_ns, 1000000000, 20),
                     begun_ns + 1000000000);
    again_ns = cairn_clock_again(begun_ns, begun_cpu_ns, 1000, 20);
    assert_true(again_ns >= begun_ns + 20 * spent_ns);
    assert_true(again_ns <= begun_ns + 20 * (cairn_clock_own_cpu_ns() - begun_cpu_ns));
}

/* Others had the processor meanwhile: that does not make it dearer. */
static void test_waiting_is_not_work(void **state)
{
    const uint64_t begun_ns = UINT64_C(1000000000000), wait_ns = 50000000;
    uint64_t begun_cpu_ns = cairn_clock_own_cpu_ns();

    (void)state;
    assert_int_equal(cairn_clock_sleep_until(cairn_clock_mono_ns() + wait_ns), 0);
    assert_true(cairn_clock_again(begun_ns, begun_cpu_ns, 1000, 20) < begun_ns + 20 * wait_ns);
}

static void test_the_boot_has_an_id(void **state)
{
    char first[37], second[37];

    (void)state;
    memset(first, 'x', sizeof(first));
    cairn_clock_boot_id(first);
    cairn_clock_boot_id(second);
    assert_int_equal(strlen(first), 36);
    assert_int_equal(strspn(first, "0123456789abcdef-"), 36);
    assert_string_equal(first, second);
}

static void test_the_kernel_looks_every_few_milliseconds(void **state)
{
    uint64_t tick_ns = cairn_clock_kernel_tick_ns();

    (void)state;
    assert_true(tick_ns >= 900000 && tick_ns <= 10000000); /* 1000 Hz to 100 Hz */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks_do_not_run_backwards),
        cmocka_unit_test(test_the_real_clock_is_the_calendar),
        cmocka_unit_test(test_sleep_ends_at_its_time_and_not_before),
        cmocka_unit_test(test_a_signal_ends_the_sleep),
        cmocka_unit_test(test_what_takes_long_is_done_more_rarely),
        cmocka_unit_test(test_waiting_is_not_work),
        cmocka_unit_test(test_the_boot_has_an_id),
        cmocka_unit_test(test_the_kernel_looks_every_few_milliseconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
