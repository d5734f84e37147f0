#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pylinks.h"

#define OFTEN 3000
#define NOTES_MAX 1024
#define UNITS 64

/* A frame that calls others from one place, through a variable. */
struct world {
    struct cairn_pylayout layout;
    struct cairn_pytable table;
    struct cairn_pyread_stats stats;
    struct cairn_pycode_entry entries[3];
    struct cairn_pycodes codes;
    struct cairn_pycontext ctx;
    struct cairn_pykept kept;
    uint8_t units[UNITS];
    struct cairn_pyraw caller;
};

static int setup(void **state)
{
    static struct world world;

    memset(&world, 0, sizeof(world));
    memset(&world.layout, 0xff, sizeof(world.layout)); /* it has none of all members */
    world.table.executing = 1;
    assert_int_equal(cairn_pycodes_init(&world.codes, NULL, &world.layout, &world.table, NULL), 0);
    assert_int_equal(cairn_vec_reserve(&world.codes.entries, 3, 3), 0);
    world.ctx = (struct cairn_pycontext){.layout = &world.layout,
                                         .table = &world.table,
                                         .stats = &world.stats,
                                         .codes = &world.codes};
    cairn_map_init(&world.ctx.calls, NOTES_MAX);
    cairn_map_init(&world.kept.resumers, NOTES_MAX);
    for (uint32_t i = 0; i < 3; i++) {
        world.entries[i].code.number = i;
        world.entries[i].named = true;
        world.codes.entries.items[i] = &world.entries[i];
    }
    world.codes.entries.count = 3;
    world.caller = (struct cairn_pyraw){
        .address = 0x1000, .instr = 8, .state = 1, .entered = true, .entry = &world.entries[0]};
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    cairn_pycodes_release(&world->codes);
    cairn_map_release(&world->ctx.calls);
    cairn_map_release(&world->kept.resumers);
    return 0;
}

/* In a tick of its own: the frame `at` runs code `number`, and the caller called it. */
static int judge(struct world *world, uint64_t at, uint32_t number)
{
    const struct cairn_pyraw callee = {.address = at,
                                       .previous = world->caller.address,
                                       .state = 1,
                                       .entered = true,
                                       .entry = &world->entries[number]};
    enum cairn_pycheck check;
    int code = cairn_pylinks_judge(&world->ctx, &world->kept, &world->caller, &callee, &check);

    if (code < 0)
        assert_int_equal(check, CAIRN_PYCHECK_CALLER);
    return code;
}

static void call_often(struct world *world)
{
    for (int i = 0; i < OFTEN; i++, world->kept.ticks++)
        assert_int_equal(judge(world, 0x2000, 1), 0);
}

static void test_a_call_that_is_hardly_ever_seen_is_not_believed(void **state)
{
    struct world *world = *state;

    call_often(world);
    assert_int_equal(judge(world, 0x3000, 2), -CAIRN_EDAMAGED);
    call_often(world);
    call_often(world);
    assert_int_equal(judge(world, 0x3000, 2), -CAIRN_EDAMAGED);
}

static void test_one_that_takes_its_share_is_believed(void **state)
{
    struct world *world = *state;
    int believed = 0;

    call_often(world);
    for (int i = 0; i < 100; i++, world->kept.ticks++) {
        for (int k = 0; k < 20; k++, world->kept.ticks++)
            assert_int_equal(judge(world, 0x2000, 1), 0);
        believed += judge(world, 0x3000, 2) == 0;
    }
    assert_true(believed > 90);
}

static void test_one_that_lasts_is_believed(void **state)
{
    struct world *world = *state;

    call_often(world);
    for (int i = 1; i < CAIRN_PYREAD_TRIES; i++)
        assert_int_equal(judge(world, 0x3000, 2), -CAIRN_EDAMAGED);
    assert_int_equal(judge(world, 0x3000, 2), 0); /* so it was in every read of this tick */
}

static void test_a_later_moment_is_no_read_of_its_own(void **state)
{
    struct world *world = *state;

    call_often(world);
    world->kept.later = true;
    for (int i = 0; i < 2 * CAIRN_PYREAD_TRIES; i++)
        assert_int_equal(judge(world, 0x3000, 2), -CAIRN_EDAMAGED);
}

static void test_who_stands_still_is_believed(void **state)
{
    struct world *world = *state;

    call_often(world);
    world->kept.thread.still = true;
    assert_int_equal(judge(world, 0x3000, 2), 0);
}

static void test_first_calls_are_believed_unless_frames_move(void **state)
{
    struct world *world = *state;

    world->kept.ticks = 10;
    assert_int_equal(judge(world, 0x2000, 1), 0);
    world->kept.refused_tick = 10;
    assert_int_equal(judge(world, 0x3000, 2), -CAIRN_EDAMAGED);
    world->kept.ticks++;
    assert_int_equal(judge(world, 0x3000, 2), 0);
}

static void test_what_cannot_be_counted_is_believed(void **state)
{
    struct world *world = *state;

    call_often(world);
    for (uint64_t i = 0; cairn_map_put(&world->ctx.calls, UINT64_MAX, i, 0) == 0; i++)
        assert_true(i < NOTES_MAX);
    assert_int_equal(judge(world, 0x3000, 2), 0);
}

