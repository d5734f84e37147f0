/* From a frame that holds to what it called since, by the copy of the data stack alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pybump.h"
#include "pyclimb.h"
#include "pyseen.h"

enum code { MAIN, EVALUATE, PARSE, TAKES, CODES };

#define START(code) (UINT64_C(0x10000) * ((code) + 1)) /* of its instructions */
#define CALL 40                                        /* where each can call the next one */
#define UNITS 64
#define CHUNK UINT64_C(0x7000000)
#define FRAME_BYTES 64
#define ON_C_STACK UINT64_C(0x7fff0000)
#define RUNS (-1)

struct fixture {
    struct cairn_pycode_entry entries[CODES];
    uint8_t units[UNITS];
    struct cairn_pycodes codes;
    struct cairn_pylayout layout;
    struct cairn_pytable table;
    uint8_t data[CODES * FRAME_BYTES];
    struct cairn_pychunk chunk;
    struct cairn_pyimage image;
    struct cairn_pyraws raws;
};

/* Main, which C called evaluate for, which C called parse for, which called takes: all of it runs.
 */
static int set_up(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    memset(&f.layout, 0xff, sizeof(f.layout)); /* no field is there */
    f.layout.frame_previous = 0;
    f.layout.frame_code = 8;
    f.layout.frame_instr = 16;
    f.layout.frame_owner = 24;
    f.layout.frame_stacktop = 28;
    f.layout.frame_size = FRAME_BYTES;
    f.layout.chunk_data = 0;
    f.units[CALL / 2] = CAIRN_PYUNIT_CALLER;
    assert_int_equal(cairn_pycodes_init(&f.codes, NULL, &f.layout, &f.table, NULL), 0);
    assert_int_equal(cairn_vec_reserve(&f.codes.entries, CODES, CODES), 0);
    for (uint32_t i = 0; i < CODES; i++) {
        f.entries[i] = (struct cairn_pycode_entry){.code = {.address = START(i) + 8, .number = i},
                                                   .start = START(i),
                                                   .unit_count = UNITS,
                                                   .units = f.units,
                                                   .stack_slots = 8,
                                                   .frame_bytes = FRAME_BYTES};
        f.codes.entries.items[i] = &f.entries[i];
        assert_int_equal(cairn_map_put(&f.codes.by_address, START(i) + 8, 0, i), 0);
    }
    f.codes.entries.count = CODES;
    f.chunk = (struct cairn_pychunk){
        .address = CHUNK, .size_bytes = 4096, .piece = {CHUNK, sizeof(f.data), f.data}};
    f.image = (struct cairn_pyimage){
        .layout = &f.layout, .table = &f.table, .chunks = &f.chunk, .chunk_count = 1};
    assert_int_equal(cairn_vec_reserve(&f.raws, CODES, CODES), 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cairn_pycodes_release(&f->codes);
    cairn_vec_release(&f->raws);
    return 0;
}

static void put(struct fixture *f, enum code code, uint64_t previous, int32_t stacktop)
{
    uint8_t *at = f->data + (size_t)code * FRAME_BYTES;

    memcpy(at, &previous, 8);
    memcpy(at + 8, &(uint64_t){START(code) + 8}, 8);
    memcpy(at + 16, &(uint64_t){START(code) + CALL}, 8);
    memcpy(at + 28, &stacktop, 4);
}

static void put_all(struct fixture *f)
{
    put(f, MAIN, 0, RUNS);
    put(f, EVALUATE, ON_C_STACK, RUNS);
    put(f, PARSE, ON_C_STACK - 512, 1); /* suspended in a call, with one value on its stack */
    put(f, TAKES, CHUNK + PARSE * FRAME_BYTES, RUNS);
}

/* C was seen to call the one for the other so often. */
static void see(struct fixture *f, enum code caller, enum code callee, uint64_t times)
{
    uint64_t all = 0;

    (void)cairn_map_get(&f->codes.entered, UINT64_MAX, callee, &all);
    assert_int_equal(cairn_map_put(&f->codes.entered, caller, callee, times), 0);
    assert_int_equal(cairn_map_put(&f->codes.entered, UINT64_MAX, callee, all + times), 0);
}

/* How many frames it comes to from main. */
static size_t climb(struct fixture *f)
{
    uint64_t code_address, again;

    f->raws.items[0] = (struct cairn_pyraw){
        .address = CHUNK, .code = START(MAIN) + 8, .instr = START(MAIN) + CALL, .stacktop = RUNS};
    f->raws.count = 1;
    assert_int_equal(
        cairn_pystack_climb(&f->image, &f->codes, &f->raws, CODES, &code_address, &again), 0);
    return f->raws.count;
}

static void test_what_c_called_is_taken_in(void **state)
{
    struct fixture *f = *state;

    put_all(f);
    see(f, MAIN, EVALUATE, 3);
    see(f, EVALUATE, PARSE, 3);
    assert_int_equal(climb(f), 4);
    assert_true(f->raws.items[1].entered && f->raws.items[2].entered && !f->raws.items[3].entered);
}

static void test_only_where_it_was_seen_to_again_and_again(void **state)
{
    struct fixture *f = *state;

    put_all(f);
    assert_int_equal(climb(f), 1);
    see(f, MAIN, EVALUATE, 2);
    assert_int_equal(climb(f), 1);
    see(f, MAIN, EVALUATE, 3);
    assert_int_equal(climb(f), 2);
    see(f, EVALUATE, PARSE, 3);
    see(f, MAIN, PARSE, 300); /* it is mostly called by another: three may be a mistake */
    assert_int_equal(climb(f), 2);
    see(f, EVALUATE, PARSE, 5);
    assert_int_equal(climb(f), 4);
}

static void test_what_is_over_is_left_out(void **state)
{
    struct fixture *f = *state;
    uint8_t *takes = f->data + TAKES * FRAME_BYTES, *evaluate = f->data + EVALUATE * FRAME_BYTES;

    see(f, MAIN, EVALUATE, 3);
    see(f, EVALUATE, PARSE, 3);
    put_all(f);
    memcpy(takes + 16, &(uint64_t){START(TAKES) + CALL + 2}, 8); /* behind the call, and … */
    memcpy(takes + 28, &(int32_t){0}, 4); /* … suspended: it has returned */
    assert_int_equal(climb(f), 3);
    memset(evaluate + 8, 0, 8); /* from 3.14 on its code is taken away */
    assert_int_equal(climb(f), 1);
}

static void test_who_was_called_by_another_frame_is_none(void **state)
{
    struct fixture *f = *state;

    see(f, MAIN, EVALUATE, 3);
    put_all(f);
    put(f, EVALUATE, CHUNK + TAKES * FRAME_BYTES, RUNS); /* left there by a call from further in */
    assert_int_equal(climb(f), 1);
}

static void test_without_c_only_from_who_is_suspended(void **state)
{
    struct fixture *f = *state;

    put_all(f);
    see(f, MAIN, EVALUATE, 3);
    see(f, EVALUATE, PARSE, 3);
    put(f, PARSE, ON_C_STACK - 512, RUNS);
    assert_int_equal(climb(f), 3); /* what it called is over, whatever its frame still says */
}

static void see_without_c(struct fixture *f, enum code caller, uint32_t place, enum code callee,
                          int times)
{
    for (int i = 0; i < times; i++)
        assert_int_equal(
            cairn_pyseen_note(&f->codes, &f->entries[caller], place / 2, &f->entries[callee]), 0);
}

/* The stack, with what parse called at its end. */
static void put_returned(struct fixture *f)
{
    uint8_t *takes = f->data + TAKES * FRAME_BYTES;

    see(f, MAIN, EVALUATE, 3);
    see(f, EVALUATE, PARSE, 3);
    put_all(f);
    memcpy(takes + 16, &(uint64_t){START(TAKES) + CALL + 2}, 8);
    memcpy(takes + 28, &(int32_t){0}, 4);
}

/* Whoever waited for it when it was copied says that it ran then, though it had returned when it
 * was copied itself. */
static void test_who_waits_says_that_it_was_there(void **state)
{
    struct fixture *f = *state;

    put_returned(f);
    see_without_c(f, PARSE, CALL, TAKES, 2);
    assert_int_equal(climb(f), 3); /* it may have been a mistake */
    see_without_c(f, PARSE, CALL, TAKES, 1);
    assert_int_equal(climb(f), 4);
    put(f, PARSE, ON_C_STACK - 512, RUNS); /* back in the caller */
    assert_int_equal(climb(f), 3);
}

static void test_only_from_where_it_is_called(void **state)
{
    struct fixture *f = *state;

    put_returned(f);
    see_without_c(f, PARSE, CALL - 20, TAKES, 3);
    assert_int_equal(climb(f), 3);
    see_without_c(f, PARSE, CALL, TAKES, 1);
    assert_int_equal(climb(f), 4);
}

/* What the header led to, from a caller that had returned when it was copied. */
static void test_who_had_returned_did_call_before(void **state)
{
    struct fixture *f = *state;
    const uint64_t over = START(PARSE) + CALL + 10;
    struct cairn_pyraw raws[] = {
        {.address = CHUNK, .code = START(PARSE) + 8, .instr = over, .stacktop = 0},
        {.address = CHUNK + FRAME_BYTES,
         .code = START(TAKES) + 8,
         .instr = START(TAKES) + CALL,
         .previous = CHUNK,
         .stacktop = RUNS},
    };
    enum cairn_pycheck check = CAIRN_PYCHECK_COUNT;

    see_without_c(f, PARSE, CALL + 20, TAKES, 3); /* but from behind there */
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 1, true, &check),
                     -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_CALLER);
    see_without_c(f, PARSE, CALL, TAKES, 1);
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 1, true, &check), 0);
    assert_int_equal(raws[0].instr, START(PARSE) + CALL);
    raws[0].instr = over;
    raws[0].stacktop = RUNS; /* it goes on, and called nothing from there */
    assert_int_equal(cairn_pystack_judge(&f->image, &f->codes, raws, 1, true, &check),
                     -CAIRN_EDAMAGED);
}

