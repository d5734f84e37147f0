#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "rng.h"
#include "tracecalls.h"

#define COUNT 5000

static int compare(const void *left, const void *right)
{
    const struct cairn_tracecall *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

/* Threads, times and names of few values, so that much is alike, and some that lie far apart. */
static void make(struct cairn_tracecall *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = cairn_rng_at(7, i);
        int64_t far = bits % 11 == 0 ? INT64_C(9000000000000000000) : 0;

        all[i].thread = bits % 13 == 0 ? UINT32_MAX - 1 : (uint32_t)(bits >> 8) % 5;
        all[i].first_ns = (bits & 16 ? -far : far) + (int64_t)((bits >> 16) % 300);
        all[i].last_ns = all[i].first_ns + (int64_t)((bits >> 32) % 40);
        all[i].frame = (uint32_t)(bits >> 40);
        all[i].number = (uint32_t)i;
    }
}

static int take_all(struct cairn_tracecalls *slices, const struct cairn_tracecall *all,
                    size_t count, struct cairn_tracecall *ret)
{
    size_t got = 0;
    int more;

    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(cairn_tracecalls_add(slices, &all[i]));
    CAIRN_TRY(cairn_tracecalls_sort(slices));
    while ((more = cairn_tracecalls_next(slices, &ret[got])) > 0)
        assert_true(++got <= count);
    if (more == 0)
        assert_int_equal(got, count);
    return more;
}

static void check(size_t count, size_t held_max, size_t runs)
{
    static struct cairn_tracecall all[COUNT], got[COUNT + 1];
    struct cairn_tracecalls slices;
    struct cairn_spill spill;

    make(all, count);
    cairn_spill_open(&spill);
    assert_true(spill.fd >= 0);
    cairn_tracecalls_init(&slices, &spill, held_max);
    assert_int_equal(take_all(&slices, all, count, got), 0);
    assert_int_equal(slices.runs.count, runs);
    cairn_tracecalls_release(&slices);
    cairn_spill_close(&spill);
    qsort(all, count, sizeof(all[0]), compare);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got[i].thread, all[i].thread);
        assert_int_equal(got[i].first_ns, all[i].first_ns);
        assert_int_equal(got[i].last_ns, all[i].last_ns);
        assert_int_equal(got[i].frame, all[i].frame);
        assert_int_equal(got[i].number, all[i].number);
    }
}

static void test_order_is_one_however_many_are_held(void **state)
{
    (void)state;
    check(0, 10, 0);
    check(1, 1, 0);
    check(COUNT, COUNT, 0);
    check(COUNT, COUNT - 1, 1);
    check(COUNT, 1000, 4);
    check(COUNT, 100, 49);
    check(60, 1, 59);
}

static void test_without_a_spill_what_is_held_is_all(void **state)
{
    struct cairn_spill none = {.fd = -1};
    static struct cairn_tracecall all[COUNT], got[COUNT + 1];
    struct cairn_tracecalls slices;

    (void)state;
    make(all, COUNT);
    for (int i = 0; i < 2; i++) {
        cairn_tracecalls_init(&slices, i ? &none : NULL, 100);
        assert_int_equal(take_all(&slices, all, 100, got), 0);
        cairn_tracecalls_release(&slices);
        cairn_tracecalls_init(&slices, i ? &none : NULL, 100);
        assert_int_equal(take_all(&slices, all, 101, got), -CAIRN_ELIMIT);
        cairn_tracecalls_release(&slices);
    }
}

static void test_more_runs_than_are_merged_are_refused(void **state)
{
    static struct cairn_tracecall all[COUNT], got[COUNT + 1];
    struct cairn_tracecalls slices;
    struct cairn_spill spill;

    (void)state;
    make(all, COUNT);
    cairn_spill_open(&spill);
    cairn_tracecalls_init(&slices, &spill, 2);
    assert_int_equal(take_all(&slices, all, COUNT, got), -CAIRN_ELIMIT);
    cairn_tracecalls_release(&slices);
    cairn_spill_close(&spill);
}

static void test_no_memory_is_told(void **state)
{
    static struct cairn_tracecall all[COUNT], got[COUNT + 1];
    struct cairn_tracecalls slices;
    struct cairn_spill spill;
    int code;

    (void)state;
    make(all, 300);
    for (long i = 0;; i++) {
        cairn_spill_open(&spill);
        cairn_tracecalls_init(&slices, &spill, 100);
        cairn_alloc_fail_after(i);
        code = take_all(&slices, all, 300, got);
        cairn_tracecalls_release(&slices);
        cairn_spill_close(&spill);
        if (!cairn_alloc_has_failed())
            break;
        assert_int_equal(code, -CAIRN_ENOMEM);
    }
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_one_however_many_are_held),
        cmocka_unit_test(test_without_a_spill_what_is_held_is_all),
        cmocka_unit_test(test_more_runs_than_are_merged_are_refused),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
