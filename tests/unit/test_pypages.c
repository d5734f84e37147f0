#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pypages.h"

#define BASE UINT64_C(0x10000)
#define COUNT 4 /* pages that are there */

/* A process with some memory, that is gone when it is told so. */
struct world {
    uint8_t memory[COUNT * CAIRN_PYPAGE_BYTES];
    bool gone;
    unsigned reads;
    size_t parts;  /* of the last read */
    uint64_t hole; /* a page that cannot be read; 0: none */
    struct cairn_remote remote;
    struct cairn_pypages pages;
};

static int read_world(void *ctx, const struct cairn_remote_part *parts, size_t count,
                      size_t *ret_parts)
{
    struct world *world = ctx;

    world->reads++;
    world->parts = count;
    *ret_parts = 0;
    if (world->gone)
        return -CAIRN_EGONE;
    for (size_t i = 0; i < count; i++, ++*ret_parts) {
        if (parts[i].address < BASE ||
            parts[i].address - BASE > sizeof(world->memory) - parts[i].size_bytes ||
            (parts[i].address <= world->hole &&
             world->hole < parts[i].address + parts[i].size_bytes))
            return i ? -CAIRN_ESHORT : -CAIRN_EUNREADABLE;
        memcpy(parts[i].data, world->memory + (parts[i].address - BASE), parts[i].size_bytes);
    }
    return 0;
}

static int setup(void **state)
{
    static struct world world;

    world = (struct world){.remote = {.read = read_world, .ctx = &world}};
    for (size_t i = 0; i < sizeof(world.memory); i++)
        world.memory[i] = (uint8_t)(i / 16);
    cairn_pypages_init(&world.pages, CAIRN_PYPAGE_BYTES);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    cairn_pypages_release(&((struct world *)*state)->pages);
    return 0;
}

static int get(struct world *world, uint64_t at, uint8_t *data, size_t size_bytes)
{
    return cairn_pypages_get(&world->pages, &world->remote, BASE + at, data, size_bytes);
}

static int get_again(struct world *world, uint64_t at, uint8_t *data, size_t size_bytes)
{
    const struct cairn_pyview view = {.pages = &world->pages};

    return cairn_pyview_get(&view, BASE + at, data, size_bytes);
}

static void test_a_round_sees_one_moment_and_then_another(void **state)
{
    struct world *world = *state;
    uint8_t data[64], again[64];
    const uint64_t at = CAIRN_PYPAGE_BYTES - 20; /* in two pages */

    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, false), 0);
    assert_int_equal(get(world, at, data, sizeof(data)), 0);
    assert_memory_equal(data, world->memory + at, sizeof(data));
    world->memory[at + 40]++;
    assert_int_equal(get(world, at, again, sizeof(again)), 0);
    assert_memory_equal(data, again, sizeof(data)); /* as it stood */
    assert_int_equal(get_again(world, at, again, sizeof(again)), -CAIRN_EUNREADABLE);
    assert_int_equal(cairn_pypages_again(&world->pages, &world->remote), 0);
    assert_int_equal(get_again(world, at, again, sizeof(again)), 0);
    assert_memory_equal(again, world->memory + at, sizeof(again));
    assert_int_not_equal(again[40], data[40]);
}

static void test_pages_of_the_round_before_take_two_reads(void **state)
{
    struct world *world = *state;
    uint8_t byte;

    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, false), 0);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(get(world, i * CAIRN_PYPAGE_BYTES, &byte, 1), 0);
    world->reads = 0;
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, false), 0);
    world->memory[0]++;
    assert_int_equal(get(world, 0, &byte, 1), 0);
    assert_int_equal(byte, (uint8_t)(world->memory[0] - 1));
    assert_int_equal(cairn_pypages_again(&world->pages, &world->remote), 0);
    assert_int_equal(world->reads, 2);
    assert_int_equal(get_again(world, 0, &byte, 1), 0);
    assert_int_equal(byte, world->memory[0]);
    assert_int_equal(get_again(world, CAIRN_PYPAGE_BYTES, &byte, 1), -CAIRN_EUNREADABLE);
    for (int i = 0; i < 20; i++)
        assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, false), 0);
    assert_int_equal(world->pages.pages.count, 0); /* nobody looked at any of them */
}

