#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"
#include "spare.h"

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS (3600 * SECOND_NS)

static void test_one_of_each_kind_has_its_turn_at_every_tick(void **state)
{
    struct cairn_spare spare;

    (void)state;
    cairn_spare_init(&spare, SECOND_NS);
    for (int tick = 0; tick < 2; tick++) {
        cairn_spare_begin(&spare, cairn_clock_mono_ns() - SECOND_NS);
        for (int kind = 0; kind < CAIRN_SPARE_KINDS; kind++) {
            assert_true(cairn_spare_has(&spare, kind));
            assert_false(cairn_spare_has(&spare, kind));
        }
    }
}

static void test_more_while_there_is_time(void **state)
{
    struct cairn_spare spare;

    (void)state;
    cairn_spare_init(&spare, HOUR_NS);
    cairn_spare_begin(&spare, cairn_clock_mono_ns());
    for (int i = 0; i < 100; i++)
        assert_true(cairn_spare_has(&spare, CAIRN_SPARE_CHILD));
    cairn_spare_begin(&spare, cairn_clock_mono_ns() - HOUR_NS / 2);
    assert_true(cairn_spare_has(&spare, CAIRN_SPARE_CHILD));
    assert_false(cairn_spare_has(&spare, CAIRN_SPARE_CHILD));
}

static void test_nothing_waits_where_no_tick_follows(void **state)
{
    struct cairn_spare spare;

    (void)state;
    cairn_spare_init(&spare, UINT64_MAX);
    cairn_spare_begin(&spare, cairn_clock_mono_ns() - SECOND_NS);
    for (int i = 0; i < 100; i++)
        assert_true(cairn_spare_has(&spare, CAIRN_SPARE_THREADS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_each_kind_has_its_turn_at_every_tick),
        cmocka_unit_test(test_more_while_there_is_time),
        cmocka_unit_test(test_nothing_waits_where_no_tick_follows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
