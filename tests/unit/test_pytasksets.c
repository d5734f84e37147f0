#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pyread_parts.h"
#include "pytasksets.h"

#define BASE UINT64_C(0x200000)
#define MEMORY_BYTES (UINT64_C(16) * CAIRN_PYPAGE_BYTES)
#define TASK_BYTES 176
#define CORO_PLACE 136
#define SLOTS 8

/* The memory of a program whose interpreter has a set of tasks, and no thread that runs a loop. */
struct world {
    uint8_t memory[MEMORY_BYTES];
    uint64_t used;
    uint64_t type_task, type_mine, type_coro, type_str, type_ref, type_other;
    uint64_t slots; /* of the set */
    struct cairn_pyread read;
    struct cairn_pytasksets sets;
    struct cairn_pychains chains;
    struct cairn_pypages pages;
    struct cairn_pytaskset_task told[SLOTS];
    size_t told_count;
};

static int read_world(void *ctx, const struct cairn_remote_part *parts, size_t count,
                      size_t *ret_parts)
{
    struct world *world = ctx;

    for (*ret_parts = 0; *ret_parts < count; ++*ret_parts) {
        const struct cairn_remote_part *part = &parts[*ret_parts];

        if (part->address < BASE || part->address - BASE > MEMORY_BYTES - part->size_bytes)
            return *ret_parts ? -CAIRN_ESHORT : -CAIRN_EUNREADABLE;
        memcpy(part->data, world->memory + (part->address - BASE), part->size_bytes);
    }
    return 0;
}

static void put(struct world *world, uint64_t address, uint64_t value)
{
    memcpy(world->memory + (address - BASE), &value, sizeof(value));
}

static uint64_t make(struct world *world, uint64_t size_bytes, uint64_t type)
{
    uint64_t address = BASE + world->used;

    world->used += (size_bytes + 15) / 16 * 16;
    assert_true(world->used <= MEMORY_BYTES);
    put(world, address + world->read.runtime.layout.object_type, type);
    return address;
}

static uint64_t make_type(struct world *world, const char *name, uint64_t size_bytes, uint64_t base)
{
    const struct cairn_pylayout *l = &world->read.runtime.layout;
    uint64_t type = make(world, l->type_size, 0), text = make(world, 64, 0);

    memcpy(world->memory + (text - BASE), name, strlen(name) + 1);
    put(world, type + l->type_name, text);
    put(world, type + l->type_basic_size, size_bytes);
    put(world, type + l->type_base, base);
    return type;
}

static uint64_t make_task(struct world *world, uint64_t type, uint64_t size_bytes)
{
    uint64_t task = make(world, size_bytes, type);

    put(world, task + CORO_PLACE, make(world, 64, world->type_coro));
    put(world, task + CORO_PLACE + 8, make(world, 64, world->type_str));
    return task;
}

static void refer(struct world *world, size_t slot, uint64_t task)
{
    const struct cairn_pylayout *l = &world->read.runtime.layout;
    uint64_t reference = make(world, l->weakref_size, world->type_ref);

    put(world, reference + l->weakref_object, task);
    put(world, world->slots + slot * 16, reference);
}

static int setup(void **state)
{
    static struct world world;
    const struct cairn_pylayout *l = &world.read.runtime.layout;
    struct cairn_err err;
    uint64_t set;

    memset(&world, 0, sizeof(world));
    world.used = 64;
    world.read.remote = (struct cairn_remote){.read = read_world, .ctx = &world};
    world.read.runtime.table = cairn_pytable_find(12);
    assert_int_equal(
        cairn_pylayout_from_table(world.read.runtime.table, &world.read.runtime.layout, &err), 0);
    world.type_task = make_type(&world, "_asyncio.Task", TASK_BYTES, 0);
    world.type_mine = make_type(&world, "Mine", TASK_BYTES + 32, world.type_task);
    world.type_coro = make_type(&world, "coroutine", 64, 0);
    world.type_str = make_type(&world, "str", 64, 0);
    world.type_ref = make_type(&world, "weakref.ReferenceType", 64, 0);
    world.type_other = make_type(&world, "object", 16, 0);
    world.slots = make(&world, SLOTS * 16, 0);
    put(&world, world.slots + 8, 0);
    set = make(&world, l->set_size, make_type(&world, "set", l->set_size, 0));
    put(&world, set + l->set_mask, SLOTS - 1);
    put(&world, set + l->set_table, world.slots);
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

    put(world, world->slots, make(world, 16, world->type_other)); /* a reference was taken out */
    refer(world, 2, make(world, 16, world->type_other));          /* None: that task is over */
    refer(world, 3, BASE + MEMORY_BYTES + 64);                    /* its memory is gone */
    refer(world, 7, make_task(world, world->type_task, TASK_BYTES));
    tell(world);
    assert_int_equal(world->told_count, 1);
}

static void test_a_coroutine_at_two_places_is_not_believed(void **state)
{
    struct world *world = *state;
    uint64_t task = make_task(world, world->type_task, TASK_BYTES);

    put(world, task + 40, make(world, 64, world->type_coro));
    put(world, task + 48, make(world, 64, world->type_str));
    refer(world, 0, task);
    tell(world);
    assert_int_equal(world->told_count, 0);
    assert_int_equal(world->sets.task_size, 0);
    put(world, task + 48, make(world, 64, world->type_other)); /* no name behind it */
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
    put(world, world->told[0].address + CORO_PLACE, 0);
    put(world, world->told[1].reference + l->weakref_object, 0);
    read_again(world);
    assert_false(is_there(world, 0));
    assert_false(is_there(world, 1));
}

static void test_a_set_that_is_none_any_more_is_given_up(void **state)
{
    struct world *world = *state;

    put(world, world->sets.sets.items[0].set + world->read.runtime.layout.object_type,
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