static void test_pages_that_are_wanted_are_read_at_once_and_again(void **state)
{
    struct world *world = *state;
    uint8_t byte;

    for (uint64_t i = 1; i < COUNT; i++) {
        assert_int_equal(cairn_pypages_want(&world->pages, BASE + i * CAIRN_PYPAGE_BYTES + 8, 8),
                         0);
        assert_int_equal(cairn_pypages_want(&world->pages, BASE + i * CAIRN_PYPAGE_BYTES, 8), 0);
    }
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, true), 0);
    assert_int_equal(world->reads, 1);
    world->memory[CAIRN_PYPAGE_BYTES]++;
    for (uint64_t i = 1; i < COUNT; i++)
        assert_int_equal(get(world, i * CAIRN_PYPAGE_BYTES, &byte, 1), 0);
    assert_int_equal(cairn_pypages_again(&world->pages, &world->remote), 0);
    assert_int_equal(world->reads, 1);
    assert_int_equal(get_again(world, CAIRN_PYPAGE_BYTES, &byte, 1), 0);
    assert_int_equal(byte, (uint8_t)(world->memory[CAIRN_PYPAGE_BYTES] - 1));
}

static void test_pages_side_by_side_are_one_part(void **state)
{
    struct world *world = *state;
    uint8_t byte;

    for (uint64_t i = COUNT; i-- > 0;) /* in whichever order they were met */
        if (i != 1)
            assert_int_equal(cairn_pypages_want(&world->pages, BASE + i * CAIRN_PYPAGE_BYTES, 1),
                             0);
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, false), 0);
    assert_int_equal(world->parts, 2);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(get(world, i * CAIRN_PYPAGE_BYTES + 16, &byte, 1), 0);
        assert_int_equal(byte, world->memory[i * CAIRN_PYPAGE_BYTES + 16]);
    }
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, true), 0);
    assert_int_equal(world->parts, 2); /* all, and all again */
    world->memory[16]++;
    assert_int_equal(get_again(world, 16, &byte, 1), 0);
    assert_int_equal(byte, (uint8_t)(world->memory[16] - 1));
}

/* One that was given back hides none of those beside it. */
static void test_a_page_that_is_gone_leaves_those_beside_it(void **state)
{
    struct world *world = *state;
    uint8_t byte;

    assert_int_equal(cairn_pypages_want(&world->pages, BASE, COUNT * CAIRN_PYPAGE_BYTES), 0);
    world->hole = BASE + 2 * CAIRN_PYPAGE_BYTES;
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, true), 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        int code = i == 2 ? -CAIRN_EUNREADABLE : 0;

        assert_int_equal(get(world, i * CAIRN_PYPAGE_BYTES, &byte, 1), code);
        assert_int_equal(get_again(world, i * CAIRN_PYPAGE_BYTES, &byte, 1), code);
    }
}

static void test_small_pages_hold_no_more_than_was_wanted(void **state)
{
    struct world *world = *state;
    uint8_t data[600], again[600];

    cairn_pypages_release(&world->pages);
    cairn_pypages_init(&world->pages, CAIRN_PYPAGE_SMALL_BYTES);
    assert_int_equal(cairn_pypages_want(&world->pages, BASE + 200, sizeof(data)), 0);
    assert_int_equal(cairn_pypages_want(&world->pages, UINT64_MAX - 8, sizeof(data)), 0);
    assert_int_equal(world->pages.pages.count, 4);
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, true), 0);
    assert_int_equal(world->reads, 1);
    assert_int_equal(world->parts, 2);
    world->memory[300]++;
    assert_int_equal(get(world, 200, data, sizeof(data)), 0);
    assert_int_equal(get_again(world, 200, again, sizeof(again)), 0);
    assert_memory_equal(data, again, sizeof(data));
    assert_int_equal(data[100], (uint8_t)(world->memory[300] - 1));
    assert_int_equal(world->reads, 1);
}

