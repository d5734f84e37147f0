/* What a generator called, which is copied at another moment than the generator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pyresume.h"
#include "pystack.h"

enum code { MAIN, RELAY, ITEMS, LEAF, CODES }; /* main goes on with relay, and that calls leaf */

#define FRAME_BYTES 40
#define CHUNK UINT64_C(0x10000)
#define GENERATOR UINT64_C(0x70000) /* memory of one generator, then another's */
#define START(code) (UINT64_C(0x100000) * ((code) + 1)) /* of its instructions */
#define PLACE 40                                        /* where each stands */
#define UNITS 64
#define IN_C (-1) /* 3.11 to 3.13: what a frame that is at work says of its stack */

struct fixture {
    struct cairn_pycode_entry entries[CODES];
    uint8_t units[CODES][UNITS];
    struct cairn_pycodes codes;
    struct cairn_pylayout layout, told;
    struct cairn_pytable table;
    uint8_t chunk_data[2 * FRAME_BYTES], after_data[FRAME_BYTES];
    struct cairn_pychunk chunk;
    struct cairn_pypiece after;
    struct cairn_pyimage image;
    struct cairn_pyraw raws[3];
    int32_t leaf_stacktop;
};

static uint64_t on_stack(unsigned at)
{
    return CHUNK + (uint64_t)at * FRAME_BYTES;
}

static void put(uint8_t *frame, uint64_t previous, uint64_t code, int32_t stacktop)
{
    memset(frame, 0, FRAME_BYTES);
    memcpy(frame, &previous, 8);
    memcpy(frame + 8, &code, 8);
    memcpy(frame + 16, &(uint64_t){START(LEAF) + PLACE}, 8);
    memcpy(frame + 28, &stacktop, 4);
}

static struct cairn_pyraw frame(enum code code, uint64_t address, uint64_t previous)
{
    return (struct cairn_pyraw){.address = address,
                                .code = START(code) + 8,
                                .instr = START(code) + PLACE,
                                .previous = previous,
                                .stacktop = IN_C,
                                .chunk = address == GENERATOR ? -1 : 0,
                                .generator = address == GENERATOR};
}

static void put_layout(struct fixture *f)
{
    memset(&f->layout, 0xff, sizeof(f->layout)); /* no field is there, but for … */
    f->layout.frame_previous = 0;
    f->layout.frame_code = 8;
    f->layout.frame_instr = 16;
    f->layout.frame_owner = 24;
    f->layout.frame_stacktop = 28;
    f->layout.frame_size = FRAME_BYTES;
    f->table = (struct cairn_pytable){.minor = 13, .told = &f->told};
}

static void put_codes(struct fixture *f)
{
    assert_int_equal(cairn_pycodes_init(&f->codes, NULL, &f->layout, &f->table, NULL), 0);
    assert_int_equal(cairn_vec_reserve(&f->codes.entries, CODES, CODES), 0);
    for (uint32_t i = 0; i < CODES; i++) {
        f->units[i][PLACE / 2] = CAIRN_PYUNIT_CALLER;
        f->entries[i] = (struct cairn_pycode_entry){.code = {.address = START(i) + 8, .number = i},
                                                    .start = START(i),
                                                    .units = f->units[i],
                                                    .unit_count = UNITS,
                                                    .frame_bytes = FRAME_BYTES,
                                                    .stack_slots = 4};
        f->codes.entries.items[i] = &f->entries[i];
        assert_int_equal(cairn_map_put(&f->codes.by_address, START(i) + 8, 0, i), 0);
    }
    f->codes.entries.count = CODES;
}

/* Main, a generator, and what that called: all at work in one copy, and so behind it. */
static int set_up(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    put_layout(&f);
    put_codes(&f);
    f.leaf_stacktop = IN_C;
    put(f.after_data, GENERATOR, START(LEAF) + 8, IN_C);
    f.chunk = (struct cairn_pychunk){.address = CHUNK, .size_bytes = sizeof(f.chunk_data)};
    f.chunk.piece = (struct cairn_pypiece){CHUNK, sizeof(f.chunk_data), f.chunk_data};
    f.after = (struct cairn_pypiece){on_stack(1), FRAME_BYTES, f.after_data};
    f.image = (struct cairn_pyimage){.layout = &f.layout,
                                     .table = &f.table,
                                     .chunks = &f.chunk,
                                     .chunk_count = 1,
                                     .after = &f.after,
                                     .after_count = 1};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cairn_pycodes_release(&f->codes);
    return 0;
}

