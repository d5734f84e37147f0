#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pyblocks.h"

#define PAGE UINT64_C(4096)
#define BASE (UINT64_C(16) * PAGE)
#define FRAME_BYTES 120

static uint8_t memory[16 * 4096];

static int setup(void **state)
{
    static struct cairn_pyblocks blocks;

    for (size_t i = 0; i < sizeof(memory); i++)
        memory[i] = (uint8_t)(i / 8);
    memset(&blocks, 0, sizeof(blocks));
    *state = &blocks;
    return 0;
}

static int teardown(void **state)
{
    cairn_pyblocks_release(*state);
    return 0;
}

static void add(struct cairn_pyblocks *blocks, uint64_t at, uint64_t tick, uint32_t from_leaf)
{
    assert_int_equal(cairn_pyblocks_add(blocks, BASE + at, FRAME_BYTES, tick, from_leaf), 0);
}

/* Plans the read at `tick`, and copies what the runs ask for. */
static void copy_all(struct cairn_pyblocks *blocks, uint64_t tick, size_t most_pages)
{
    assert_int_equal(cairn_pyblocks_plan(blocks, tick, most_pages), 0);
    for (size_t i = 0; i < blocks->runs.count; i++)
        cairn_pyblocks_take(blocks, i, memory + (blocks->runs.items[i].address - BASE), tick - 1);
}

static const uint8_t *look(struct cairn_pyblocks *blocks, uint64_t at, uint64_t tick,
                           size_t *ret_run)
{
    return cairn_pyblocks_at(blocks, BASE + at, FRAME_BYTES, tick, 0, ret_run);
}

static void test_neighbours_are_read_as_one_piece(void **state)
{
    struct cairn_pyblocks *blocks = *state;
    size_t run;

    assert_null(look(blocks, 0, 1, &run));
    add(blocks, 3 * PAGE + 1000, 1, 2);
    add(blocks, 200, 1, 5);
    add(blocks, PAGE - 50, 1, 4); /* ends in the next page */
    add(blocks, PAGE + 3000, 1, 3);
    add(blocks, 9 * PAGE, 1, 1); /* pages without a frame lie in between */
    copy_all(blocks, 2, SIZE_MAX);
    assert_int_equal(blocks->runs.count, 3);
    assert_int_equal(blocks->runs.items[0].address, BASE + 9 * PAGE); /* nearest to the leaf */
    assert_int_equal(blocks->runs.items[1].address, BASE + 3 * PAGE + 1000);
    assert_int_equal(blocks->runs.items[2].address, BASE + 200);
    assert_int_equal(blocks->runs.items[2].size_bytes, PAGE + 3000 + FRAME_BYTES - 200);
    assert_ptr_equal(look(blocks, PAGE - 50, 2, &run), memory + PAGE - 50);
    assert_int_equal(run, 2);
    assert_ptr_equal(look(blocks, 9 * PAGE, 2, &run), memory + 9 * PAGE);
    assert_int_equal(run, 0);
}

static void test_what_nobody_expected_lies_between_others(void **state)
{
    struct cairn_pyblocks *blocks = *state;
    size_t run;

    add(blocks, 0, 1, 0);
    add(blocks, 2000, 1, 1);
    copy_all(blocks, 2, SIZE_MAX);
    assert_ptr_equal(look(blocks, 1000, 2, &run), memory + 1000);
    assert_null(look(blocks, 2008, 2, &run)); /* its end was not copied */
    assert_null(look(blocks, PAGE, 2, &run));
    add(blocks, 2008, 2, 0);
    assert_null(look(blocks, 2008, 2, &run)); /* nothing is there before the next read */
    copy_all(blocks, 2, SIZE_MAX);
    assert_ptr_equal(look(blocks, 2008, 2, &run), memory + 2008);
}