/* Likewise, of a call that was over when it was copied. */
static void judge_over(struct world *world, uint32_t number)
{
    const struct cairn_pyraw callee = {.address = 0x3000,
                                       .previous = world->caller.address,
                                       .entered = true,
                                       .entry = &world->entries[number]};
    enum cairn_pycheck check;

    (void)cairn_pylinks_judge(&world->ctx, &world->kept, &world->caller, &callee, &check);
    world->kept.ticks++;
}

/* Where the caller is known to call it; 0: nowhere. */
static uint64_t place(struct world *world, uint32_t number)
{
    const struct cairn_pyraw callee = {.address = 0x3000, .entry = &world->entries[number]};
    struct cairn_pyraw caller = world->caller;
    int code;

    caller.instr = 0;
    code = cairn_pylinks_place(&world->ctx, &caller, &callee);
    assert_true(code == 0 || code == 1);
    assert_int_equal(caller.instr != 0, code);
    return caller.instr;
}

static void know_owners(struct world *world)
{
    assert_int_equal(cairn_vec_reserve(&world->ctx.walk, 2, 2), 0);
    world->ctx.walk.items[0] = (struct cairn_pyraw){.address = 0x3000};
    world->ctx.walk.items[1] = world->caller;
    world->ctx.walk.count = 2;
    assert_int_equal(cairn_pylinks_note_owners(&world->ctx, &world->kept, 0), 0);
    cairn_vec_release(&world->ctx.walk);
}

/* Nothing is believed the first time, nor soon, where frames do not hang together. */
static void test_what_is_called_for_a_moment_is_learned_though_it_is_over(void **state)
{
    struct world *world = *state;

    world->entries[0].units = world->units;
    world->entries[0].unit_count = UNITS;
    world->units[4] = CAIRN_PYUNIT_CALLER; /* an operator */
    know_owners(world);
    world->kept.ticks = world->kept.refused_tick = 10;
    for (int i = 0; i < 20; i++)
        judge_over(world, 2);
    assert_int_equal(place(world, 2), 0); /* it may have been called from elsewhere all the time */
    (void)judge(world, 0x3000, 2);
    assert_int_equal(place(world, 2), 0);
    for (int i = 0; i < 20; i++)
        judge_over(world, 2);
    assert_int_equal(place(world, 2), 8);
}

static void test_not_where_others_are_called(void **state)
{
    struct world *world = *state;

    world->entries[0].units = world->units;
    world->entries[0].unit_count = UNITS;
    world->units[4] = CAIRN_PYUNIT_CALLER;
    know_owners(world);
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 20; k++, world->kept.ticks++)
            assert_int_equal(judge(world, 0x2000, 1), 0);
        if (i == 1) {
            world->kept.refused_tick = world->kept.ticks;
            (void)judge(world, 0x3000, 2);
        }
        judge_over(world, 2);
    }
    assert_int_equal(place(world, 2), 0);
    assert_int_equal(place(world, 1), 8);
}

/* After what is called by an unnamed variable something else is called, which lasts. */
static void test_nor_where_calls_are_made_in_so_many_words(void **state)
{
    struct world *world = *state;

    world->entries[0].units = world->units;
    world->entries[0].unit_count = UNITS;
    world->units[4] = world->units[10] = CAIRN_PYUNIT_CALLER | CAIRN_PYUNIT_CALL;
    know_owners(world);
    world->kept.ticks = 10;
    for (int i = 0; i < 3; i++, world->kept.ticks++)
        assert_int_equal(judge(world, 0x3000, 2), 0);
    assert_int_equal(place(world, 2), 8);
    world->caller.instr = 20;
    world->kept.refused_tick = world->kept.ticks;
    (void)judge(world, 0x3000, 2);
    for (int i = 0; i < 20; i++) {
        world->caller.instr = 20; /* in the next copy, too; it is put to where it called from */
        judge_over(world, 2);
        assert_int_equal(world->caller.instr, 8);
    }
    assert_int_equal(place(world, 2), 8);
}

/* A caller that is copied after its callee, which ran, has gone on meanwhile: to where it calls
 * something else, and was never seen to call this. */
static void test_who_went_on_called_where_it_calls_by_name(void **state)
{
    struct world *world = *state;
    struct cairn_pycallsite site = {.unit = 20, .name = 0};
    uint64_t name = 0x7000;

    world->caller.code = 0x4000;
    world->entries[0].sites = &site;
    world->entries[0].site_count = 1;
    world->entries[0].names = &name;
    world->entries[0].name_count = 1;
    world->entries[2].parts[CAIRN_PYPART_NAME] = name;
    know_owners(world);
    call_often(world);
    assert_int_equal(judge(world, 0x3000, 2), -CAIRN_EDAMAGED);
    world->kept.ticks++;
    world->caller.instr = 40;
    for (int i = 0; i < 2; i++, world->kept.ticks++)
        assert_int_equal(judge(world, 0x3000, 2), 0);
    for (int i = 0; i < 4; i++, world->kept.ticks++) {
        world->caller.instr = 8;
        assert_int_equal(judge(world, 0x3000, 2), 0);
        assert_int_equal(world->caller.instr, 40);
    }
    assert_int_equal(world->stats.inferred, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_call_that_is_hardly_ever_seen_is_not_believed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_one_that_takes_its_share_is_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_that_lasts_is_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_later_moment_is_no_read_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_stands_still_is_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_calls_are_believed_unless_frames_move, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_counted_is_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_what_is_called_for_a_moment_is_learned_though_it_is_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_where_others_are_called, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nor_where_calls_are_made_in_so_many_words, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_who_went_on_called_where_it_calls_by_name, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
