#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "objects.h"
#include "pychains.h"
#include "pyread_parts.h"

#define CORO_BYTES 256
#define TOP (CORO_BYTES - 16) /* of its stack */
#define CODE UINT64_C(0x300000)
#define INSTR UINT64_C(0x300100)
#define CHAINS 4

/* The memory of a program of 3.14 in which coroutines await each other. */
struct world {
    struct objects objects;
    uint64_t type_coro, type_wrapper, type_other;
    struct cairn_pyread read;
    struct cairn_pychains chains;
    struct cairn_pypages pages;
};

static void await(struct world *world, uint64_t coro, uint64_t awaited)
{
    objects_put(&world->objects, coro + TOP - 8, awaited);
}

static void set_state(struct world *world, uint64_t coro, int status)
{
    world->objects.memory[coro - OBJECTS_BASE + world->read.runtime.layout.gen_state] =
        (uint8_t)status;
}

/* A coroutine that awaits. */
static uint64_t make_coro(struct world *world, uint64_t awaited)
{
    const struct cairn_pylayout *l = &world->read.runtime.layout;
    uint64_t coro = objects_make(&world->objects, CORO_BYTES, world->type_coro),
             frame = coro + l->gen_frame;

    assert_true(l->gen_frame + l->frame_size < TOP);
    set_state(world, coro, world->read.runtime.table->suspended + 1);
    objects_put(&world->objects, frame + l->frame_code, CODE);
    objects_put(&world->objects, frame + l->frame_instr, INSTR);
    objects_put(&world->objects, frame + l->frame_stackpointer, coro + TOP);
    await(world, coro, awaited);
    return coro;
}

static int setup(void **state)
{
    static struct world world;
    struct cairn_err err;

    memset(&world, 0, sizeof(world));
    objects_init(&world.objects, &world.read.runtime.layout);
    world.read.remote = (struct cairn_remote){.read = objects_read, .ctx = &world.objects};
    world.read.runtime.table = cairn_pytable_find(14);
    assert_int_equal(
        cairn_pylayout_from_table(world.read.runtime.table, &world.read.runtime.layout, &err), 0);
    world.type_coro = objects_make_type(&world.objects, "coroutine");
    world.type_wrapper = objects_make_type(&world.objects, "coroutine_wrapper");
    world.type_other = objects_make_type(&world.objects, "_asyncio.Future");
    cairn_pychains_init(&world.chains, CHAINS);
    cairn_pypages_init(&world.pages, CAIRN_PYPAGE_BYTES);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    cairn_pychains_release(&world->chains);
    cairn_pypages_release(&world->pages);
    return 0;
}

static uint32_t follow(struct world *world, uint64_t coro)
{
    uint32_t first = CAIRN_PYCHAIN_END;

    assert_int_equal(cairn_pypages_begin(&world->pages, &world->read.remote, false), 0);
    assert_int_equal(
        cairn_pychains_follow(&world->read, &world->chains, &world->pages, coro, &first), 0);
    return first;
}

static void confirm(struct world *world, uint32_t first)
{
    assert_int_equal(cairn_pypages_again(&world->pages, &world->read.remote), 0);
    cairn_pychains_confirm(&world->read, &world->chains, &world->pages, first);
}

/* How many links of a chain hold, and whether the last of them is said to await more. */
static size_t held(const struct world *world, uint32_t at, bool *ret_truncated)
{
    const struct cairn_pychain_link *links = world->chains.links.items;
    size_t count = 0;

    *ret_truncated = false;
    for (; at != CAIRN_PYCHAIN_END && links[at].holds; at = links[at].next) {
        *ret_truncated = links[at].truncated;
        count++;
    }
    return count;
}

static void test_a_chain_that_stays_holds(void **state)
{
    struct world *world = *state;
    uint64_t wrapper = objects_make(&world->objects, 32, world->type_wrapper);
    uint64_t coro = make_coro(world, wrapper);
    uint32_t first;
    bool truncated;

    objects_put(&world->objects, wrapper + 16,
                make_coro(world, objects_make(&world->objects, 64, world->type_other)));
    first = follow(world, coro);
    confirm(world, first);
    assert_true(cairn_pychains_holds(&world->chains, first));
    assert_int_equal(held(world, first, &truncated), 3);
    assert_false(truncated);
}

