#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "objects.h"
#include "pyread_parts.h"
#include "pytasksets.h"

#define TASK_BYTES 176
#define CORO_PLACE 136
#define SLOTS 8

/* The memory of a program whose interpreter has a set of tasks, and no thread that runs a loop. */
struct world {
    struct objects objects;
    uint64_t type_task, type_mine, type_coro, type_str, type_ref, type_other;
    uint64_t slots; /* of the set */
    struct cairn_pyread read;
    struct cairn_pytasksets sets;
    struct cairn_pychains chains;
    struct cairn_pypages pages;
    struct cairn_pytaskset_task told[SLOTS];
    size_t told_count;
};

static uint64_t make_type(struct world *world, const char *name, uint64_t size_bytes, uint64_t base)
{
    const struct cairn_pylayout *l = &world->read.runtime.layout;
    uint64_t type = objects_make_type(&world->objects, name);

    objects_put(&world->objects, type + l->type_basic_size, size_bytes);
    objects_put(&world->objects, type + l->type_base, base);
    return type;
}

static uint64_t make_task(struct world *world, uint64_t type, uint64_t size_bytes)
{
    uint64_t task = objects_make(&world->objects, size_bytes, type);

    objects_put(&world->objects, task + CORO_PLACE,
                objects_make(&world->objects, 64, world->type_coro));
    objects_put(&world->objects, task + CORO_PLACE + 8,
                objects_make(&world->objects, 64, world->type_str));
    return task;
}

static void refer(struct world *world, size_t slot, uint64_t task)
{
    const struct cairn_pylayout *l = &world->read.runtime.layout;
    uint64_t reference = objects_make(&world->objects, l->weakref_size, world->type_ref);

    objects_put(&world->objects, reference + l->weakref_object, task);
    objects_put(&world->objects, world->slots + slot * 16, reference);
}

static int setup(void **state)
{
    static struct world world;
    const struct cairn_pylayout *l = &world.read.runtime.layout;
    struct cairn_err err;
    uint64_t set;

    memset(&world, 0, sizeof(world));
    objects_init(&world.objects, &world.read.runtime.layout);
    world.read.remote = (struct cairn_remote){.read = objects_read, .ctx = &world.objects};
    world.read.runtime.table = cairn_pytable_find(12);
    assert_int_equal(
        cairn_pylayout_from_table(world.read.runtime.table, &world.read.runtime.layout, &err), 0);
    world.type_task = make_type(&world, "_asyncio.Task", TASK_BYTES, 0);
    world.type_mine = make_type(&world, "Mine", TASK_BYTES + 32, world.type_task);
    world.type_coro = make_type(&world, "coroutine", 64, 0);
    world.type_str = make_type(&world, "str", 64, 0);
    world.type_ref = make_type(&world, "weakref.ReferenceType", 64, 0);
    world.type_other = make_type(&world, "object", 16, 0);
    world.slots = objects_make(&world.objects, SLOTS * 16, 0);
    objects_put(&world.objects, world.slots + 8, 0);
    set = objects_make(&world.objects, l->set_size, make_type(&world, "set", l->set_size, 0));
    objects_put(&world.objects, set + l->set_mask, SLOTS - 1);
    objects_put(&world.objects, set + l->set_table, world.slots);
    assert_int_equal(cairn_vec_reserve(&world.sets.sets, 1, 1), 0);
    world.sets.sets.items[world.sets.sets.count++] = (struct cairn_pytaskset){.set = set};
    cairn_pychains_init(&world.chains, SLOTS);
    cairn_pypages_init(&world.pages, CAIRN_PYPAGE_BYTES);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    cairn_pytasksets_release(&world->sets);
    cairn_pychains_release(&world->chains);
    cairn_pypages_release(&world->pages);
    return 0;
}

static int take(void *ctx, const struct cairn_pytaskset_task *task)
{
    struct world *world = ctx;

    assert_true(world->told_count < SLOTS);
    world->told[world->told_count++] = *task;
    return 0;
}

