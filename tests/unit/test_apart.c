#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "apart.h"

#define LOOKS 4

struct busy { /* a child that wants its processor all the time */
    cpu_set_t allowed;
    int processor;
    pid_t pid;
};

static void stay_on(int processor)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void allow(const cpu_set_t *allowed)
{
    assert_int_equal(sched_setaffinity(0, sizeof(*allowed), allowed), 0);
}

static int set_up(void **state)
{
    static struct busy busy;
    int ready[2];
    char byte;

    assert_int_equal(sched_getaffinity(0, sizeof(busy.allowed), &busy.allowed), 0);
    busy.processor = sched_getcpu();
    assert_int_equal(pipe(ready), 0);
    busy.pid = fork();
    assert_true(busy.pid >= 0);
    if (busy.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(30);
        stay_on(busy.processor);
        (void)!write(ready[1], "", 1);
        for (;;)
            __asm__ volatile("");
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    *state = &busy;
    return 0;
}

static int tear_down(void **state)
{
    struct busy *busy = *state;

    allow(&busy->allowed);
    kill(busy->pid, SIGKILL);
    waitpid(busy->pid, NULL, 0);
    return 0;
}

static void need_two(const struct busy *busy)
{
    if (CPU_COUNT(&busy->allowed) < 2) {
        print_message("this process may use one processor alone\n");
        skip();
    }
}

static void assert_allowed(const struct busy *busy)
{
    cpu_set_t now;

    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_true(CPU_EQUAL(&now, &busy->allowed));
}

static void look(struct cairn_apart *apart, const struct busy *busy, int times, uint64_t now_ns)
{
    for (int i = 0; i < times; i++)
        cairn_apart_look(apart, busy->pid, busy->pid, now_ns + (uint64_t)i);
}

static void test_it_goes_to_another_processor(void **state)
{
    struct busy *busy = *state;

    need_two(busy);
    stay_on(busy->processor);
    allow(&busy->allowed);
    assert_true(cairn_apart_leave(busy->processor));
    assert_true(sched_getcpu() != busy->processor);
    assert_allowed(busy);
}

static void test_it_does_so_for_who_was_put_off(void **state)
{
    struct busy *busy = *state;
    struct cairn_apart apart = {0};

    need_two(busy);
    stay_on(busy->processor);
    allow(&busy->allowed);
    look(&apart, busy, LOOKS, 1);
    if (apart.went)
        assert_true(sched_getcpu() != busy->processor);
    else
        print_message("others took all processors meanwhile\n");
    assert_allowed(busy);
    assert_true(apart.from_ns > 1); /* not again at once */
}

static void test_it_stays_where_it_may_use_no_other(void **state)
{
    struct busy *busy = *state;
    struct cairn_apart apart = {0};
    cpu_set_t now;

    stay_on(busy->processor);
    assert_false(cairn_apart_leave(busy->processor));
    look(&apart, busy, LOOKS, 1);
    assert_int_equal(sched_getcpu(), busy->processor);
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_int_equal(CPU_COUNT(&now), 1);
}

/* It asks the kernel where the other is, which takes some microseconds: ever more rarely. */
static void test_what_is_of_no_use_is_done_more_rarely(void **state)
{
    struct busy *busy = *state;
    struct cairn_apart apart = {0};
    uint64_t now_ns = 1, wait_ns = 0;

    stay_on(busy->processor);
    for (int i = 0; i < 20; i++) {
        look(&apart, busy, LOOKS, now_ns);
        assert_true(apart.wait_ns > wait_ns || i > 6);
        wait_ns = apart.wait_ns;
        now_ns = apart.from_ns;
    }
    assert_true(wait_ns < UINT64_C(10000000000));
    look(&apart, busy, LOOKS, now_ns - wait_ns);
    assert_int_equal(apart.from_ns, now_ns);
    look(&apart, busy, LOOKS, now_ns + 16 * wait_ns);
    assert_true(apart.wait_ns < wait_ns); /* it was of use for long */
}

static void test_one_that_was_put_off_now_and_then_is_left_alone(void **state)
{
    struct busy *busy = *state;
    struct cairn_apart apart = {0};

    for (int i = 0; i < 10; i++) {
        look(&apart, busy, LOOKS - 1, 1);
        cairn_apart_look(&apart, 0, 0, 1);
    }
    assert_int_equal(apart.from_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_goes_to_another_processor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_does_so_for_who_was_put_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_stays_where_it_may_use_no_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_of_no_use_is_done_more_rarely, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_was_put_off_now_and_then_is_left_alone,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