/* Two pages whose times do not meet cannot be of one moment. */
static void test_a_page_that_is_added_has_all_read_again(void **state)
{
    struct world *world = *state;
    uint8_t byte;

    assert_int_equal(cairn_pypages_want(&world->pages, BASE, 1), 0);
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, true), 0);
    assert_int_equal(get(world, 0, &byte, 1), 0);
    world->memory[0]++;
    assert_int_equal(get(world, CAIRN_PYPAGE_BYTES, &byte, 1), 0);
    assert_int_equal(cairn_pypages_again(&world->pages, &world->remote), 0);
    assert_int_equal(get_again(world, 0, &byte, 1), 0);
    assert_int_equal(byte, world->memory[0]);
}

static void test_who_reads_from_a_remote_reads_the_pages(void **state)
{
    struct world *world = *state;
    struct cairn_pyview view = {&world->pages, &world->remote};
    struct cairn_remote remote;
    uint8_t data[3][16];
    const struct cairn_remote_part parts[] = {
        {BASE + 32, data[0], 16}, {BASE, data[1], 8}, {BASE - 8, data[2], 8}};
    size_t done;

    cairn_pyview_remote(&view, &remote);
    assert_int_equal(cairn_remote_read(&remote, parts, 2, &done), 0);
    assert_int_equal(done, 2);
    assert_memory_equal(data[0], world->memory + 32, 16);
    assert_int_equal(cairn_remote_read(&remote, parts, 3, &done), -CAIRN_ESHORT);
    assert_int_equal(done, 2);
    assert_int_equal(cairn_remote_read(&remote, parts + 2, 1, &done), -CAIRN_EUNREADABLE);
    assert_int_equal(done, 0);
    assert_int_equal(cairn_pypages_again(&world->pages, &world->remote), 0);
    view.remote = NULL;
    assert_int_equal(cairn_remote_read(&remote, parts, 2, &done), 0);
}

static void test_memory_that_is_not_there_is_told(void **state)
{
    struct world *world = *state;
    uint8_t data[16];
    const uint64_t end = COUNT * (uint64_t)CAIRN_PYPAGE_BYTES;

    assert_int_equal(cairn_pypages_want(&world->pages, BASE + end, 1), 0);
    assert_int_equal(cairn_pypages_want(&world->pages, BASE, 1), 0);
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, false), 0);
    assert_int_equal(get(world, 0, data, sizeof(data)), 0);
    assert_int_equal(get(world, end - 8, data, sizeof(data)), -CAIRN_EUNREADABLE);
    assert_int_equal(get(world, end - 8, data, 8), 0);
    assert_int_equal(get(world, UINT64_MAX - BASE - 3, data, sizeof(data)), -CAIRN_EUNREADABLE);
    assert_int_equal(cairn_pypages_again(&world->pages, &world->remote), 0);
    assert_int_equal(get_again(world, end - 8, data, 8), 0);
    assert_int_equal(get_again(world, end - 8, data, 16), -CAIRN_EUNREADABLE);
    world->gone = true;
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->remote, false), -CAIRN_EGONE);
    cairn_pypages_clear(&world->pages);
    assert_int_equal(get(world, 0, data, 1), -CAIRN_EGONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_round_sees_one_moment_and_then_another, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_pages_of_the_round_before_take_two_reads, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_pages_that_are_wanted_are_read_at_once_and_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_side_by_side_are_one_part, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_page_that_is_gone_leaves_those_beside_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_small_pages_hold_no_more_than_was_wanted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_page_that_is_added_has_all_read_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_who_reads_from_a_remote_reads_the_pages, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_memory_that_is_not_there_is_told, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
