#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pylinks.h"
#include "pylost.h"

#define NOTES_MAX 256
#define FRAMES_MAX 8
#define UNITS 64
#define CODE(number) (0x10000 + 0x100 * (uint64_t)(number))
#define FRAME(number) (0x20000 + 0x100 * (uint64_t)(number))
#define LINE_TABLE 0x40 /* in a code; behind it the frame that it keeps */

enum { MAIN, PARSE, PRODUCT, ATOM, TAKES, CODES };
enum { AT_PARSE = 4, AT_PRODUCT = 8, AT_ATOM = 12, AT_TAKES = 16, ELSEWHERE = 30 };

/* main calls parse, which calls product, which calls atom; product and atom call takes. */
struct world {
    struct cairn_pylayout layout;
    struct cairn_pytable table;
    struct cairn_pyread_stats stats;
    struct cairn_pycode_entry entries[CODES];
    struct cairn_pycodes codes;
    struct cairn_remote remote;
    uint64_t owns[CODES]; /* the frame that each code keeps */
    struct cairn_pycontext ctx;
    struct cairn_pykept kept;
};

static int read_own(void *ctx, const struct cairn_remote_part *parts, size_t count,
                    size_t *ret_parts)
{
    const struct world *world = ctx;
    uint64_t number = (parts->address - CODE(0)) / 0x100;

    assert_int_equal(count, 1);
    assert_int_equal(parts->address, CODE(number) + LINE_TABLE + 8);
    memcpy(parts->data, &world->owns[number], sizeof(world->owns[number]));
    *ret_parts = 1;
    return 0;
}

/* Such a call is seen so often, while it lasts. */
static void see(struct world *world, int caller, int callee, uint32_t instr, int times)
{
    const struct cairn_pyraw to = {
        .address = 0x9000, .state = 1, .entered = true, .entry = &world->entries[callee]};
    enum cairn_pycheck check;

    for (int i = 0; i < times; i++, world->kept.ticks++) {
        struct cairn_pyraw from = {.address = 0x8000,
                                   .state = 1,
                                   .entered = true,
                                   .instr = instr,
                                   .entry = &world->entries[caller]};

        assert_int_equal(cairn_pylinks_judge(&world->ctx, &world->kept, &from, &to, &check), 0);
    }
}

static int set_up(void **state)
{
    static struct world world;

    memset(&world, 0, sizeof(world));
    memset(&world.layout, 0xff, sizeof(world.layout)); /* it has none of all members */
    world.table.executing = 1;
    world.layout.code_linetable = LINE_TABLE;
    world.remote = (struct cairn_remote){.read = read_own, .ctx = &world};
    assert_int_equal(cairn_pycodes_init(&world.codes, NULL, &world.layout, &world.table, NULL), 0);
    assert_int_equal(cairn_vec_reserve(&world.codes.entries, CODES, CODES), 0);
    for (uint32_t i = 0; i < CODES; i++) {
        world.entries[i] = (struct cairn_pycode_entry){
            .code = {.address = CODE(i), .number = i}, .unit_count = UNITS, .named = true};
        world.codes.entries.items[i] = &world.entries[i];
        assert_int_equal(cairn_map_put(&world.codes.by_address, CODE(i), 0, i), 0);
    }
    world.codes.entries.count = CODES;
    world.ctx = (struct cairn_pycontext){.layout = &world.layout,
                                         .table = &world.table,
                                         .stats = &world.stats,
                                         .remote = &world.remote,
                                         .codes = &world.codes};
    cairn_map_init(&world.ctx.calls, NOTES_MAX);
    cairn_map_init(&world.kept.resumers, NOTES_MAX);
    assert_int_equal(cairn_vec_reserve(&world.ctx.walk, FRAMES_MAX, FRAMES_MAX), 0);
    world.kept.ticks = 10; /* nothing was refused lately */
    see(&world, MAIN, PARSE, AT_PARSE, 3);
    see(&world, PARSE, PRODUCT, AT_PRODUCT, 3);
    see(&world, PRODUCT, ATOM, AT_ATOM, 3);
    see(&world, PRODUCT, TAKES, AT_TAKES, 3);
    see(&world, ATOM, TAKES, AT_TAKES, 3);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    cairn_pycodes_release(&world->codes);
    cairn_map_release(&world->ctx.calls);
    cairn_map_release(&world->kept.resumers);
    cairn_vec_release(&world->ctx.walk);
    cairn_vec_release(&world->ctx.inner);
    cairn_vec_release(&world->kept.raws);
    return 0;
}

/* The walk: these frames, innermost first, each of which names the next one as its caller. */
static void walk(struct world *world, size_t count, const int *numbers, uint64_t first_frame,
                 int8_t state)
{
    for (size_t i = 0; i < count; i++)
        world->ctx.walk.items[i] =
            (struct cairn_pyraw){.address = FRAME(first_frame + i),
                                 .previous = i + 1 < count ? FRAME(first_frame + i + 1) : 0,
                                 .code = CODE(numbers[i]),
                                 .instr = ELSEWHERE,
                                 .state = state,
                                 .entered = true,
                                 .entry = &world->entries[numbers[i]]};
    world->ctx.walk.count = count;
}

