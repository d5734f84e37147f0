/* For how long a code object is taken for what it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"
#include "pyfresh.h"

#define MS UINT64_C(1000000)
#define NOW_NS (100000 * MS)

/* Seen to hold so long ago, where the last code came, and took over an address, so long ago. */
static bool is_fresh(enum cairn_pycode_place place, uint64_t ago_ns, uint64_t came_ns,
                     uint64_t taken_over_ns)
{
    struct cairn_pycodes codes = {
        .came_ns = NOW_NS - came_ns, .taken_over_ns = NOW_NS - taken_over_ns, .copied_ns = NOW_NS};
    struct cairn_pycode_entry entry = {.checked_ns = NOW_NS - ago_ns, .looked_ns = NOW_NS - ago_ns};

    return cairn_pycodes_is_fresh(&codes, &entry, place, NOW_NS);
}

static void test_what_is_not_known_is_not_fresh(void **state)
{
    struct cairn_pycodes codes = {0};

    (void)state;
    assert_false(cairn_pycodes_is_fresh(&codes, NULL, CAIRN_PYCODE_OUTER, NOW_NS));
}

static void test_where_no_code_comes(void **state)
{
    (void)state;
    for (int place = CAIRN_PYCODE_INNER; place <= CAIRN_PYCODE_NEW; place++) {
        assert_true(is_fresh((enum cairn_pycode_place)place, 9 * MS, 300 * MS, 300 * MS));
        assert_false(is_fresh((enum cairn_pycode_place)place, 11 * MS, 300 * MS, 300 * MS));
    }
    assert_true(is_fresh(CAIRN_PYCODE_OUTER, 99 * MS, 300 * MS, 300 * MS));
    assert_false(is_fresh(CAIRN_PYCODE_OUTER, 101 * MS, 300 * MS, 300 * MS));
}

/* A new frame may run what came a moment ago. */
static void test_where_code_comes(void **state)
{
    (void)state;
    assert_true(is_fresh(CAIRN_PYCODE_NEW, 0, MS, 300 * MS));
    assert_false(is_fresh(CAIRN_PYCODE_NEW, 1, MS, 300 * MS));
    assert_true(is_fresh(CAIRN_PYCODE_INNER, MS, MS, 300 * MS));
    assert_false(is_fresh(CAIRN_PYCODE_INNER, MS + 1, MS, 300 * MS));
    assert_true(is_fresh(CAIRN_PYCODE_OUTER, 10 * MS, MS, 300 * MS));
}

/* And a frame that stands as one did may be another's. */
static void test_where_code_takes_over_addresses(void **state)
{
    (void)state;
    assert_true(is_fresh(CAIRN_PYCODE_NEW, 0, MS, MS));
    assert_false(is_fresh(CAIRN_PYCODE_NEW, 1, MS, MS));
    assert_false(is_fresh(CAIRN_PYCODE_INNER, 1, MS, MS));
    assert_true(is_fresh(CAIRN_PYCODE_OUTER, MS, MS, MS));
    assert_false(is_fresh(CAIRN_PYCODE_OUTER, MS + 1, MS, MS));
}

static void test_code_that_was_met_after_the_frame_came_late(void **state)
{
    struct cairn_pycodes codes = {.copied_ns = cairn_clock_mono_ns() + 1000 * MS};
    struct cairn_pycodes_mark mark = cairn_pycodes_mark(&codes);

    (void)state;
    assert_false(cairn_pycodes_came_late(&codes, mark));
    codes.arrivals++;
    assert_true(cairn_pycodes_came_late(&codes, mark));
}

/* Seen again long after the frame was copied: it may have been other code meanwhile. */
static void test_code_that_was_looked_at_late(void **state)
{
    uint64_t now_ns = cairn_clock_mono_ns();
    struct cairn_pycodes codes = {.copied_ns = now_ns - MS, .taken_over_ns = now_ns};
    struct cairn_pycodes_mark mark = cairn_pycodes_mark(&codes);

    (void)state;
    assert_false(cairn_pycodes_came_late(&codes, mark));
    codes.loads++;
    assert_true(cairn_pycodes_came_late(&codes, mark));
    codes.taken_over_ns = 0; /* no address is taken over here */
    assert_false(cairn_pycodes_came_late(&codes, mark));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_known_is_not_fresh),
        cmocka_unit_test(test_where_no_code_comes),
        cmocka_unit_test(test_where_code_comes),
        cmocka_unit_test(test_where_code_takes_over_addresses),
        cmocka_unit_test(test_code_that_was_met_after_the_frame_came_late),
        cmocka_unit_test(test_code_that_was_looked_at_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