/* What is said of the leaf that `generator` seems to have called. */
static int judge_as(struct fixture *f, enum code generator, bool innermost,
                    enum cairn_pycheck *ret_check)
{
    f->raws[0] = frame(MAIN, on_stack(0), 0);
    f->raws[1] = frame(generator, GENERATOR, on_stack(0));
    f->raws[2] = frame(LEAF, on_stack(1), GENERATOR);
    f->raws[2].stacktop = f->leaf_stacktop;
    *ret_check = CAIRN_PYCHECK_COUNT;
    return cairn_pystack_judge(&f->image, &f->codes, f->raws, 2, innermost, ret_check);
}

static int judge(struct fixture *f, enum code generator, enum cairn_pycheck *ret_check)
{
    return judge_as(f, generator, true, ret_check);
}

static void assert_refused(struct fixture *f, enum code generator)
{
    enum cairn_pycheck check;

    assert_int_equal(judge(f, generator, &check), -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_AFTER);
}

static void assert_believed(struct fixture *f, enum code generator)
{
    enum cairn_pycheck check;

    assert_int_equal(judge(f, generator, &check), 0);
}

/* Where it asks something of C, mostly nothing lies on top of it. */
static void let_items_rest(struct fixture *f)
{
    struct cairn_pyraw items = frame(ITEMS, GENERATOR, on_stack(0));

    for (int i = 0; i < 100; i++)
        assert_int_equal(cairn_pyresume_rests(&f->image, &f->codes, &items), 0);
}

static void test_it_was_there_before_and_behind(void **state)
{
    assert_believed(*state, RELAY);
}

/* Items lies where relay did when leaf, which relay called, was copied. */
static void test_the_generator_is_another_by_then(void **state)
{
    struct fixture *f = *state;

    let_items_rest(f);
    put(f->after_data, GENERATOR, 0, IN_C); /* 3.14 on: its code is taken away */
    assert_refused(f, ITEMS);
    put(f->after_data, GENERATOR, START(LEAF) + 8, 0); /* before: it is at its end */
    f->units[LEAF][PLACE / 2] = 0;
    assert_refused(f, ITEMS);
    put(f->after_data, on_stack(0), START(LEAF) + 8, IN_C); /* another one's */
    assert_refused(f, ITEMS);
}

static void test_it_was_not_copied_again(void **state)
{
    struct fixture *f = *state;

    f->image.after_count = 0;
    assert_refused(f, ITEMS);
}

/* Short calls are mostly over when the rest has been copied: they would be left out. */
static void test_what_was_seen_to_be_called_is_believed(void **state)
{
    struct fixture *f = *state;

    assert_believed(f, RELAY);
    put(f->after_data, on_stack(0), START(LEAF) + 8, IN_C);
    assert_believed(f, RELAY);
    assert_refused(f, ITEMS);
}

/* It calls from there whatever is seen to be called, but always for so short that nobody meets it
 * twice. */
static void test_what_seems_so_again_and_again_is_believed(void **state)
{
    struct fixture *f = *state;

    f->image.after_count = 0;
    assert_refused(f, ITEMS);
    assert_believed(f, ITEMS);
    let_items_rest(f);
    assert_refused(f, ITEMS);
}

/* On 3.13 a frame that is being made stands at its first instruction, as one that has begun. C may
 * be making it for who resumed the generator, where one that the generator called lay: the header
 * led from further in, through that. */
static void test_who_has_not_begun_was_not_called(void **state)
{
    struct fixture *f = *state;
    struct cairn_pyraw raws[] = {frame(MAIN, on_stack(0), 0), frame(RELAY, GENERATOR, on_stack(0)),
                                 frame(LEAF, on_stack(1), GENERATOR)};
    enum cairn_pycheck check = CAIRN_PYCHECK_COUNT;

    raws[2].instr = START(LEAF);
    assert_false(cairn_pystack_is_unborn(&f->image, &f->codes, raws, 2));
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 2, true, &check), 0);
    raws[2].stacktop = 1; /* its variables, as it is made: while it runs it does not say */
    assert_true(cairn_pystack_is_unborn(&f->image, &f->codes, raws, 2));
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 2, true, &check),
                     -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_UNBORN);
    /* A tool that is told that it begins stands on top of it. */
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 2, false, &check), 0);
    f->table.told = NULL; /* until 3.12 it stands in front of that */
    assert_false(cairn_pystack_is_unborn(&f->image, &f->codes, raws, 2));
}

/* It lies where another one lay, whose caller it still bore when it was copied: C had called it for
 * a generator that another frame resumes. */