static void test_a_chain_that_is_too_deep_is_truncated(void **state)
{
    struct world *world = *state;
    uint64_t coro = 0;
    uint32_t first;
    bool truncated;

    for (int i = 0; i <= CAIRN_PYCHAIN_DEPTH_MAX; i++)
        coro = make_coro(world, coro);
    first = follow(world, coro);
    confirm(world, first);
    assert_int_equal(held(world, first, &truncated), CAIRN_PYCHAIN_DEPTH_MAX);
    assert_true(truncated);
}

/* Frames of coroutines that are over can seem to await each other. */
static void test_a_circle_is_torn_where_it_begins(void **state)
{
    struct world *world = *state;
    uint64_t inner = make_coro(world, 0), middle = make_coro(world, inner);
    uint32_t first;
    bool truncated;

    await(world, inner, middle);
    first = follow(world, make_coro(world, middle));
    confirm(world, first);
    assert_int_equal(world->chains.links.count, 3);
    assert_false(cairn_pychains_holds(&world->chains, first));
    assert_int_equal(held(world, first, &truncated), 1);
    assert_false(truncated);
    await(world, inner, inner);
    first = follow(world, inner);
    confirm(world, first);
    assert_int_equal(held(world, first, &truncated), 0);
}

/* The same place, awaiting something else: whose that is that was awaited, nobody knows. */
static void test_who_awaits_another_does_not_hold(void **state)
{
    struct world *world = *state;
    uint64_t other = objects_make(&world->objects, 64, world->type_other);
    uint64_t one = make_coro(world, other), two = make_coro(world, other);
    uint64_t wrapper = objects_make(&world->objects, 32, world->type_wrapper);
    uint64_t outer = make_coro(world, one), wrapping = make_coro(world, wrapper);
    uint32_t first, second;
    bool truncated;

    objects_put(&world->objects, wrapper + 16, one);
    first = follow(world, outer);
    await(world, outer, two);
    confirm(world, first);
    assert_int_equal(held(world, first, &truncated), 0);
    second = follow(world, wrapping);
    objects_put(&world->objects, wrapper + 16, two);
    confirm(world, second);
    assert_int_equal(held(world, second, &truncated), 1);
}

/* Seen on 3.15: a coroutine on its way out of a loop, as what another waits in. */
static void test_who_is_awaited_stands_still(void **state)
{
    struct world *world = *state;
    const struct cairn_pytable *table = world->read.runtime.table;
    const struct {
        int state;
        size_t held;
    } cases[] = {
        {table->suspended, 2},     {table->suspended + 1, 2}, {table->executing, 1},
        {table->executing + 1, 1}, {table->suspended - 1, 1},
    };
    uint64_t inner = make_coro(world, 0), outer = make_coro(world, inner);
    bool truncated;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t first;

        set_state(world, inner, cases[i].state);
        first = follow(world, outer);
        confirm(world, first);
        assert_int_equal(held(world, first, &truncated), cases[i].held);
        cairn_pychains_clear(&world->chains);
    }
}

/* Nobody awaits the first of a chain: it may run, or not have begun. */
static void test_the_first_may_run_and_is_not_over(void **state)
{
    struct world *world = *state;
    const struct cairn_pytable *table = world->read.runtime.table;
    uint64_t coro = make_coro(world, 0);
    bool truncated;

    for (int status = table->suspended - 1; status <= table->executing + 1; status++) {
        uint32_t first;

        set_state(world, coro, status);
        first = follow(world, coro);
        confirm(world, first);
        assert_int_equal(held(world, first, &truncated), status <= table->executing);
        assert_int_equal(cairn_pychains_runs(&world->read, &world->chains.links.items[first]),
                         status == table->executing);
        cairn_pychains_clear(&world->chains);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_chain_that_stays_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_chain_that_is_too_deep_is_truncated, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_circle_is_torn_where_it_begins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_awaits_another_does_not_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_is_awaited_stands_still, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_first_may_run_and_is_not_over, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
