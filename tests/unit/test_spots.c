/* Spots: when they are looked at again, and that what is kept apart is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lines.h"

#define FORM 7
#define OTHER 8

static const struct cairn_spot_place place = {.unit = 4, .run = 2, .count = 1};
static struct cairn_spot met;
static struct cairn_spots spots;

static int setup(void **state)
{
    (void)state;
    memset(&met, 0, sizeof(met));
    spots = (struct cairn_spots){.count = 1, .places = &place};
    cairn_spots_use(&spots, &met, NULL);
    return 0;
}

/* The run begins, and its spot is looked at while its window lasts. Whether it was. */
static bool run(uint32_t form, uint32_t missed)
{
    bool due;

    spots.passed++;
    due = cairn_spots_see(&spots, 0, form, missed);
    if (due)
        cairn_spots_open(&spots, 0, form, missed);
    if (met.watch.left == 0)
        return false;
    met.watch.left--;
    return true;
}

static unsigned runs(unsigned count, uint32_t form, uint32_t missed)
{
    unsigned looked = 0;

    for (unsigned i = 0; i < count; i++)
        looked += run(form, missed);
    return looked;
}

static void test_what_fits_is_looked_at_once(void **state)
{
    (void)state;
    assert_int_equal(runs(16, 0, 0), 16);
    assert_int_equal(runs(2, 0, 0), 0);
    assert_int_equal(runs(100000, FORM, 0), 0);
    assert_int_equal(met.watch.lost, 0);
}

static void test_what_does_not_fit_is_looked_at(void **state)
{
    (void)state;
    runs(18, 0, 0);
    runs(1000, FORM, 0);
    assert_true(run(FORM, 1));
    assert_int_equal(met.watch.lost, FORM);
    assert_int_equal(met.watch.misses, 1);
    assert_int_equal(runs(15, 0, 0), 15);
    assert_false(run(0, 0));
}

/* It was never seen to miss, but another form was chosen than before. */
static void test_another_form_is_something_else(void **state)
{
    (void)state;
    runs(18, 0, 0);
    runs(100, FORM, 0);
    assert_true(run(FORM, 3));
    assert_int_equal(runs(15, 0, 0), 15);
    assert_int_equal(runs(60, OTHER, 0), 16); /* not too soon, and once */
    assert_int_equal(met.watch.misses, 3);
    assert_int_equal(met.watch.lost, OTHER);
}

static void test_windows_become_rare(void **state)
{
    unsigned looked = 0;

    (void)state;
    runs(18, 0, 0);
    for (unsigned i = 0; i < 1000000; i++)
        looked += run(i % 2 == 0 ? FORM : OTHER, i % 3);
    assert_in_range(looked, 5 * 16, 20 * 16);
}

static void test_what_has_no_form_is_looked_at_now_and_then(void **state)
{
    unsigned first, later;

    (void)state;
    first = runs(1000, 0, 0);
    later = runs(999000, 0, 0);
    assert_in_range(first, 5 * 16, 20 * 16);
    assert_in_range(later, 10 * 16, 50 * 16);
}

static void test_few_kinds_are_kept_apart(void **state)
{
    (void)state;
    for (uintptr_t key = 1; key <= CAIRN_SPOT_KINDS; key++)
        met.kinds[key - 1].key = key;
    for (uintptr_t key = 1; key <= 10; key++)
        assert_true(cairn_spots_meet(&spots, 0, key));
    for (size_t i = 0; i < CAIRN_SPOT_KINDS; i++)
        assert_int_equal(met.kinds[i].hits, 1);
    assert_int_equal(met.others, 10 - CAIRN_SPOT_KINDS);
}

static void test_spots_are_found_by_unit(void **state)
{
    static const struct cairn_spot_place some[] = {{.unit = 2}, {.unit = 5}, {.unit = 9}};
    const struct cairn_spots three = {.count = 3, .places = some};

    (void)state;
    assert_int_equal(cairn_spots_find(&three, 0), 0);
    assert_int_equal(cairn_spots_find(&three, 5), 1);
    assert_int_equal(cairn_spots_find(&three, 6), 2);
    assert_int_equal(cairn_spots_find(&three, 10), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_fits_is_looked_at_once, setup),
        cmocka_unit_test_setup(test_what_does_not_fit_is_looked_at, setup),
        cmocka_unit_test_setup(test_another_form_is_something_else, setup),
        cmocka_unit_test_setup(test_windows_become_rare, setup),
        cmocka_unit_test_setup(test_what_has_no_form_is_looked_at_now_and_then, setup),
        cmocka_unit_test_setup(test_few_kinds_are_kept_apart, setup),
        cmocka_unit_test(test_spots_are_found_by_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
