#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agentmem.h"

static void test_a_pool_hands_out_zeroed_blocks_that_stay(void **state)
{
    struct cairn_budget budget = {.max_bytes = 1 << 20};
    struct cairn_pool pool = {0};
    unsigned char *blocks[500];

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        blocks[i] = cairn_pool_alloc(&pool, &budget, 100 + i);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t at = 0; at < 100 + i; at++) {
            assert_int_equal(blocks[i][at], 0);
            blocks[i][at] = (unsigned char)i;
        }
    }
    for (size_t i = 0; i < 500; i++)
        assert_true(blocks[i][0] == (unsigned char)i && blocks[i][99 + i] == (unsigned char)i);
    assert_null(cairn_pool_alloc(&pool, &budget, CAIRN_POOL_MOST_BYTES + 1));
    assert_non_null(cairn_pool_alloc(&pool, &budget, CAIRN_POOL_MOST_BYTES));
    cairn_pool_release(&pool, &budget);
    assert_int_equal(budget.used_bytes, 0);
}

static void test_no_more_is_taken_than_the_budget(void **state)
{
    struct cairn_budget budget = {.max_bytes = 200 << 10};
    struct cairn_pool pool = {0};
    struct cairn_pairs pairs = {0};
    size_t served = 0, added = 0;

    (void)state;
    errno = 77;
    while (cairn_pool_alloc(&pool, &budget, 1000) != NULL)
        served++;
    assert_in_range(served, 100, 200);
    cairn_pool_release(&pool, &budget);
    while (cairn_pairs_add(&pairs, &budget, added, 5, &budget) == 0)
        added++;
    assert_in_range(added, 500, 200 << 10);
    for (size_t i = 0; i < added; i++)
        assert_ptr_equal(cairn_pairs_get(&pairs, i, 5), &budget); /* none was lost */
    cairn_pairs_release(&pairs, &budget);
    assert_int_equal(budget.used_bytes, 0);
    /* Nor when the kernel refuses. */
    budget.max_bytes = SIZE_MAX;
    assert_null(cairn_budget_map(&budget, SIZE_MAX / 2));
    assert_int_equal(budget.used_bytes, 0);
    assert_int_equal(errno, 77);
}

static void test_a_block_moves_with_what_is_in_it(void **state)
{
    struct cairn_budget budget = {.max_bytes = 1 << 20};
    uint64_t *block = cairn_budget_map(&budget, 8192), *moved;

    (void)state;
    block[1000] = 42;
    moved = cairn_budget_remap(&budget, block, 8192, 65536);
    assert_non_null(moved);
    assert_int_equal(moved[1000], 42);
    assert_int_equal(moved[8000], 0);
    assert_null(cairn_budget_remap(&budget, moved, 65536, 2 << 20));
    assert_int_equal(moved[1000], 42);
    cairn_budget_unmap(&budget, moved, 65536);
    assert_int_equal(budget.used_bytes, 0);
}

static void test_pairs_are_told_apart(void **state)
{
    struct cairn_budget budget = {.max_bytes = 64 << 20};
    struct cairn_pairs pairs = {0};
    static char values[300 * 300];

    (void)state;
    assert_null(cairn_pairs_get(&pairs, 1, 2));
    for (uintptr_t a = 0; a < 300; a++)
        for (uintptr_t b = 0; b < 300; b++)
            assert_int_equal(cairn_pairs_add(&pairs, &budget, a << 6, b << 6, &values[a * 300 + b]),
                             0);
    for (uintptr_t a = 0; a < 300; a++)
        for (uintptr_t b = 0; b < 300; b++)
            assert_ptr_equal(cairn_pairs_get(&pairs, a << 6, b << 6), &values[a * 300 + b]);
    assert_null(cairn_pairs_get(&pairs, 300 << 6, 0));
    cairn_pairs_release(&pairs, &budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pool_hands_out_zeroed_blocks_that_stay),
        cmocka_unit_test(test_no_more_is_taken_than_the_budget),
        cmocka_unit_test(test_a_block_moves_with_what_is_in_it),
        cmocka_unit_test(test_pairs_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
