/* For how long a code object is taken for what it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

/* What is left of code is looked at once for each copy. */
static void test_what_was_looked_at_since_the_copy_is_fresh(void **state)
{
    struct cairn_pycodes codes = {.copied_ns = NOW_NS};
    struct cairn_pycode_entry entry = {.looked_ns = NOW_NS};

    (void)state;
    for (int place = CAIRN_PYCODE_OUTER; place <= CAIRN_PYCODE_NEW; place++) {
        assert_true(cairn_pycodes_is_fresh(&codes, &entry, (enum cairn_pycode_place)place, NOW_NS));
        codes.copied_ns = NOW_NS + 1;
        assert_false(
            cairn_pycodes_is_fresh(&codes, &entry, (enum cairn_pycode_place)place, NOW_NS));
        codes.copied_ns = NOW_NS;
    }
}

/* What comes and goes, and was seen so long after the frame was copied, may be other code. */
static void test_code_came_late_that_can_have_been_made_since_the_frame(void **state)
{
    struct cairn_pycodes codes = {.copied_ns = NOW_NS};
    struct cairn_pycodes_mark mark = cairn_pycodes_mark(&codes);

    (void)state;
    codes.unsure++;
    codes.seen_ns = NOW_NS + 5000;
    assert_false(cairn_pycodes_came_late(&codes, mark));
    codes.seen_ns = NOW_NS + MS;
    assert_true(cairn_pycodes_came_late(&codes, mark));
}

/* What stays does not, however late it is looked at and whatever others do. */
static void test_code_that_stays_does_not_come_late(void **state)
{
    struct cairn_pycodes codes = {
        .copied_ns = NOW_NS, .seen_ns = NOW_NS + MS, .taken_over_ns = NOW_NS};
    struct cairn_pycodes_mark mark = cairn_pycodes_mark(&codes);

    (void)state;
    codes.loads++;
    assert_false(cairn_pycodes_came_late(&codes, mark));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_known_is_not_fresh),
        cmocka_unit_test(test_where_no_code_comes),
        cmocka_unit_test(test_where_code_comes),
        cmocka_unit_test(test_where_code_takes_over_addresses),
        cmocka_unit_test(test_what_was_looked_at_since_the_copy_is_fresh),
        cmocka_unit_test(test_code_came_late_that_can_have_been_made_since_the_frame),
        cmocka_unit_test(test_code_that_stays_does_not_come_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
