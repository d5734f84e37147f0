#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "objects.h"
#include "pytasks_parts.h"

#define CORO_BYTES 256
#define TOP (CORO_BYTES - 16) /* of its stack */
#define TASK_BYTES 96
#define NAME 24
#define IS_TASK 32
#define CORO 40
#define NODE 48
#define LOOP UINT64_C(0x700000)

/* A program of 3.14 with one task. */
struct world {
    struct objects objects;
    struct cairn_pyread read;
    struct cairn_pytasks tasks;
    uint64_t type_coro, task, coro;
    int reads;
};

static int count_reads(void *ctx, const struct cairn_remote_part *parts, size_t count,
                       size_t *ret_parts)
{
    struct world *world = ctx;

    world->reads++;
    return objects_read(&world->objects, parts, count, ret_parts);
}

/* A coroutine that awaits something that is none. */
static uint64_t make_coro(struct world *world)
{
    const struct cairn_pylayout *l = &world->read.runtime.layout;
    uint64_t coro = objects_make(&world->objects, CORO_BYTES, world->type_coro),
             frame = coro + l->gen_frame;

    assert_true(l->gen_frame + l->frame_size < TOP);
    world->objects.memory[coro - OBJECTS_BASE + l->gen_state] =
        (uint8_t)(world->read.runtime.table->suspended + 1);
    objects_put(&world->objects, frame + l->frame_code, UINT64_C(0x300000));
    objects_put(&world->objects, frame + l->frame_instr, UINT64_C(0x300100));
    objects_put(&world->objects, frame + l->frame_stackpointer, coro + TOP);
    objects_put(&world->objects, coro + TOP - 8,
                objects_make(&world->objects, 64, objects_make_type(&world->objects, "Event")));
    return coro;
}

static int setup(void **state)
{
    static struct world world;
    struct cairn_err err;

    memset(&world, 0, sizeof(world));
    objects_init(&world.objects, &world.read.runtime.layout);
    world.read.remote = (struct cairn_remote){.read = count_reads, .ctx = &world};
    world.read.runtime.table = cairn_pytable_find(14);
    assert_int_equal(
        cairn_pylayout_from_table(world.read.runtime.table, &world.read.runtime.layout, &err), 0);
    world.read.tasks = &world.tasks;
    world.tasks.places = (struct cairn_pytaskplaces){.task_size = TASK_BYTES,
                                                     .task_name = NAME,
                                                     .task_is_task = IS_TASK,
                                                     .task_coro = CORO,
                                                     .task_node = NODE};
    cairn_pychains_init(&world.tasks.chains, 64);
    cairn_pypages_init(&world.tasks.alone, CAIRN_PYPAGE_SMALL_BYTES);
    cairn_buf_init(&world.tasks.own_names, 4096);
    world.type_coro = objects_make_type(&world.objects, "coroutine");
    world.task = objects_make(&world.objects, TASK_BYTES,
                              objects_make_type(&world.objects, "_asyncio.Task"));
    world.coro = make_coro(&world);
    objects_put(&world.objects, world.task + CAIRN_PYTASK_LOOP, LOOP);
    objects_put(&world.objects, world.task + NAME,
                objects_make(&world.objects, 32, objects_make_type(&world.objects, "int")));
    objects_put(&world.objects, world.task + IS_TASK, 1);
    objects_put(&world.objects, world.task + CORO, world.coro);
    objects_put(&world.objects, world.task + NODE, UINT64_C(0x600000));
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    cairn_pychains_release(&world->tasks.chains);
    cairn_pypages_release(&world->tasks.alone);
    cairn_buf_release(&world->tasks.own_names);
    return 0;
}

/* What is at the place of the task by now. */
static struct cairn_pyfound look(struct world *world, struct cairn_pyknown *known, bool same)
{
    struct cairn_pyfound found = {
        .address = world->task, .coro = world->coro, .loop = LOOP, .first = CAIRN_PYCHAIN_END};

