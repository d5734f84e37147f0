#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "ids.h"
#include "rng.h"

/* Ids of a writer, of a hostile one, and whatever lies between, against a plain list. */
static void test_ids_are_what_was_put(void **state)
{
    enum { COUNT = 3000 };
    static uint32_t ids[COUNT], values[COUNT], moved[COUNT];
    (void)state;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct cairn_ids table;

        cairn_ids_init(&table);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint64_t draw = cairn_rng_at(seed, i);

            ids[i] = draw % 10 < 8 ? i + 1 : (uint32_t)(draw >> 32) >> (draw % 16);
            values[i] = i;
            moved[i] = COUNT - i;
            assert_int_equal(cairn_ids_put(&table, ids[i], i), 0);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t latest = i;

            for (uint32_t k = i + 1; k < COUNT; k++)
                if (ids[k] == ids[i])
                    latest = k;
            assert_int_equal(cairn_ids_get(&table, ids[i]), latest);
            values[i] = latest;
        }
        assert_int_equal(cairn_ids_translate(&table, moved), 0);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(cairn_ids_get(&table, ids[i]), moved[values[i]]);
        cairn_ids_release(&table);
    }
}

/* A file of a few bytes may say any id; it costs no more than other ids do. */
static void test_no_id_decides_an_allocation(void **state)
{
    struct cairn_ids table;
    (void)state;

    cairn_ids_init(&table);
    assert_int_equal(cairn_ids_get(&table, 5), CAIRN_IDS_LOST);
    assert_int_equal(cairn_ids_put(&table, UINT32_MAX, 1), 0);
    assert_int_equal(cairn_ids_put(&table, 1u << 30, 2), 0);
    assert_true(table.near.cap < 1000);
    assert_int_equal(cairn_ids_get(&table, UINT32_MAX), 1);
    assert_int_equal(cairn_ids_get(&table, 1u << 30), 2);
    assert_int_equal(cairn_ids_get(&table, 0), CAIRN_IDS_LOST);
    cairn_ids_release(&table);
}

/* What a join could not place stays lost. */
static void test_lost_stays_lost(void **state)
{
    const uint32_t values[] = {7, CAIRN_IDS_LOST};
    struct cairn_ids table;
    (void)state;

    cairn_ids_init(&table);
    assert_int_equal(cairn_ids_put(&table, 1, 0), 0);
    assert_int_equal(cairn_ids_put(&table, 2, 1), 0);
    assert_int_equal(cairn_ids_put(&table, UINT32_MAX, 1), 0);
    assert_int_equal(cairn_ids_translate(&table, values), 0);
    assert_int_equal(cairn_ids_get(&table, 1), 7);
    assert_int_equal(cairn_ids_get(&table, 2), CAIRN_IDS_LOST);
    assert_int_equal(cairn_ids_get(&table, UINT32_MAX), CAIRN_IDS_LOST);
    cairn_ids_release(&table);
}

/* The mask of a chunk has the bits of its tracks: an index to pass over chunks by. */
static void test_the_mask_is_of_the_chosen(void **state)
{
    const bool chosen[] = {true, false, true};
    struct cairn_ids table;
    (void)state;

    cairn_ids_init(&table);
    assert_true(cairn_ids_mask(&table, chosen) == 0);
    assert_int_equal(cairn_ids_put(&table, 3, 0), 0);
    assert_int_equal(cairn_ids_put(&table, 4, 1), 0);
    assert_int_equal(cairn_ids_put(&table, 64 + 5, 2), 0);
    assert_int_equal(cairn_ids_put(&table, UINT32_MAX, 2), 0); /* far from the others: 63 */
    assert_int_equal(cairn_ids_put(&table, UINT32_MAX - 1, 1), 0);
    assert_true(cairn_ids_mask(&table, chosen) == (1u << 3 | 1u << 5 | UINT64_C(1) << 63));
    cairn_ids_release(&table);
}

static void test_short_memory_changes_nothing(void **state)
{
    struct cairn_ids table;
    (void)state;

    cairn_ids_init(&table);
    assert_int_equal(cairn_ids_put(&table, 1, 5), 0);
    cairn_alloc_fail_after(0);
    assert_int_equal(cairn_ids_put(&table, 60000, 6), -CAIRN_ENOMEM);
    cairn_alloc_fail_after(0);
    assert_int_equal(cairn_ids_put(&table, UINT32_MAX, 6), -CAIRN_ENOMEM);
    cairn_alloc_fail_after(-1);
    assert_int_equal(cairn_ids_get(&table, 1), 5);
    assert_int_equal(cairn_ids_get(&table, 60000), CAIRN_IDS_LOST);
    cairn_ids_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_what_was_put),
        cmocka_unit_test(test_no_id_decides_an_allocation),
        cmocka_unit_test(test_lost_stays_lost),
        cmocka_unit_test(test_the_mask_is_of_the_chosen),
        cmocka_unit_test(test_short_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
