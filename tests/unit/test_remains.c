/* Rows, books and what is left over are the process' time, whatever threads came and went. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "remains.h"
#include "subject.h"

#define SPAN_NS 1000000u
#define LONG_NS 10000000000 /* of CPU time */

static struct cairn_subject subject;
static struct cairn_worker worker;
static uint64_t rows_ns; /* what rows hold */

static int setup(void **state)
{
    (void)state;
    memset(&subject, 0, sizeof(subject));
    memset(&worker, 0, sizeof(worker));
    rows_ns = 0;
    return 0;
}

/* A thread that ran for so long, of which a row was to take `delta_ns` and none did. */
static void goes(uint64_t cpu_ns, uint64_t delta_ns)
{
    struct cairn_worker gone = {.cpu_ns = cpu_ns, .cpu_delta_ns = delta_ns};

    rows_ns += cpu_ns - delta_ns;
    cairn_remains_of(&subject, &gone);
}

/* A tick at which the worker ran for `delta_ns` more: what its row holds. */
static uint64_t tick(uint64_t delta_ns)
{
    uint64_t row_ns;

    worker.cpu_ns += delta_ns;
    worker.cpu_delta_ns = delta_ns;
    cairn_remains_settle(&subject, &worker, cairn_remains_wanted(&subject, &worker), SPAN_NS);
    row_ns = worker.cpu_delta_ns + worker.cpu_carry_ns;
    worker.cpu_delta_ns = worker.cpu_carry_ns = 0;
    rows_ns += row_ns;
    return row_ns;
}

static void is_this_process(void)
{
    struct cairn_proc_stat stat;

    assert_int_equal(cairn_proc_stat(getpid(), 0, &stat), 0);
    subject.pid = getpid();
    subject.start_ns = stat.start_ns;
}

static int64_t ends_with(uint64_t process_ns)
{
    cairn_remains_of(&subject, &worker);
    subject.remains.end_ns = process_ns;
    return cairn_remains_end(&subject);
}

static void test_who_runs_stands_for_those_that_were_missed(void **state)
{
    (void)state;
    goes(900000, 900000); /* met, and no row has any of it */
    worker.runs = true;
    worker.turns = 1;
    assert_true(cairn_remains_wanted(&subject, &worker));
    assert_int_equal(tick(300000), SPAN_NS); /* a row has room for its span */
    assert_int_equal(tick(400000), 600000);  /* the rest */
    assert_false(cairn_remains_wanted(&subject, &worker));
    assert_int_equal(tick(400000), 400000);
    assert_int_equal(ends_with(2000000), 0);
    assert_int_equal(rows_ns, 2000000);
}

static void test_who_waits_or_is_long_there_does_not(void **state)
{
    (void)state;
    goes(900000, 900000);
    assert_int_equal(tick(0), 0); /* blocked */
    worker.runs = true;
    assert_int_equal(tick(0), 0); /* queued, and never ran yet */
    worker.turns = 1;
    worker.cpu_ns = 50000000;
    assert_int_equal(tick(10000), 10000);
    assert_int_equal(ends_with(50910000), 900000);
}

static void test_who_was_met_and_is_over_by_now_stands_for_them_too(void **state)
{
    struct cairn_pythread thread = {0};

    (void)state;
    is_this_process();
    goes(900000, 900000);
    worker.py = &thread;
    worker.tid = getpid(); /* blocked */
    assert_int_equal(tick(0), 0);
    worker.tid = getppid(); /* nobody of this process */
    assert_int_equal(tick(100000), SPAN_NS);
    assert_int_equal(ends_with(1000000), 0);
    assert_int_equal(rows_ns, 1000000);
}

static void test_no_row_of_a_fresh_thread_holds_more_than_it_has_room_for(void **state)
{
    (void)state;
    worker.runs = true;
    worker.turns = 1;
    assert_int_equal(tick(2500000), SPAN_NS);
    assert_int_equal(tick(0), SPAN_NS);
    assert_int_equal(tick(0), 500000);
    assert_int_equal(ends_with(2500000), 0);
    assert_int_equal(rows_ns, 2500000);
}

static void test_what_rows_hold_too_much_is_taken_back(void **state)
{
    struct cairn_perf_clock open = {.page = (const void *)&worker};

    (void)state;
    goes(800000, 0);
    subject.remains.left_ns = -300000; /* the process' book: it ran for 500000 */
    worker.clock = open;
    worker.runs = true;
    worker.turns = 1;
    assert_int_equal(tick(200000), 0);
    assert_int_equal(tick(200000), 100000);
    assert_int_equal(tick(200000), 200000);
    assert_int_equal(ends_with(1100000), 0);
    assert_int_equal(rows_ns, 1100000);
}

static void test_what_nobody_who_is_met_has_room_for_goes_to_the_first_thread(void **state)
{
    (void)state;
    subject.remains.process_ns = LONG_NS;
    goes(900000, 900000);
    assert_int_equal(cairn_remains_missed_ns(&subject, 100 * SPAN_NS), 0); /* for the next */
    goes(2000000, 2000000);
    assert_int_equal(cairn_remains_missed_ns(&subject, SPAN_NS), 0); /* for the next ones */
    assert_int_equal(cairn_remains_missed_ns(&subject, 100 * SPAN_NS), 2900000); /* late */
    goes(78000000, 78000000);
    assert_int_equal(cairn_remains_missed_ns(&subject, SPAN_NS), 80900000); /* too much */
    cairn_remains_taken(&subject, 80000000);
    rows_ns += 80000000;
    assert_int_equal(ends_with(80900000), 900000);
    assert_int_equal(rows_ns, 80000000);
}