/* The so many outermost frames of the walk stood there when the thread was last read. */
static void stood(struct world *world, size_t count)
{
    const struct cairn_pyraws *walk = &world->ctx.walk;

    assert_int_equal(cairn_vec_reserve(&world->kept.raws, FRAMES_MAX, FRAMES_MAX), 0);
    for (size_t i = 0; i < count; i++) {
        world->kept.raws.items[i] = walk->items[walk->count - 1 - i];
        world->kept.raws.items[i].instr += 2; /* it went on */
    }
    world->kept.raws.count = count;
}

/* The frames that are over lead nowhere, and at another moment the stack is the others, of which
 * the `same` outermost stood there before. Returns how many frames were put there. */
static size_t graft(struct world *world, size_t over_count, const int *over, size_t stack_count,
                    const int *stack, size_t same)
{
    size_t count;

    walk(world, over_count, over, 0, 0);
    assert_int_equal(cairn_pylost_keep(&world->ctx, &world->kept), 0);
    walk(world, stack_count, stack, 50, 1);
    stood(world, same);
    assert_int_equal(cairn_pylost_graft(&world->ctx, &world->kept, &count), 0);
    return count;
}

/* The frames that the walk leads through, innermost first, are those that their codes keep. */
static void own(struct world *world, size_t count, const int *numbers)
{
    for (size_t i = 0; i < count; i++)
        world->owns[numbers[i]] = FRAME(i);
}

static void assert_stack(const struct world *world, size_t count, const int *numbers,
                         size_t inferred)
{
    assert_int_equal(world->ctx.walk.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(world->ctx.walk.items[i].code, CODE(numbers[i]));
        assert_int_equal(world->ctx.walk.items[i].previous,
                         i + 1 < count ? world->ctx.walk.items[i + 1].address : 0);
    }
    assert_int_equal(world->stats.inferred, inferred);
}

static void test_calls_that_are_over_stand_on_who_makes_them(void **state)
{
    static const int over[] = {TAKES, ATOM, PRODUCT};
    static const int stack[] = {TAKES, PRODUCT, PARSE, MAIN};
    static const int expected[] = {TAKES, ATOM, PRODUCT, PARSE, MAIN};
    struct world *world = *state;

    own(world, 1, over); /* that of atom is a free one: what it leads to is the next free one */
    assert_int_equal(graft(world, 3, over, 4, stack, 0), 2);
    assert_stack(world, 5, expected, 1);
    assert_int_equal(world->ctx.walk.items[1].instr, AT_TAKES);
    assert_int_equal(world->ctx.walk.items[2].instr, AT_ATOM);
    assert_int_equal(world->ctx.walk.items[3].instr, ELSEWHERE);
}

static void test_a_frame_of_the_list_tells_no_caller(void **state)
{
    static const int over[] = {TAKES, ATOM}; /* though atom does call takes */
    static const int stack[] = {PRODUCT, PARSE, MAIN};
    static const int expected[] = {TAKES, PRODUCT, PARSE, MAIN};
    struct world *world = *state;

    assert_int_equal(graft(world, 2, over, 3, stack, 0), 1);
    assert_stack(world, 4, expected, 1);
    assert_int_equal(world->ctx.walk.items[1].instr, AT_TAKES);
}

static void test_one_that_ran_when_it_was_copied_does(void **state)
{
    static const int over[] = {TAKES, ATOM};
    static const int stack[] = {PRODUCT, PARSE, MAIN};
    static const int expected[] = {TAKES, ATOM, PRODUCT, PARSE, MAIN};
    struct world *world = *state;
    size_t count;

    walk(world, 2, over, 0, 0);
    world->ctx.walk.items[0].state = 1;
    assert_int_equal(cairn_pylost_keep(&world->ctx, &world->kept), 0);
    walk(world, 3, stack, 50, 1);
    assert_int_equal(cairn_pylost_graft(&world->ctx, &world->kept, &count), 0);
    assert_int_equal(count, 2);
    assert_stack(world, 5, expected, 1);
}

static void test_a_frame_that_makes_no_such_call_is_no_caller(void **state)
{
    static const int over[] = {ATOM, TAKES};
    static const int stack[] = {TAKES, PRODUCT, PARSE, MAIN};
    static const int expected[] = {ATOM, PRODUCT, PARSE, MAIN};
    struct world *world = *state;

    own(world, 2, over);
    assert_int_equal(graft(world, 2, over, 4, stack, 0), 1);
    assert_stack(world, 4, expected, 1);
    assert_int_equal(world->ctx.walk.items[1].instr, AT_ATOM);
}