static void test_runs_are_no_longer_than_asked_for(void **state)
{
    struct cairn_pyblocks *blocks = *state;
    size_t run;

    for (uint32_t i = 0; i < 7; i++)
        add(blocks, i * PAGE + 100, 1, 6 - i);
    copy_all(blocks, 2, 3);
    assert_int_equal(blocks->runs.count, 3);
    assert_int_equal(blocks->runs.items[0].count, 1);
    for (uint32_t i = 0; i < 7; i++) {
        assert_ptr_equal(look(blocks, i * PAGE + 100, 2, &run), memory + i * PAGE + 100);
        assert_int_equal(run, 2 - i / 3);
    }
}

static void test_pages_that_are_not_used_are_forgotten(void **state)
{
    struct cairn_pyblocks *blocks = *state;
    size_t run;

    add(blocks, 0, 1, 0);
    add(blocks, 8 * PAGE, 1, 1);
    copy_all(blocks, 2, SIZE_MAX);
    assert_non_null(look(blocks, 0, 2, &run));
    copy_all(blocks, 1 + CAIRN_PYBLOCKS_TICKS, SIZE_MAX);
    assert_int_equal(blocks->runs.count, 2);
    copy_all(blocks, 2 + CAIRN_PYBLOCKS_TICKS, SIZE_MAX);
    assert_int_equal(blocks->runs.count, 1);
    assert_non_null(look(blocks, 0, 3 + CAIRN_PYBLOCKS_TICKS, &run));
    assert_null(look(blocks, 8 * PAGE, 3 + CAIRN_PYBLOCKS_TICKS, &run));
}

static void test_a_page_that_went_takes_only_itself_along(void **state)
{
    struct cairn_pyblocks *blocks = *state;
    size_t run;

    add(blocks, 0, 7, 0);
    add(blocks, PAGE, 6, 1);
    assert_int_equal(cairn_pyblocks_plan(blocks, 8, SIZE_MAX), 0);
    assert_int_equal(blocks->runs.count, 1);
    cairn_pyblocks_take(blocks, 0, NULL, 7); /* the second one is gone */
    assert_null(look(blocks, 0, 8, &run));
    copy_all(blocks, 9, SIZE_MAX);
    assert_int_equal(blocks->runs.items[0].size_bytes, FRAME_BYTES);
    assert_non_null(look(blocks, 0, 9, &run));
}

static void test_what_a_deep_stack_leaves_is_read_if_it_came_back(void **state)
{
    struct cairn_pyblocks *blocks = *state;
    size_t run;

    for (uint32_t i = 0; i < CAIRN_PYBLOCKS_FEW; i++)
        add(blocks, i * PAGE, 1, i);
    copy_all(blocks, 3, SIZE_MAX);
    assert_non_null(look(blocks, 2 * PAGE, 2, &run)); /* few: all are read */
    add(blocks, CAIRN_PYBLOCKS_FEW * PAGE, 2, 0);
    add(blocks, (CAIRN_PYBLOCKS_FEW + 1) * PAGE, 2, 0);
    copy_all(blocks, 3, SIZE_MAX);             /* 11 idle ones */
    assert_non_null(look(blocks, 0, 3, &run)); /* away at 2, so it came back */
    copy_all(blocks, 5, SIZE_MAX);             /* all idle */
    assert_non_null(look(blocks, 0, 5, &run));
    assert_null(look(blocks, PAGE, 5, &run));
    add(blocks, PAGE, 5, 1); /* was followed by itself */
    copy_all(blocks, 7, SIZE_MAX);
    assert_non_null(look(blocks, PAGE, 7, &run));
    assert_null(look(blocks, 3 * PAGE, 7, &run));
}

static void test_nothing_lies_at_the_end_of_memory(void **state)
{
    struct cairn_pyblocks *blocks = *state;

    assert_int_equal(cairn_pyblocks_add(blocks, UINT64_MAX - 7, FRAME_BYTES, 1, 0), 0);
    assert_int_equal(blocks->blocks.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_neighbours_are_read_as_one_piece, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_nobody_expected_lies_between_others, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_runs_are_no_longer_than_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_that_are_not_used_are_forgotten, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_page_that_went_takes_only_itself_along, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_a_deep_stack_leaves_is_read_if_it_came_back,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_lies_at_the_end_of_memory, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
