#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "arena.h"

static void test_what_is_handed_out_is_zero_aligned_and_stays(void **state)
{
    /* From one byte to more than the largest ordinary block. */
    static const size_t sizes[] = {1, 15, 16, 17, 4096, 3, 70000, 1, 3 << 20, 8, 0, 5};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    struct cairn_arena arena;
    uint8_t *given[COUNT];

    (void)state;
    cairn_arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < COUNT; i++) {
        given[i] = cairn_arena_alloc(&arena, sizes[i]);
        assert_non_null(given[i]);
        assert_int_equal((uintptr_t)given[i] % 16, 0);
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(given[i][at], 0);
        memset(given[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(given[i][at], i + 1);
    cairn_arena_release(&arena);
}

static void test_a_large_request_leaves_the_rest_of_the_block_in_use(void **state)
{
    struct cairn_arena arena;
    uint8_t *before, *after;

    (void)state;
    cairn_arena_init(&arena, SIZE_MAX);
    before = cairn_arena_alloc(&arena, 16);
    assert_non_null(cairn_arena_alloc(&arena, 1 << 20));
    after = cairn_arena_alloc(&arena, 16);
    assert_ptr_equal(after, before + 16);
    cairn_arena_release(&arena);
}

static void test_a_copy_holds_any_byte_and_ends_in_a_nul(void **state)
{
    struct cairn_arena arena;
    char *copy, *empty;

    (void)state;
    cairn_arena_init(&arena, 1000);
    copy = cairn_arena_dup(&arena, "a\0b", 3);
    assert_memory_equal(copy, "a\0b", 4);
    empty = cairn_arena_dup(&arena, NULL, 0);
    assert_string_equal(empty, "");
    /* Whatever lies before it, memory for structs is aligned. */
    assert_int_equal((uintptr_t)cairn_arena_alloc(&arena, 8) % 16, 0);
    cairn_arena_release(&arena);
}

static void test_a_block_without_room_for_the_padding_is_left(void **state)
{
    struct cairn_arena arena;
    uint8_t *copy, *bytes;
    char odd[4999] = {1};

    (void)state;
    cairn_arena_init(&arena, SIZE_MAX);
    copy = cairn_arena_dup(&arena, odd, sizeof(odd)); /* fills its block to the last byte */
    bytes = cairn_arena_alloc(&arena, 16);
    assert_non_null(bytes);
    memset(bytes, 1, 16);
    assert_memory_equal(copy, odd, sizeof(odd));
    cairn_arena_release(&arena);
}

static void test_the_ceiling_holds(void **state)
{
    struct cairn_arena arena;

    (void)state;
    cairn_arena_init(&arena, 64);
    assert_null(cairn_arena_alloc(&arena, 65));
    assert_null(cairn_arena_alloc(&arena, SIZE_MAX));
    assert_null(cairn_arena_alloc(&arena, SIZE_MAX - 15));
    assert_null(cairn_arena_dup(&arena, "", SIZE_MAX));
    assert_null(cairn_arena_dup(&arena, "", SIZE_MAX - 1));
    assert_int_equal(arena.used_bytes, 0);

    assert_non_null(cairn_arena_alloc(&arena, 33)); /* takes 48 */
    assert_null(cairn_arena_alloc(&arena, 17));
    assert_null(cairn_arena_dup(&arena, "0123456789abcdef", 16));
    assert_non_null(cairn_arena_dup(&arena, "0123456789abcde", 15));
    assert_int_equal(arena.used_bytes, 64);
    assert_null(cairn_arena_alloc(&arena, 0));

    cairn_arena_release(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_non_null(cairn_arena_alloc(&arena, 64)); /* usable again */
    cairn_arena_release(&arena);
    cairn_arena_release(&arena);
}

static void test_short_memory_is_said_and_changes_nothing(void **state)
{
    struct cairn_arena arena;

    (void)state;
    cairn_arena_init(&arena, SIZE_MAX);
    assert_null(cairn_arena_alloc(&arena, SIZE_MAX)); /* the block's head would make it wrap */
    for (long n = 0;; n++) {
        bool all = true;

        cairn_arena_release(&arena);
        cairn_alloc_fail_after(n);
        for (size_t i = 0; i < 100; i++) {
            size_t used = arena.used_bytes;

            if (cairn_arena_alloc(&arena, 1000) == NULL) {
                all = false;
                assert_int_equal(arena.used_bytes, used);
            }
        }
        assert_int_equal(all, !cairn_alloc_has_failed());
        cairn_alloc_fail_after(-1);
        if (all) {
            assert_true(n > 1); /* something was there to fail */
            break;
        }
    }
    cairn_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_handed_out_is_zero_aligned_and_stays),
        cmocka_unit_test(test_a_large_request_leaves_the_rest_of_the_block_in_use),
        cmocka_unit_test(test_a_copy_holds_any_byte_and_ends_in_a_nul),
        cmocka_unit_test(test_a_block_without_room_for_the_padding_is_left),
        cmocka_unit_test(test_the_ceiling_holds),
        cmocka_unit_test(test_short_memory_is_said_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