static void assert_left_out(struct world *world, int over, size_t count, const int *stack,
                            size_t same)
{
    assert_int_equal(graft(world, 1, &over, count, stack, same), 0);
    assert_stack(world, count, stack, 0);
    assert_int_equal(world->ctx.walk.items[0].instr, ELSEWHERE);
}

static void test_what_nobody_calls_is_left_out(void **state)
{
    static const int stack[] = {PARSE, MAIN};

    assert_left_out(*state, TAKES, 2, stack, 0);
}

static void test_who_stood_there_before_did_not_call_it(void **state)
{
    static const int stack[] = {PARSE, PRODUCT, MAIN};
    static const int expected[] = {TAKES, PRODUCT, MAIN};
    struct world *world = *state;

    assert_left_out(world, TAKES, 3, stack, 3); /* parse was on product all the while */
    assert_int_equal(graft(world, 1, &expected[0], 3, stack, 2), 1);
    assert_stack(world, 3, expected, 1);
}

static void test_a_call_that_was_seen_once_is_not_known(void **state)
{
    static const int stack[] = {PARSE, MAIN};
    struct world *world = *state;

    see(world, PARSE, ATOM, AT_ATOM, 1);
    assert_left_out(world, ATOM, 2, stack, 0);
    see(world, PARSE, ATOM, AT_ATOM, 2);
    assert_int_equal(graft(world, 1, (const int[]){ATOM}, 2, stack, 0), 1);
}

static void test_a_generator_is_put_only_to_where_the_same_one_resumes_it(void **state)
{
    static const int over[] = {TAKES};
    static const int stack[] = {PRODUCT, PARSE, MAIN};
    struct world *world = *state;
    size_t count;

    walk(world, 1, over, 0, 0);
    assert_int_equal(cairn_pylost_keep(&world->ctx, &world->kept), 0);
    walk(world, 3, stack, 50, 1);
    world->ctx.walk.items[0].generator = true;
    assert_int_equal(cairn_pylost_graft(&world->ctx, &world->kept, &count), 0);
    assert_int_equal(count, 0);
    assert_stack(world, 3, stack, 0);
}

static void test_a_generator_that_nobody_resumes_is_not_one_of_them(void **state)
{
    static const int over[] = {TAKES, ATOM};
    static const int stack[] = {PRODUCT, MAIN};
    struct world *world = *state;
    size_t count;

    walk(world, 2, over, 0, 0);
    world->ctx.walk.items[1].generator = true;
    assert_int_equal(cairn_pylost_keep(&world->ctx, &world->kept), 0);
    walk(world, 2, stack, 50, 1);
    assert_int_equal(cairn_pylost_graft(&world->ctx, &world->kept, &count), 0);
    assert_stack(world, 2, stack, 0);
}

static void test_a_frame_that_serves_another_call_is_not_told(void **state)
{
    static const int over[] = {TAKES, ATOM};
    static const int stack[] = {PARSE, PRODUCT, MAIN};
    static const int expected[] = {TAKES, PRODUCT, MAIN};
    struct world *world = *state;
    size_t count;

    own(world, 2, over);
    walk(world, 2, over, 0, 0);
    assert_int_equal(cairn_pylost_keep(&world->ctx, &world->kept), 0);
    walk(world, 3, stack, 50, 1);
    world->ctx.walk.items[0].address = FRAME(1); /* that was atom's */
    assert_int_equal(cairn_pylost_graft(&world->ctx, &world->kept, &count), 0);
    assert_int_equal(count, 1);
    assert_stack(world, 3, expected, 1);
}

static void test_what_has_come_to_the_place_of_code_is_not_told(void **state)
{
    static const int over[] = {TAKES};
    static const int stack[] = {PRODUCT, MAIN};
    struct world *world = *state;
    size_t count;

    walk(world, 1, over, 0, 0);
    assert_int_equal(cairn_pylost_keep(&world->ctx, &world->kept), 0);
    assert_int_equal(cairn_map_put(&world->codes.by_address, CODE(TAKES), 0, ATOM), 0);
    walk(world, 2, stack, 50, 1);
    assert_int_equal(cairn_pylost_graft(&world->ctx, &world->kept, &count), 0);
    assert_stack(world, 2, stack, 0);
}

static void test_nothing_is_told_of_hooks(void **state)
{
    static const int stack[] = {PRODUCT, MAIN};
    struct world *world = *state;

    world->layout.thread_trace = 0;
    world->kept.header_ok = true;
    world->kept.header[0] = 1;
    assert_left_out(world, TAKES, 2, stack, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls_that_are_over_stand_on_who_makes_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_frame_of_the_list_tells_no_caller, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_ran_when_it_was_copied_does, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_frame_that_makes_no_such_call_is_no_caller, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_nobody_calls_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_stood_there_before_did_not_call_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_call_that_was_seen_once_is_not_known, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_generator_is_put_only_to_where_the_same_one_resumes_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_generator_that_nobody_resumes_is_not_one_of_them,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_frame_that_serves_another_call_is_not_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_has_come_to_the_place_of_code_is_not_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_told_of_hooks, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
