#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pythread.h"

#define CODE 0x10000
#define FRAME 0x20000
#define NOW_NS UINT64_C(1000000000)

enum { BEFORE, NOW, ENTRIES };

/* Until 3.10: a frame that stands as it did at the last tick. */
struct world {
    struct cairn_pylayout layout;
    struct cairn_pytable table;
    struct cairn_pyread_stats stats;
    struct cairn_pycode_entry entries[ENTRIES];
    struct cairn_pycodes codes;
    struct cairn_remote remote;
    struct cairn_pycontext ctx;
    struct cairn_pykept kept;
};

/* Whatever is asked for is gone. */
static int read_nothing(void *ctx, const struct cairn_remote_part *parts, size_t count,
                        size_t *ret_parts)
{
    (void)ctx;
    (void)parts;
    (void)count;
    *ret_parts = 0;
    return 0;
}

static int set_up(void **state)
{
    static struct world world;

    memset(&world, 0, sizeof(world));
    memset(&world.layout, 0xff, sizeof(world.layout)); /* it has none of all members */
    world.remote = (struct cairn_remote){.read = read_nothing, .ctx = &world};
    assert_int_equal(
        cairn_pycodes_init(&world.codes, &world.remote, &world.layout, &world.table, &world.stats),
        0);
    assert_int_equal(cairn_vec_reserve(&world.codes.entries, ENTRIES, ENTRIES), 0);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        world.entries[i] = (struct cairn_pycode_entry){
            .code = {.address = CODE, .number = i}, .unit_count = 8, .named = true};
        world.codes.entries.items[i] = &world.entries[i];
    }
    world.codes.entries.count = ENTRIES;
    world.codes.copied_ns = NOW_NS;
    world.codes.came_ns = world.codes.taken_over_ns = NOW_NS; /* code comes and goes */
    world.ctx = (struct cairn_pycontext){.layout = &world.layout,
                                         .table = &world.table,
                                         .stats = &world.stats,
                                         .remote = &world.remote,
                                         .codes = &world.codes,
                                         .now_ns = NOW_NS};
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    cairn_pycodes_release(&world->codes);
    cairn_vec_release(&world->ctx.walk);
    cairn_vec_release(&world->kept.raws);
    cairn_vec_release(&world->kept.good);
    cairn_vec_release(&world->kept.frames);
    return 0;
}

/* The frame, in the walk as well, runs what lies there; it was shown. */
static void put(struct world *world, int what)
{
    struct cairn_pyraw raw = {
        .address = FRAME, .code = CODE, .entered = true, .entry = &world->entries[what]};

    assert_int_equal(cairn_map_put(&world->codes.by_address, CODE, 0, (uint64_t)what), 0);
    assert_int_equal(cairn_vec_reserve(&world->ctx.walk, 1, 1), 0);
    assert_int_equal(cairn_vec_reserve(&world->kept.raws, 1, 1), 0);
    world->ctx.walk.items[world->ctx.walk.count++] = raw;
    raw.published = 1;
    world->kept.raws.items[world->kept.raws.count++] = raw;
    world->kept.raws_shown = 1;
}

/* The frame ran `before` at the last tick; it runs `now`, and so it was seen when that was asked.
 */
static void take(struct world *world, int before, int now)
{
    put(world, before);
    assert_int_equal(cairn_map_put(&world->codes.by_address, CODE, 0, (uint64_t)now), 0);
    world->ctx.walk.items[0].entry = &world->entries[now];
    world->entries[now].looked_ns = world->entries[now].checked_ns = NOW_NS;
    assert_int_equal(
        cairn_pykept_take(&world->ctx, &world->kept, CAIRN_PYSTACK_OK, CAIRN_PYCHECK_MOVED), 0);
    assert_int_equal(world->kept.raws.count, 1);
    assert_ptr_equal(world->kept.raws.items[0].entry, &world->entries[now]);
}

/* Where other code lies by now, a frame that stands as one did runs that; it was seen after the
 * frame was copied, and is not asked for once more, when it can be gone. */
static void test_what_was_seen_of_this_copy_is_what_runs(void **state)
{
    struct world *world = *state;

    take(world, BEFORE, NOW);
    assert_int_equal(world->codes.loads, 0);
    assert_int_equal(world->kept.thread.kept, 0);
    assert_int_equal(world->kept.frames.count, 1);
    assert_ptr_equal(world->kept.frames.items[0].code, &world->entries[NOW].code);
    assert_int_equal(world->stats.nameless, 0);
}

static void test_what_runs_as_it_did_stays(void **state)
{
    struct world *world = *state;

    take(world, NOW, NOW);
    assert_int_equal(world->codes.loads, 0);
    assert_int_equal(world->kept.thread.kept, 1);
}

/* Where nothing was asked of it (from 3.11 on). */
static void test_what_was_not_asked_stays_what_it_was(void **state)
{
    struct world *world = *state;

    world->entries[BEFORE].looked_ns = world->entries[BEFORE].checked_ns = NOW_NS;
    put(world, BEFORE);
    world->ctx.walk.items[0].entry = NULL;
    assert_int_equal(
        cairn_pykept_take(&world->ctx, &world->kept, CAIRN_PYSTACK_OK, CAIRN_PYCHECK_MOVED), 0);
    assert_int_equal(world->kept.thread.kept, 1);
    assert_ptr_equal(world->kept.raws.items[0].entry, &world->entries[BEFORE]);
}

/* A first frame that nobody called is a module; one whose callers were left out can be any. */
static void test_what_is_outermost_of_a_part_is_not_told(void **state)
{
    struct world *world = *state;

    world->entries[NOW].named = false;
    world->entries[NOW].body = world->entries[NOW].passed = true;
    world->entries[NOW].code.first_line = 1;
    world->entries[NOW].looked_ns = world->entries[NOW].checked_ns = NOW_NS;
    for (int truncated = 0; truncated < 2; truncated++) {
        world->kept.raws.count = world->ctx.walk.count = 0;
        put(world, BEFORE);
        assert_int_equal(cairn_map_put(&world->codes.by_address, CODE, 0, NOW), 0);
        world->ctx.walk.items[0].entry = &world->entries[NOW];
        assert_int_equal(cairn_pykept_take(&world->ctx, &world->kept,
                                           truncated ? CAIRN_PYSTACK_TRUNCATED : CAIRN_PYSTACK_OK,
                                           CAIRN_PYCHECK_MOVED),
                         0);
        assert_int_equal(world->kept.frames.items[0].code != NULL, !truncated);
        assert_int_equal(world->stats.nameless, truncated);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_seen_of_this_copy_is_what_runs, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_runs_as_it_did_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_not_asked_stays_what_it_was, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_outermost_of_a_part_is_not_told, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