/* A process that ends soon must not end with a good part of its time untold. */
static void test_less_waits_for_the_next_where_less_was_run(void **state)
{
    (void)state;
    goes(1500000, 1500000);
    subject.remains.process_ns = 1600000;
    assert_int_equal(cairn_remains_missed_ns(&subject, SPAN_NS), 1500000);
    subject.remains.process_ns = LONG_NS / 10;
    assert_int_equal(cairn_remains_missed_ns(&subject, SPAN_NS), 0);
    goes(7000000, 7000000);
    assert_int_equal(cairn_remains_missed_ns(&subject, SPAN_NS), 8500000);
}

static uint64_t missed_of_tick(bool threads_changed)
{
    cairn_remains_open(&subject, threads_changed);
    subject.remains.process_ns = LONG_NS;
    return cairn_remains_missed_ns(&subject, SPAN_NS);
}

/* Those that were met last stand for them: the next that is met may never come. */
static void test_where_none_comes_for_a_while_nothing_waits_for_one(void **state)
{
    (void)state;
    goes(2000000, 2000000);
    for (int i = 0; i < 4; i++) /* it went before the first */
        assert_int_equal(missed_of_tick(false), 0);
    assert_int_equal(missed_of_tick(false), 2000000);
    assert_int_equal(missed_of_tick(true), 0);
}

static void test_what_went_before_is_nobodys(void **state)
{
    (void)state;
    is_this_process();
    cairn_remains_forget(&subject);
    assert_int_equal(subject.remains.left_ns, 0);
    assert_true(subject.remains.gone_ns > 0);
    assert_true(cairn_remains_have_end(&subject));
    assert_true(cairn_remains_end(&subject) >= 0); /* what the test ran since */
    assert_true(cairn_remains_end(&subject) < 1000000000);
}

/* A list of threads that was cut short when Cairn attached lacks some that ran for long before. */
static void test_who_was_left_out_of_the_first_list_is_not_new(void **state)
{
    struct cairn_proc_schedstat own = {0}, young = {.cpu_ns = 1};
    uint64_t before_ns;

    (void)state;
    is_this_process();
    own.cpu_ns = LONG_NS;
    cairn_remains_forget(&subject);
    assert_false(cairn_remains_met_late(&subject, &own)); /* of a new program all are new */
    cairn_remains_attach(&subject);
    before_ns = subject.remains.gone_ns;
    own.cpu_ns = before_ns;
    assert_false(cairn_remains_met_late(&subject, &young));
    assert_int_equal(subject.remains.gone_ns, before_ns);
    subject.remains.attached_ns = cairn_clock_mono_ns();
    assert_true(cairn_remains_met_late(&subject, &own));
    assert_int_equal(subject.remains.gone_ns, 0); /* it is in the books of those that live */
}

static void test_the_book_of_another_process_tells_nothing(void **state)
{
    (void)state;
    is_this_process();
    subject.start_ns--; /* another one has its number now */
    goes(900000, 200000);
    assert_false(cairn_remains_have_end(&subject));
    assert_int_equal(cairn_remains_end(&subject), 200000);
}

static void test_without_all_books_only_loose_ends_are_left_over(void **state)
{
    struct cairn_worker *workers[] = {&worker};

    (void)state;
    is_this_process();
    subject.workers.items = workers;
    subject.workers.count = 1;
    worker.schedstat_fd = -CAIRN_EPERM;
    cairn_remains_open(&subject, true);
    cairn_remains_close(&subject);
    assert_int_equal(subject.remains.left_ns, 0);
    goes(500000, 200000);
    assert_false(cairn_remains_have_end(&subject));
    assert_int_equal(cairn_remains_end(&subject), 200000);
}

static void test_a_book_that_is_opened_for_each_look_is_one(void **state)
{
    struct cairn_worker *workers[] = {&worker};

    (void)state;
    is_this_process();
    subject.workers.items = workers;
    subject.workers.count = 1;
    worker.has_book = true;
    worker.schedstat_fd = -EMFILE;
    worker.book_ns = 1000;
    cairn_remains_open(&subject, true);
    cairn_remains_close(&subject);
    assert_false(subject.remains.blind);
    assert_int_equal(subject.remains.left_ns, subject.remains.process_ns - 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_who_runs_stands_for_those_that_were_missed, setup),
        cmocka_unit_test_setup(test_who_waits_or_is_long_there_does_not, setup),
        cmocka_unit_test_setup(test_who_was_met_and_is_over_by_now_stands_for_them_too, setup),
        cmocka_unit_test_setup(test_no_row_of_a_fresh_thread_holds_more_than_it_has_room_for,
                               setup),
        cmocka_unit_test_setup(test_what_rows_hold_too_much_is_taken_back, setup),
        cmocka_unit_test_setup(test_what_nobody_who_is_met_has_room_for_goes_to_the_first_thread,
                               setup),
        cmocka_unit_test_setup(test_less_waits_for_the_next_where_less_was_run, setup),
        cmocka_unit_test_setup(test_where_none_comes_for_a_while_nothing_waits_for_one, setup),
        cmocka_unit_test_setup(test_what_went_before_is_nobodys, setup),
        cmocka_unit_test_setup(test_who_was_left_out_of_the_first_list_is_not_new, setup),
        cmocka_unit_test_setup(test_the_book_of_another_process_tells_nothing, setup),
        cmocka_unit_test_setup(test_without_all_books_only_loose_ends_are_left_over, setup),
        cmocka_unit_test_setup(test_a_book_that_is_opened_for_each_look_is_one, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
