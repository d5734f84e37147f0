/* Which frame was current when the structures on the C stack were copied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pycframe.h"
#include "pylayout.h"

#define ROOT UINT64_C(0x7fff0000) /* further out is higher up */
#define DRIVER 0x100
#define GENERATOR 0x200
#define OTHER 0x300
#define FIELDS 4 /* of 8 bytes each, of both kinds of pieces */
#define PIECES_MAX 6

/* What was copied: structures, from the root on downwards, and frames of generators. */
struct stack {
    struct cairn_pycframes known;
    struct cairn_pyplaces places; /* its pieces are those here */
    struct cairn_pypiece pieces[PIECES_MAX];
    struct cairn_pyspot spots[PIECES_MAX];
    uint64_t data[PIECES_MAX][FIELDS];
    size_t count;
    bool used[PIECES_MAX];
};

static uint64_t inner(int n)
{
    return ROOT - 0x100 * (uint64_t)n;
}

static uint64_t entry_of(uint64_t cframe)
{
    return cframe + 0x70;
}

static void add_piece(struct stack *stack, uint64_t address, const uint64_t *fields)
{
    size_t at = stack->count++;

    for (; at > 0 && stack->pieces[at - 1].address > address; at--) {
        stack->pieces[at] = stack->pieces[at - 1];
        memcpy(stack->data[at], stack->data[at - 1], sizeof(stack->data[at]));
    }
    memcpy(stack->data[at], fields, sizeof(stack->data[at]));
    stack->pieces[at] =
        (struct cairn_pypiece){.address = address, .size_bytes = sizeof(stack->data[at])};
    for (size_t i = 0; i < stack->count; i++)
        stack->pieces[i].data = (const uint8_t *)stack->data[i];
}

static void put(struct stack *stack, uint64_t address, uint64_t frame, uint64_t previous)
{
    add_piece(stack, address, (const uint64_t[FIELDS]){0, frame, previous, 0});
}

static void put_frame(struct stack *stack, uint64_t address, uint64_t previous)
{
    add_piece(stack, address,
              (const uint64_t[FIELDS]){previous, 0, 0, CAIRN_PYSTACK_OWNER_GENERATOR});
}

static int ask(struct stack *stack, bool is_312, uint64_t cframe, bool still, uint64_t *ret_frame)
{
    static const struct cairn_pytable table;
    struct cairn_pylayout layout;
    struct cairn_pyimage image = {.layout = &layout, .table = &table};

    memset(&layout, 0xff, sizeof(layout));
    layout.cframe_size = layout.frame_size = 8 * FIELDS;
    layout.cframe_current_frame = 8;
    layout.cframe_previous = 16;
    layout.frame_previous = 0;
    layout.frame_code = 8;
    layout.frame_instr = 16;
    layout.frame_owner = 24;
    if (!is_312)
        layout.frame_is_entry = 25;
    stack->places.pieces.items = stack->pieces;
    stack->places.spots.items = stack->spots;
    stack->places.pieces.count = stack->places.spots.count = stack->count;
    image.others = stack->pieces;
    image.other_count = stack->count;
    image.used = stack->used;
    return cairn_pycframes_current(&stack->known, &image, &stack->places, cframe, still, 1,
                                   ret_frame);
}

/* All of them have been named by a thread state before. */
static void learn(struct stack *stack)
{
    uint64_t ignored;

    for (size_t i = 0; i < stack->count; i++)
        if (stack->pieces[i].address > OTHER)
            assert_int_equal(ask(stack, true, stack->pieces[i].address, true, &ignored), 0);
}

static uint64_t current(struct stack *stack, uint64_t cframe)
{
    uint64_t ret;

    learn(stack);
    assert_int_equal(ask(stack, true, cframe, false, &ret), 0);
    return ret;
}

static void test_the_one_that_is_named_and_alone(void **state)
{
    struct stack stack = {0};
    uint64_t ret;

    (void)state;
    assert_int_equal(ask(&stack, true, ROOT, false, &ret), -CAIRN_ENOTFOUND);
    assert_int_equal(ask(&stack, true, 0, false, &ret), 0);
    assert_int_equal(ret, 0);
    put(&stack, ROOT, DRIVER, 0);
    assert_int_equal(current(&stack, ROOT), DRIVER);
}

static void test_one_whose_frame_is_not_written_yet(void **state)
{
    struct stack stack = {0};
    uint64_t ret;

    (void)state;
    put(&stack, ROOT, 0, 0x1000);
    assert_int_equal(ask(&stack, true, ROOT, false, &ret), -CAIRN_EDAMAGED);
}

static void test_what_was_called_since(void **state)
{
    struct stack stack = {0};
    uint64_t ret;

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(1), GENERATOR, ROOT);
    put(&stack, inner(2), OTHER, inner(1));
    put_frame(&stack, GENERATOR, DRIVER);
    put_frame(&stack, OTHER, GENERATOR);
    assert_int_equal(current(&stack, ROOT), OTHER);
    /* Of who stands still both are of one moment: what lies there is left over. */
    assert_int_equal(ask(&stack, true, ROOT, true, &ret), 0);
    assert_int_equal(ret, DRIVER);
}

