#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pylost.h"
#include "pynotes.h"

#define NOTES_MAX 256
#define FRAMES_MAX 8
#define UNITS 64
#define CODE(number) (0x10000 + 0x100 * (uint64_t)(number))
#define FRAME(number) (0x20000 + 0x100 * (uint64_t)(number))

enum { MAIN, PARSE, PRODUCT, ATOM, TAKES, CODES };
enum { AT_PARSE = 4, AT_PRODUCT = 8, AT_ATOM = 12, AT_TAKES = 16, ELSEWHERE = 30 };

/* main calls parse, which calls product, which calls atom; product and atom call takes. */
struct world {
    struct cairn_pylayout layout;
    struct cairn_pytable table;
    struct cairn_pyread_stats stats;
    struct cairn_pycode_entry entries[CODES];
    struct cairn_pycodes codes;
    struct cairn_pycontext ctx;
};

static void note(struct world *world, int caller, int callee, uint32_t instr)
{
    struct cairn_pyraw from = {.entry = &world->entries[caller]};
    struct cairn_pyraw to = {.entry = &world->entries[callee]};

    for (int i = 0; i < 3; i++)
        assert_int_equal(cairn_pynotes_add(&world->ctx.calls, cairn_pynotes_key(&from),
                                           cairn_pynotes_key(&to), instr),
                         0);
}

static int set_up(void **state)
{
    static struct world world;

    memset(&world, 0, sizeof(world));
    memset(&world.layout, 0xff, sizeof(world.layout)); /* it has none of all members */
    world.table.executing = 1;
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
                                         .codes = &world.codes};
    cairn_map_init(&world.ctx.calls, NOTES_MAX);
    assert_int_equal(cairn_vec_reserve(&world.ctx.walk, FRAMES_MAX, FRAMES_MAX), 0);
    note(&world, MAIN, PARSE, AT_PARSE);
    note(&world, PARSE, PRODUCT, AT_PRODUCT);
    note(&world, PRODUCT, ATOM, AT_ATOM);
    note(&world, PRODUCT, TAKES, AT_TAKES);
    note(&world, ATOM, TAKES, AT_TAKES);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    cairn_pycodes_release(&world->codes);
    cairn_map_release(&world->ctx.calls);
    cairn_vec_release(&world->ctx.walk);
    cairn_vec_release(&world->ctx.inner);
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

/* The frames that are over lead nowhere, and at the next moment the stack is the others. */
#define GRAFT(world, over, stack)                                                                  \
    do {                                                                                           \
        walk(world, sizeof(over) / sizeof(*(over)), over, 0, 0);                                   \
        assert_int_equal(cairn_pylost_keep(&(world)->ctx), 0);                                     \
        walk(world, sizeof(stack) / sizeof(*(stack)), stack, 50, 1);                               \
        assert_int_equal(cairn_pylost_graft(&(world)->ctx), 0);                                    \
    } while (0)

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
    static const int over[] = {TAKES, ATOM, PRODUCT, TAKES}; /* free frames, as they come */
    static const int stack[] = {TAKES, PRODUCT, PARSE, MAIN};
    static const int expected[] = {TAKES, ATOM, PRODUCT, PARSE, MAIN};
    struct world *world = *state;

    GRAFT(world, over, stack);
    assert_stack(world, 5, expected, 1);
    assert_int_equal(world->ctx.walk.items[1].instr, AT_TAKES);
    assert_int_equal(world->ctx.walk.items[2].instr, AT_ATOM);
    assert_int_equal(world->ctx.walk.items[3].instr, AT_PRODUCT);
    assert_int_equal(world->ctx.walk.items[4].instr, ELSEWHERE);
}

static void test_a_free_frame_that_makes_no_such_call_is_no_caller(void **state)
{
    static const int over[] = {ATOM, TAKES}; /* takes calls nobody: it was freed before */
    static const int stack[] = {TAKES, PRODUCT, PARSE, MAIN};
    static const int expected[] = {ATOM, PRODUCT, PARSE, MAIN};
    struct world *world = *state;

    GRAFT(world, over, stack);
    assert_stack(world, 4, expected, 1);
    assert_int_equal(world->ctx.walk.items[1].instr, AT_ATOM);
}

static void test_as_many_as_somebody_calls(void **state)
{
    static const int over[] = {TAKES, ATOM};
    static const int stack[] = {ATOM, MAIN}; /* nobody here calls atom, but atom takes */
    static const int expected[] = {TAKES, ATOM, MAIN};
    struct world *world = *state;

    GRAFT(world, over, stack);
    assert_stack(world, 3, expected, 1);
    assert_int_equal(world->ctx.walk.items[1].address, FRAME(50));
}

static void test_what_nobody_calls_is_left_out(void **state)
{
    static const int over[] = {TAKES};
    static const int stack[] = {PARSE, MAIN};
    struct world *world = *state;

    GRAFT(world, over, stack);
    assert_stack(world, 2, stack, 0);
    assert_int_equal(world->ctx.walk.items[0].instr, ELSEWHERE);
}

static void test_a_generator_that_nobody_resumes_is_not_one_of_them(void **state)
{
    static const int over[] = {TAKES, ATOM};
    static const int stack[] = {PRODUCT, MAIN};
    struct world *world = *state;

    walk(world, 2, over, 0, 0);
    world->ctx.walk.items[1].generator = true;
    assert_int_equal(cairn_pylost_keep(&world->ctx), 0);
    walk(world, 2, stack, 50, 1);
    assert_int_equal(cairn_pylost_graft(&world->ctx), 0);
    assert_stack(world, 2, stack, 0);
}

static void test_code_that_is_not_known_is_not_told(void **state)
{
    static const int over[] = {TAKES};
    static const int stack[] = {PRODUCT, MAIN};
    struct world *world = *state;

    walk(world, 1, over, 0, 0);
    assert_int_equal(cairn_pylost_keep(&world->ctx), 0);
    cairn_map_clear(&world->codes.by_address); /* other code has come there since */
    walk(world, 2, stack, 50, 1);
    assert_int_equal(cairn_pylost_graft(&world->ctx), 0);
    assert_stack(world, 2, stack, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls_that_are_over_stand_on_who_makes_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_free_frame_that_makes_no_such_call_is_no_caller,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_as_many_as_somebody_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_nobody_calls_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_generator_that_nobody_resumes_is_not_one_of_them,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code_that_is_not_known_is_not_told, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
