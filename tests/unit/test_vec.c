#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "vec.h"

static void test_items_survive_growth_and_new_room_is_zero(void **state)
{
    CAIRN_VEC(uint32_t) vec = {0};

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(cairn_vec_reserve(&vec, vec.count + 1, 1000), 0);
        assert_true(vec.cap <= 1000);
        for (size_t at = vec.count; at < vec.cap; at++)
            assert_int_equal(vec.items[at], 0);
        vec.items[vec.count++] = i + 1;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(vec.items[i], i + 1);
    cairn_vec_release(&vec);
    assert_null(vec.items);
    assert_int_equal(vec.cap, 0);
    cairn_vec_release(&vec);
}

static void test_the_ceiling_holds(void **state)
{
    CAIRN_VEC(uint64_t) vec = {0};

    (void)state;
    assert_int_equal(cairn_vec_reserve(&vec, 0, 0), 0);
    assert_null(vec.items);
    assert_int_equal(cairn_vec_reserve(&vec, 1, 0), -CAIRN_ELIMIT);
    assert_int_equal(cairn_vec_reserve(&vec, 3, 3), 0);
    assert_int_equal(vec.cap, 3);
    assert_int_equal(cairn_vec_reserve(&vec, 4, 3), -CAIRN_ELIMIT);
    assert_int_equal(cairn_vec_reserve(&vec, 4, 5), 0);
    assert_int_equal(vec.cap, 5);
    cairn_vec_release(&vec);
}

static void test_a_size_that_wraps_is_refused(void **state)
{
    CAIRN_VEC(uint64_t) vec = {0};

    (void)state;
    assert_int_equal(cairn_vec_reserve(&vec, SIZE_MAX / 8 + 1, SIZE_MAX), -CAIRN_ENOMEM);
    assert_int_equal(cairn_vec_reserve(&vec, SIZE_MAX, SIZE_MAX), -CAIRN_ENOMEM);
    assert_null(vec.items);
    assert_int_equal(vec.cap, 0);
}

static void test_short_memory_changes_nothing(void **state)
{
    CAIRN_VEC(uint16_t) vec = {0};
    long failures = 0;

    (void)state;
    for (uint16_t i = 0; i < 100;) {
        size_t cap = vec.cap;
        uint16_t *items = vec.items;

        /* Every request that is made at all is made to fail first. */
        cairn_alloc_fail_after(0);
        if (cairn_vec_reserve(&vec, i + 1u, 100) == -CAIRN_ENOMEM) {
            assert_true(cairn_alloc_has_failed());
            assert_ptr_equal(vec.items, items);
            assert_int_equal(vec.cap, cap);
            failures++;
            cairn_alloc_fail_after(-1);
            assert_int_equal(cairn_vec_reserve(&vec, i + 1u, 100), 0);
        }
        cairn_alloc_fail_after(-1);
        vec.items[i] = i;
        i++;
    }
    assert_int_equal(failures, 5); /* 8, 16, 32, 64, 100 */
    for (uint16_t i = 0; i < 100; i++)
        assert_int_equal(vec.items[i], i);
    cairn_vec_release(&vec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_survive_growth_and_new_room_is_zero),
        cmocka_unit_test(test_the_ceiling_holds),
        cmocka_unit_test(test_a_size_that_wraps_is_refused),
        cmocka_unit_test(test_short_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