static void test_a_generator_that_has_yielded_since(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(1), GENERATOR, ROOT);
    put_frame(&stack, GENERATOR, 0);
    assert_int_equal(current(&stack, ROOT), GENERATOR);
}

/* C has written over what was there, or it is of a greenlet that rests. */
static void test_what_is_no_frame_or_not_called_from_there(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(1), GENERATOR, ROOT);
    assert_int_equal(current(&stack, ROOT), DRIVER);
    put_frame(&stack, GENERATOR, OTHER);
    put_frame(&stack, OTHER, GENERATOR);
    assert_int_equal(current(&stack, ROOT), DRIVER);
}

static void test_what_was_called_and_is_over(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(1), entry_of(inner(1)), ROOT);
    assert_int_equal(current(&stack, ROOT), DRIVER);
}

static void test_what_is_over_since(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(1), GENERATOR, ROOT);
    put(&stack, inner(2), entry_of(inner(2)), inner(1));
    assert_int_equal(current(&stack, inner(2)), GENERATOR);
}

static void test_what_is_over_and_whose_caller_was_not_copied(void **state)
{
    struct stack stack = {0};
    uint64_t ret;

    (void)state;
    put(&stack, inner(1), entry_of(inner(1)), ROOT);
    assert_int_equal(ask(&stack, true, inner(1), false, &ret), -CAIRN_ENOTFOUND);
    put(&stack, ROOT, 0, 0); /* the thread's own: that has called nothing yet */
    assert_int_equal(current(&stack, inner(1)), entry_of(inner(1)));
    stack.count = 0; /* the root is nobody's callee: its own entry frame leads on */
    put(&stack, ROOT, entry_of(ROOT), 0);
    assert_int_equal(current(&stack, ROOT), entry_of(ROOT));
}

static void test_what_was_called_by_another(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(2), OTHER, inner(1));
    put_frame(&stack, OTHER, DRIVER);
    assert_int_equal(current(&stack, ROOT), DRIVER);
}

/* Two cannot both be what the first one called: which of them is left over is not known. */
static void test_of_two_none_is_taken(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(1), GENERATOR, ROOT);
    put(&stack, inner(2), OTHER, ROOT);
    put_frame(&stack, GENERATOR, DRIVER);
    put_frame(&stack, OTHER, DRIVER);
    assert_int_equal(current(&stack, ROOT), DRIVER);
}

/* What goes in circles ends. */
static void test_circles_end(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, ROOT, DRIVER, inner(1));
    put(&stack, inner(1), GENERATOR, ROOT);
    (void)current(&stack, ROOT);
    stack = (struct stack){0};
    put(&stack, ROOT, entry_of(ROOT), inner(1));
    put(&stack, inner(1), entry_of(inner(1)), ROOT);
    (void)current(&stack, ROOT);
}

/* Places that no stack goes through any more are forgotten. */
static void test_what_is_merely_asked_for_is_not_in_use(void **state)
{
    struct stack stack = {0};

    (void)state;
    put(&stack, inner(1), entry_of(inner(1)), ROOT);
    put(&stack, ROOT, DRIVER, 0);
    learn(&stack);
    memset(stack.used, 0, sizeof(stack.used));
    stack.spots[0].used_tick = stack.spots[1].used_tick = 0;
    assert_int_equal(ask(&stack, true, ROOT, false, &(uint64_t){0}), 0);
    assert_true(!stack.used[0] && stack.used[1]);
    assert_true(!stack.spots[0].used_tick && stack.spots[1].used_tick);
}

static void test_before_3_12_what_is_over_still_has_a_frame(void **state)
{
    struct stack stack = {0};
    uint64_t ret;

    (void)state;
    put(&stack, ROOT, DRIVER, 0);
    put(&stack, inner(1), GENERATOR, ROOT);
    put_frame(&stack, GENERATOR, DRIVER);
    learn(&stack);
    assert_int_equal(ask(&stack, false, ROOT, false, &ret), 0);
    assert_int_equal(ret, DRIVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_one_that_is_named_and_alone),
        cmocka_unit_test(test_one_whose_frame_is_not_written_yet),
        cmocka_unit_test(test_what_was_called_since),
        cmocka_unit_test(test_a_generator_that_has_yielded_since),
        cmocka_unit_test(test_what_is_no_frame_or_not_called_from_there),
        cmocka_unit_test(test_what_was_called_and_is_over),
        cmocka_unit_test(test_what_is_over_since),
        cmocka_unit_test(test_what_is_over_and_whose_caller_was_not_copied),
        cmocka_unit_test(test_what_was_called_by_another),
        cmocka_unit_test(test_of_two_none_is_taken),
        cmocka_unit_test(test_circles_end),
        cmocka_unit_test(test_what_is_merely_asked_for_is_not_in_use),
        cmocka_unit_test(test_before_3_12_what_is_over_still_has_a_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