    world->reads = 0;
    assert_int_equal(cairn_pytasks_follow_alone(&world->read, &found, same, known), 0);
    return found;
}

/* Twice, in one call: there it was the last time. */
static void test_a_known_place_is_read_at_once(void **state)
{
    struct world *world = *state;
    struct cairn_pyknown known = {.address = world->task};
    struct cairn_pyfound found = look(world, &known, false);

    assert_true(found.holds && found.settled);
    assert_true(world->reads > 1);
    found = look(world, &known, false);
    assert_true(found.holds && found.settled && found.alone);
    assert_int_equal(world->reads, 1);
}

static void test_whoever_is_there_is_told(void **state)
{
    struct world *world = *state;
    struct cairn_pyknown known = {.address = world->task};
    uint64_t other = make_coro(world);
    struct cairn_pyfound found;

    objects_put(&world->objects, world->task + CORO, other);
    found = look(world, &known, false);
    assert_true(found.holds);
    assert_int_equal(found.coro, other);
    assert_false(look(world, &known, true).holds); /* that one is over */
    objects_put(&world->objects, world->task + CAIRN_PYTASK_LOOP, LOOP + 64);
    found = look(world, &known, false);
    assert_false(found.holds); /* another thread's */
    assert_true(found.alone);
    objects_put(&world->objects, world->task + CAIRN_PYTASK_LOOP, LOOP);
    objects_put(&world->objects, world->task + NODE, 0);
    assert_false(look(world, &known, false).holds); /* it has ended */
}

/* Who is not looked at alone stays as it was: it is judged with the others. */
static void test_there_is_a_limit(void **state)
{
    struct world *world = *state;
    struct cairn_pyfound found;

    world->tasks.alone_count = CAIRN_PYTASKS_ALONE_MAX;
    found = look(world, NULL, false);
    assert_int_equal(world->reads, 0);
    assert_false(found.alone || found.settled);
}

/* Between the loop and its coroutine stands a frame that was not read, but must be there. */
static void test_where_on_the_stack_a_task_begins(void **state)
{
    struct cairn_pycode codes[] = {{.name = {(const uint8_t *)"own", 3}},
                                   {.name = {(const uint8_t *)"another", 7}}};
    struct cairn_pyframe frames[] = {{.address = 0x1000}, {.address = 0}, {.address = 0x2000}};
    const struct cairn_pythread thread = {.frames = frames, .depth = 3};
    struct cairn_pytask task = {.thread = &thread, .runs = true, .frame = 0x2000};

    (void)state;
    assert_int_equal(cairn_pytask_start(&task), 2);
    task.coroutine = &codes[0];
    assert_int_equal(cairn_pytask_start(&task), 2);
    frames[2].code = &codes[0];
    assert_int_equal(cairn_pytask_start(&task), 2);
    frames[2].code = &codes[1]; /* it lay there when the stack was read */
    assert_int_equal(cairn_pytask_start(&task), 3);
    task.frame = 0x3000;
    assert_int_equal(cairn_pytask_start(&task), 3);
    task.frame = 0; /* its coroutine could not be read */
    assert_int_equal(cairn_pytask_start(&task), 3);
}

/* Where no task comes any more, or the same one stays, nothing happens. */
static void test_a_place_at_which_nothing_happens(void **state)
{
    struct cairn_pyknown known = {.round = 1};

    (void)state;
    cairn_pyknown_met(&known, 0, 2);
    assert_int_equal(known.round, 1);
    cairn_pyknown_met(&known, 0x1000, 3);
    assert_int_equal(known.round, 3);
    cairn_pyknown_met(&known, 0x1000, 4);
    assert_int_equal(known.round, 3);
    cairn_pyknown_met(&known, 0x2000, 5);
    cairn_pyknown_met(&known, 0, 6);
    assert_int_equal(known.round, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_known_place_is_read_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_whoever_is_there_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_there_is_a_limit, setup, teardown),
        cmocka_unit_test(test_where_on_the_stack_a_task_begins),
        cmocka_unit_test(test_a_place_at_which_nothing_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