static void test_its_caller_was_not_written_yet(void **state)
{
    struct fixture *f = *state;
    struct cairn_pyraw raws[] = {frame(MAIN, on_stack(0), 0),
                                 frame(LEAF, on_stack(1), on_stack(0))};
    enum cairn_pycheck check = CAIRN_PYCHECK_COUNT;

    raws[1].entered = true;
    put(f->after_data, GENERATOR, START(LEAF) + 8, IN_C);
    /* From 3.12 on that is where C called from, which changes with each call. */
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 1, true, &check), 0);
    f->layout.frame_is_entry = 32;
    put(f->after_data, on_stack(0), START(LEAF) + 8, IN_C);
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 1, true, &check), 0);
    put(f->after_data, 0, 0, IN_C); /* it is over by then */
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 1, true, &check), 0);
    put(f->after_data, GENERATOR, START(LEAF) + 8, IN_C);
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 1, true, &check),
                     -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_AFTER);
}

/* Until 3.11 a trace function is called from wherever a frame stands. */
static void test_one_that_is_traced_is_not_over(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    f->leaf_stacktop = 0;
    put(f->after_data, GENERATOR, START(LEAF) + 8, 0);
    f->units[LEAF][PLACE / 2] = 0;
    assert_refused(f, RELAY);
    assert_int_equal(judge_as(f, RELAY, false, &check), 0);
    assert_believed(f, RELAY);
}

/* Two generators on the heap: `waiting` has `generator` on top of its stack, and has yielded. */
struct pair {
    struct cairn_pycode_entry entry;
    struct cairn_pypiece pieces[2];
    uint8_t data[2][CAIRN_PYSTACK_LEAD_BYTES + FRAME_BYTES + 16];
};

#define OTHER_GENERATOR (GENERATOR + 0x1000)
#define GEN_FRAME 64 /* from a generator to its frame */

static void put_pair(struct fixture *f, struct pair *pair, int32_t stacktop, uint64_t held)
{
    memset(pair, 0, sizeof(*pair));
    f->layout.gen_frame = GEN_FRAME;
    f->entries[RELAY].frame_bytes = FRAME_BYTES + 16;
    f->entries[RELAY].stack_slots = 2;
    f->entries[RELAY].local_slots = 1;
    for (int i = 0; i < 2; i++) {
        uint8_t *at = pair->data[i] + CAIRN_PYSTACK_LEAD_BYTES;

        put(at, 0, START(RELAY) + 8, stacktop);
        at[f->layout.frame_owner] = CAIRN_PYSTACK_OWNER_GENERATOR;
        pair->pieces[i].address = (i ? OTHER_GENERATOR : GENERATOR) - CAIRN_PYSTACK_LEAD_BYTES;
        pair->pieces[i].size_bytes = sizeof(pair->data[i]);
        pair->pieces[i].data = pair->data[i];
    }
    memcpy(pair->data[1] + CAIRN_PYSTACK_LEAD_BYTES + FRAME_BYTES + 8, &held, 8);
    f->image.others = pair->pieces;
    f->image.other_count = 2;
}

static void test_who_waits_for_a_generator_is_found(void **state)
{
    struct fixture *f = *state;
    struct cairn_pyraw generator = frame(RELAY, GENERATOR, 0), found, other;
    struct pair pair;

    put_pair(f, &pair, 2, GENERATOR - GEN_FRAME); /* one local, and it */
    assert_true(cairn_pyresume_holder(&f->image, &f->codes, &generator, &found));
    assert_int_equal(found.address, OTHER_GENERATOR);
    assert_true(cairn_pyresume_holds(&f->image, &f->codes, &found, &generator));
    other = frame(RELAY, OTHER_GENERATOR, 0);
    assert_false(cairn_pyresume_holder(&f->image, &f->codes, &other, &found));
    put_pair(f, &pair, IN_C, GENERATOR - GEN_FRAME); /* it has been resumed again */
    assert_true(cairn_pyresume_holder(&f->image, &f->codes, &generator, &found));
    put_pair(f, &pair, 1, GENERATOR - GEN_FRAME); /* what is left of it */
    assert_false(cairn_pyresume_holder(&f->image, &f->codes, &generator, &found));
    put_pair(f, &pair, 2, GENERATOR);
    assert_false(cairn_pyresume_holder(&f->image, &f->codes, &generator, &found));
    put_pair(f, &pair, 2, GENERATOR - GEN_FRAME);
    f->image.other_count = 1; /* the place of who waits is not known */
    assert_false(cairn_pyresume_holder(&f->image, &f->codes, &generator, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_waits_for_a_generator_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_was_there_before_and_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_generator_is_another_by_then, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_was_not_copied_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_seems_so_again_and_again_is_believed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_who_has_not_begun_was_not_called, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_its_caller_was_not_written_yet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_is_traced_is_not_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_seen_to_be_called_is_believed, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