/* Who is run for what a frame had, while that is taken down, lies behind it, called by its caller.
 */
static void test_what_runs_while_a_frame_is_taken_down(void **state)
{
    struct fixture *f = *state;
    uint8_t *parse = f->data + PARSE * FRAME_BYTES, entry[FRAME_BYTES] = {[24] = 3};
    const struct cairn_pypiece other = {ON_C_STACK, sizeof(entry), entry};
    struct cairn_pyraw raws[] = {
        {.address = CHUNK + FRAME_BYTES,
         .code = START(EVALUATE) + 8,
         .instr = START(EVALUATE) + CALL,
         .stacktop = 1},
        {.address = CHUNK + TAKES * FRAME_BYTES,
         .code = START(TAKES) + 8,
         .instr = START(TAKES) + CALL,
         .stacktop = RUNS,
         .entered = true},
    };

    put_all(f);
    put(f, PARSE, CHUNK + FRAME_BYTES, 0);
    memcpy(parse + 16, &(uint64_t){START(PARSE) + CALL + 2}, 8); /* it has returned */
    assert_true(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
    assert_int_equal(cairn_pybump_unknown(&f->image, &f->codes, raws, 1), 0);
    memcpy(parse, &(uint64_t){ON_C_STACK}, 8); /* C called it: by an entry frame */
    assert_false(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
    memcpy(entry, &(uint64_t){CHUNK + FRAME_BYTES}, 8);
    f->image.others = &other;
    f->image.other_count = 1;
    assert_true(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
    memcpy(parse + 8, &(uint64_t){0x5008}, 8); /* code that was not met yet */
    assert_false(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
    assert_int_equal(cairn_pybump_unknown(&f->image, &f->codes, raws, 1), 0x5008);
    raws[1].entered = false;
    assert_int_equal(cairn_pybump_unknown(&f->image, &f->codes, raws, 1), 0);
}

/* A coroutine called what is taken down; what is run for it calls a function itself. */
static void test_what_runs_there_for_a_generator(void **state)
{
    struct fixture *f = *state;
    const uint64_t relay = UINT64_C(0x500000), closed = UINT64_C(0x600000); /* generators */
    struct cairn_pyraw raws[] = {
        {.address = CHUNK + FRAME_BYTES, .code = START(EVALUATE) + 8},
        {.address = relay, .code = START(MAIN) + 8, .chunk = -1, .generator = true},
        {.address = closed, .code = START(MAIN) + 8, .chunk = -1, .generator = true},
        {.address = CHUNK + TAKES * FRAME_BYTES, .code = START(TAKES) + 8},
    };

    put_all(f);
    put(f, PARSE, relay, 0);
    memcpy(f->data + PARSE * FRAME_BYTES + 16, &(uint64_t){START(PARSE) + CALL + 2}, 8);
    assert_false(cairn_pybump_holds(&f->image, &f->codes, raws, 3));
    raws[2].entered = true; /* the second generator is closed, and calls takes */
    assert_true(cairn_pybump_holds(&f->image, &f->codes, raws, 3));
    raws[2].entered = false;
    raws[3].entered = true;
    assert_false(cairn_pybump_holds(&f->image, &f->codes, raws, 3));
    put(f, PARSE, closed, 0);
    memcpy(f->data + PARSE * FRAME_BYTES + 16, &(uint64_t){START(PARSE) + CALL + 2}, 8);
    assert_true(cairn_pybump_holds(&f->image, &f->codes, raws, 3));
}

/* What is run while one is taken down is taken down itself; and the same at a thread's first. */
static void test_two_that_are_taken_down(void **state)
{
    struct fixture *f = *state;
    const uint64_t first = CHUNK + 8; /* a word in front of the first frame is left out */
    struct cairn_pyraw raws[] = {
        {.address = CHUNK, .code = START(MAIN) + 8},
        {.address = CHUNK + TAKES * FRAME_BYTES, .code = START(TAKES) + 8, .entered = true},
    };
    struct cairn_pyraw alone = {
        .address = first + FRAME_BYTES, .code = START(TAKES) + 8, .entered = true};

    put_all(f);
    put(f, EVALUATE, CHUNK, 0);
    put(f, PARSE, CHUNK, 0);
    memcpy(f->data + EVALUATE * FRAME_BYTES + 16, &(uint64_t){START(EVALUATE) + CALL + 2}, 8);
    memcpy(f->data + PARSE * FRAME_BYTES + 16, &(uint64_t){START(PARSE) + CALL + 2}, 8);
    assert_true(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
    assert_false(cairn_pybump_holds(&f->image, &f->codes, &alone, 0));
    memmove(f->data + 8, f->data + PARSE * FRAME_BYTES, FRAME_BYTES);
    assert_false(cairn_pybump_holds(&f->image, &f->codes, &alone, 0));
    memset(f->data + 8, 0, 8); /* nobody called it */
    assert_true(cairn_pybump_holds(&f->image, &f->codes, &alone, 0));
}

static void test_who_goes_on_called_that_itself(void **state)
{
    struct fixture *f = *state;
    const uint64_t variables = CHUNK + (PARSE + 1) * FRAME_BYTES; /* of parse */
    uint8_t *parse = f->data + PARSE * FRAME_BYTES;
    struct cairn_pyraw raws[] = {
        {.address = CHUNK + FRAME_BYTES, .code = START(EVALUATE) + 8},
        {.address = CHUNK + TAKES * FRAME_BYTES, .code = START(TAKES) + 8, .entered = true},
    };

    put_all(f);
    put(f, PARSE, CHUNK + FRAME_BYTES, RUNS);
    assert_false(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
    f->layout.frame_stackpointer = 32; /* from 3.14 on */
    f->entries[PARSE].local_slots = 2;
    memcpy(parse + 32, &(uint64_t){variables + 16}, 8);
    assert_false(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
    memcpy(parse + 32, &variables, 8); /* they are taken down */
    assert_true(cairn_pybump_holds(&f->image, &f->codes, raws, 1));
}

/* What is over may lie as it did, though where C called it from is another call's by now. */
static void test_a_foothold_that_leads_nowhere(void **state)
{
    struct fixture *f = *state;
    uint8_t entries[2 * FRAME_BYTES] = {[24] = 3, [FRAME_BYTES + 24] = 3};
    struct cairn_pypiece other = {ON_C_STACK, sizeof(entries), entries};
    struct cairn_pyraw items[] = {
        {.address = CHUNK, .code = START(MAIN) + 8, .previous = ON_C_STACK},
        {.address = CHUNK + FRAME_BYTES,
         .code = START(EVALUATE) + 8,
         .previous = ON_C_STACK + FRAME_BYTES},
    };
    const struct cairn_pyraws good = {.items = items, .count = 2};
    enum cairn_pycheck check;
    uint64_t missing;

    put_all(f);
    put(f, MAIN, ON_C_STACK, 1);
    put(f, EVALUATE, ON_C_STACK + FRAME_BYTES, RUNS);
    f->image.others = &other;
    f->image.other_count = 1;
    memcpy(entries + FRAME_BYTES, &(uint64_t){CHUNK}, 8);
    assert_int_equal(
        cairn_pystack_walk_foothold(&f->image, &good, false, &f->raws, CODES, &missing, &check), 0);
    assert_int_equal(f->raws.count, 2);
    memcpy(entries + FRAME_BYTES, &(uint64_t){CHUNK + 1}, 8);
    assert_int_equal(
        cairn_pystack_walk_foothold(&f->image, &good, false, &f->raws, CODES, &missing, &check), 0);
    assert_int_equal(f->raws.count, 1);
    assert_int_equal(f->image.current_frame, CHUNK);
    /* Where it leads was not copied: that is read first, if there is another try. */
    other.size_bytes = FRAME_BYTES;
    assert_int_equal(
        cairn_pystack_walk_foothold(&f->image, &good, false, &f->raws, CODES, &missing, &check),
        -CAIRN_ENOTFOUND);
    assert_int_equal(missing, ON_C_STACK + FRAME_BYTES);
    assert_int_equal(
        cairn_pystack_walk_foothold(&f->image, &good, true, &f->raws, CODES, &missing, &check), 0);
    assert_int_equal(f->raws.count, 1);
    assert_int_equal(f->image.current_frame, CHUNK);
}

/* Of up to three places it is known which is the last one in front of another. */
static void test_from_where_it_was_called(void **state)
{
    struct fixture *f = *state;
    const struct cairn_pycode_entry *from = &f->entries[PARSE], *to = &f->entries[TAKES];
    uint32_t place;

    assert_false(cairn_pyseen_at(&f->codes, from, 0, to));
    for (uint32_t unit = 10; unit < 40; unit += 10)
        assert_int_equal(cairn_pyseen_note(&f->codes, from, unit, to), 0);
    assert_false(cairn_pyseen_at(&f->codes, from, 0, to));
    assert_true(cairn_pyseen_at(&f->codes, from, 10, to));
    assert_false(cairn_pyseen_at(&f->codes, to, 10, from));
    assert_false(cairn_pyseen_before(&f->codes, from, 10, to, &place));
    assert_true(cairn_pyseen_before(&f->codes, from, 25, to, &place));
    assert_int_equal(place, 20);
    assert_true(cairn_pyseen_before(&f->codes, from, 1000, to, &place));
    assert_int_equal(place, 30);
    assert_int_equal(cairn_pyseen_note(&f->codes, from, UINT32_MAX, to), 0); /* no room for it */
    assert_true(cairn_pyseen_before(&f->codes, from, 1000, to, &place));
    assert_int_equal(cairn_pyseen_note(&f->codes, from, 50, to), 0); /* from anywhere, it seems */
    assert_true(cairn_pyseen_at(&f->codes, from, 10, to));
    assert_true(cairn_pyseen_at(&f->codes, from, 0, to));
    assert_false(cairn_pyseen_before(&f->codes, from, 1000, to, &place));
}

static void test_a_copy_that_ends_before_the_stack_did_is_told(void **state)
{
    struct fixture *f = *state;

    put_all(f);
    see(f, MAIN, EVALUATE, 3);
    f->chunk.piece.size_bytes = PARSE * FRAME_BYTES;
    f->image.chunk_top = CHUNK + CODES * FRAME_BYTES;
    assert_int_equal(climb(f), 2);
    assert_true(cairn_pystack_is_short(&f->image, &f->codes, &f->raws));
    f->image.chunk_top = CHUNK + PARSE * FRAME_BYTES; /* that was all there was */
    assert_false(cairn_pystack_is_short(&f->image, &f->codes, &f->raws));
    f->chunk.piece.size_bytes = sizeof(f->data); /* it was copied: it is none of what runs */
    f->image.chunk_top = CHUNK + CODES * FRAME_BYTES;
    assert_int_equal(climb(f), 2);
    assert_false(cairn_pystack_is_short(&f->image, &f->codes, &f->raws));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_c_called_is_taken_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_where_it_was_seen_to_again_and_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_over_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_was_called_by_another_frame_is_none, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_without_c_only_from_who_is_suspended, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_who_waits_says_that_it_was_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_from_where_it_is_called, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_had_returned_did_call_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_runs_while_a_frame_is_taken_down, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_runs_there_for_a_generator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_that_are_taken_down, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_foothold_that_leads_nowhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_goes_on_called_that_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_from_where_it_was_called, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_copy_that_ends_before_the_stack_did_is_told, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