static void tell(struct world *world)
{
    world->told_count = 0;
    assert_int_equal(cairn_pypages_begin(&world->pages, &world->read.remote, false), 0);
    assert_int_equal(cairn_pytasksets_each(&world->read, &world->sets, &world->chains,
                                           &world->pages, take, world),
                     0);
}

static void read_again(struct world *world)
{
    assert_int_equal(cairn_pypages_again(&world->pages, &world->read.remote), 0);
}

static bool is_there(struct world *world, size_t told)
{
    const struct cairn_pyview again = {.pages = &world->pages};
    bool there = false;

    assert_int_equal(
        cairn_pytasksets_is_there(&world->read, &world->sets, &again, &world->told[told], &there),
        0);
    return there;
}

static void test_a_task_is_told_by_its_reference(void **state)
{
    struct world *world = *state;
    uint64_t task = make_task(world, world->type_task, TASK_BYTES);
    uint64_t mine = make_task(world, world->type_mine, TASK_BYTES + 32);

    refer(world, 1, mine);
    refer(world, 4, task);
    tell(world);
    assert_int_equal(world->told_count, 2);
    assert_int_equal(world->sets.task_size, TASK_BYTES);
    assert_int_equal(world->sets.task_coro, CORO_PLACE);
    assert_int_equal(world->told[0].address, mine);
    assert_int_equal(world->told[1].address, task);
    assert_int_equal(world->told[1].name, world->told[1].coro + 64);
    assert_null(world->told[1].thread);
    assert_false(world->told[1].runs);
    read_again(world);
    assert_true(is_there(world, 0) && is_there(world, 1));
}

static void test_slots_that_hold_no_task_are_passed_over(void **state)
{
    struct world *world = *state;

    objects_put(
        &world->objects, world->slots,
        objects_make(&world->objects, 16, world->type_other)); /* a reference was taken out */
    refer(world, 2,
          objects_make(&world->objects, 16, world->type_other)); /* None: that task is over */
    refer(world, 3, OBJECTS_BASE + OBJECTS_BYTES + 64);          /* its memory is gone */
    refer(world, 7, make_task(world, world->type_task, TASK_BYTES));
    tell(world);
    assert_int_equal(world->told_count, 1);
}

static void test_a_coroutine_at_two_places_is_not_believed(void **state)
{
    struct world *world = *state;
    uint64_t task = make_task(world, world->type_task, TASK_BYTES);

    objects_put(&world->objects, task + 40, objects_make(&world->objects, 64, world->type_coro));
    objects_put(&world->objects, task + 48, objects_make(&world->objects, 64, world->type_str));
    refer(world, 0, task);
    tell(world);
    assert_int_equal(world->told_count, 0);
    assert_int_equal(world->sets.task_size, 0);
    objects_put(&world->objects, task + 48,
                objects_make(&world->objects, 64, world->type_other)); /* no name behind it */
    tell(world);
    assert_int_equal(world->told_count, 1);
    assert_int_equal(world->sets.task_coro, CORO_PLACE);
}

static void test_a_task_that_ends_meanwhile_is_there_no_more(void **state)
{
    const struct cairn_pylayout *l;
    struct world *world = *state;

    l = &world->read.runtime.layout;
    refer(world, 0, make_task(world, world->type_task, TASK_BYTES));
    refer(world, 1, make_task(world, world->type_task, TASK_BYTES));
    tell(world);
    assert_int_equal(world->told_count, 2);
    objects_put(&world->objects, world->told[0].address + CORO_PLACE, 0);
    objects_put(&world->objects, world->told[1].reference + l->weakref_object, 0);
    read_again(world);
    assert_false(is_there(world, 0));
    assert_false(is_there(world, 1));
}

static void test_a_set_that_is_none_any_more_is_given_up(void **state)
{
    struct world *world = *state;

    objects_put(&world->objects,
                world->sets.sets.items[0].set + world->read.runtime.layout.object_type,
                world->type_other);
    tell(world);
    assert_int_equal(world->sets.sets.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_task_is_told_by_its_reference, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slots_that_hold_no_task_are_passed_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_coroutine_at_two_places_is_not_believed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_task_that_ends_meanwhile_is_there_no_more, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_set_that_is_none_any_more_is_given_up, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
