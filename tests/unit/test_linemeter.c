/* What lines are let go so that counting them costs no more than it may: by books alone, with a
 * processor's time that the test tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lines.h"
#include "lines_parts.h"

#define EVENT_NS 100.0
#define SHARE 0.05

static const char key[3];
static struct cairn_lines_hub hub;
static struct cairn_lines_code *codes[3];
static uint64_t cpu_ns;

static uint64_t told_cpu_ns(void)
{
    return cpu_ns;
}

/* Units of code are what is charged here: they need no stack. */
static int setup(void **state)
{
    (void)state;
    cpu_ns = 0;
    cairn_lines_init(&hub, (size_t)8 << 20);
    for (size_t i = 0; i < 3; i++) {
        codes[i] = cairn_lines_code_of(&hub, &key[i]);
        assert_non_null(codes[i]);
    }
    cairn_line_meter_begin(&hub, SHARE, EVENT_NS, told_cpu_ns);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cairn_lines_release(&hub);
    return 0;
}

/* The program works for so long each time that it comes to these events. */
static void work(unsigned rounds, unsigned work_ns, unsigned hot, unsigned cold)
{
    for (unsigned i = 0; i < rounds; i++) {
        cpu_ns += work_ns;
        for (unsigned k = 0; k < hot && !codes[0]->gone; k++) {
            cpu_ns += (uint64_t)EVENT_NS;
            cairn_line_meter_charge(&hub, codes[0], 1);
        }
        for (unsigned k = 0; k < cold && !codes[1]->gone; k++) {
            cpu_ns += (uint64_t)EVENT_NS;
            cairn_line_meter_charge(&hub, codes[1], 1);
        }
    }
}

static double spent(void)
{
    double cost = (double)hub.meter.events * EVENT_NS;

    return cost / ((double)cpu_ns - cost);
}

static void test_what_is_hot_is_let_go_and_no_more(void **state)
{
    (void)state;
    work(20000, 10000, 50, 1);
    assert_true(codes[0]->gone);
    assert_false(codes[1]->gone);
    assert_int_equal(hub.meter.let_go, 1);
    assert_true(spent() < SHARE);
}

static void test_what_fits_is_counted_to_the_end(void **state)
{
    (void)state;
    work(20000, 10000, 3, 1);
    assert_int_equal(hub.meter.let_go, 0);
    assert_int_equal(hub.meter.events, 20000 * 4);
}

/* It was cold for long: then it is let go as soon as what was not spent is used up. */
static void test_what_becomes_hot_is_let_go(void **state)
{
    (void)state;
    work(20000, 10000, 1, 1);
    assert_false(codes[0]->gone);
    work(20000, 100, 50, 0);
    assert_true(codes[0]->gone);
    assert_false(codes[1]->gone);
    assert_true(spent() < 2 * SHARE);
}

static void test_a_short_program_may_spend_a_little(void **state)
{
    (void)state;
    work(1, 0, 2000, 0); /* 0.2 ms */
    assert_false(codes[0]->gone);
    work(1, 0, 3000, 0);
    assert_true(codes[0]->gone);
}

static void test_a_child_keeps_books_of_its_own(void **state)
{
    (void)state;
    work(20000, 10000, 50, 1);
    cpu_ns = 0;
    cairn_line_meter_again(&hub);
    assert_int_equal(hub.meter.events, 0);
    assert_int_equal(hub.meter.let_go, 0);
    work(1000, 100, 50, 50);
    assert_true(codes[0]->gone && codes[1]->gone);
    assert_int_equal(hub.meter.let_go, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_hot_is_let_go_and_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_fits_is_counted_to_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_becomes_hot_is_let_go, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_short_program_may_spend_a_little, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_child_keeps_books_of_its_own, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
