/* Generators that had yielded before they were copied: put back where they were, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pynotes.h"
#include "pyrecall.h"

enum code { MAIN, DRIVE, PULL, PONG, PING, SMALL, CODES };

#define START(code) (UINT64_C(0x10000) * ((code) + 1)) /* of its instructions */
#define PLACE 40                                       /* where each calls the next one */
#define UNITS 64
#define EXECUTING 0
#define SUSPENDED (-1)

struct fixture {
    struct cairn_pycode_entry entries[CODES];
    struct cairn_pycodes codes;
    struct cairn_pylayout layout;
    struct cairn_pytable table;
    struct cairn_pyimage image;
    struct cairn_pycontext ctx;
    struct cairn_pykept kept;
};

static int set_up(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    memset(&f.layout, 0xff, sizeof(f.layout)); /* no field is there */
    f.table.executing = EXECUTING;
    assert_int_equal(cairn_pycodes_init(&f.codes, NULL, &f.layout, &f.table, NULL), 0);
    assert_int_equal(cairn_vec_reserve(&f.codes.entries, CODES, CODES), 0);
    for (uint32_t i = 0; i < CODES; i++) {
        f.entries[i] = (struct cairn_pycode_entry){
            .code = {.address = START(i) + 8, .number = i}, .start = START(i), .unit_count = UNITS};
        f.codes.entries.items[i] = &f.entries[i];
        assert_int_equal(cairn_map_put(&f.codes.by_address, START(i) + 8, 0, i), 0);
    }
    f.codes.entries.count = CODES;
    f.image = (struct cairn_pyimage){.layout = &f.layout, .table = &f.table};
    f.ctx = (struct cairn_pycontext){.layout = &f.layout, .table = &f.table, .codes = &f.codes};
    cairn_map_init(&f.ctx.calls, 1000);
    assert_int_equal(cairn_vec_reserve(&f.ctx.walk, CODES, CODES), 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cairn_pycodes_release(&f->codes);
    cairn_map_release(&f->ctx.calls);
    cairn_vec_release(&f->ctx.walk);
    cairn_vec_release(&f->ctx.inner);
    cairn_vec_release(&f->kept.raws);
    return 0;
}

static struct cairn_pyraw frame(struct fixture *f, enum code code, uint32_t place)
{
    return (struct cairn_pyraw){
        .address = 0x1000 + 0x100 * code,
        .code = START(code) + 8,
        .instr = START(code) + place,
        .chunk = code == PONG || code == PING ? -1 : 0,
        .generator = code == PONG || code == PING,
        .state = EXECUTING,
        .entry = &f->entries[code],
    };
}

/* The stack that was read; each frame but the last stands at its call. */
static void read_stack(struct fixture *f, size_t count, const enum code *codes)
{
    assert_int_equal(cairn_vec_reserve(&f->kept.raws, count, CODES), 0);
    for (size_t i = 0; i < count; i++)
        f->kept.raws.items[i] = frame(f, codes[i], i + 1 < count ? PLACE : 10);
    f->kept.raws.count = count;
}

#define READ(f, ...)                                                                               \
    read_stack(f, sizeof((enum code[]){__VA_ARGS__}) / sizeof(enum code),                          \
               (enum code[]){__VA_ARGS__})

/* Seen in time, often enough to be relied on. */
static void learn(struct fixture *f)
{
    for (int i = 0; i < 2; i++) {
        READ(f, MAIN, DRIVE, PONG, PING, SMALL);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
        READ(f, MAIN, DRIVE, PONG, PING);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
    }
}

/* The walk came to these frames, innermost first, and then to no caller. */
static void lose(struct fixture *f, size_t count, const enum code *codes)
{
    for (size_t i = 0; i < count; i++) {
        f->ctx.walk.items[i] = frame(f, codes[i], 20);
        f->ctx.walk.items[i].entry = NULL;
        f->ctx.walk.items[i].state = SUSPENDED;
    }
    f->ctx.walk.count = count;
    assert_int_equal(cairn_pyrecall_keep(&f->ctx, &f->image), 0);
}

#define LOSE(f, ...)                                                                               \
    lose(f, sizeof((enum code[]){__VA_ARGS__}) / sizeof(enum code), (enum code[]){__VA_ARGS__})

static int graft(struct fixture *f, size_t *ret_base)
{
    return cairn_pyrecall_graft(&f->ctx, &f->kept, &f->image, ret_base);
}

static void check_frame(const struct fixture *f, size_t at, enum code code, uint32_t place)
{
    assert_ptr_equal(f->kept.raws.items[at].entry, &f->entries[code]);
    assert_int_equal(f->kept.raws.items[at].instr, START(code) + place);
}

static void test_what_had_yielded_is_put_back(void **state)
{
    struct fixture *f = *state;
    size_t base;

    learn(f);
    LOSE(f, PING);
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(f->kept.raws.count, 4);
    assert_int_equal(base, 2);
    check_frame(f, 1, DRIVE, PLACE); /* it had gone on */
    check_frame(f, 2, PONG, PLACE);
    check_frame(f, 3, PING, 20);
}

static void test_what_it_had_called_stays_on_it(void **state)
{
    struct fixture *f = *state;
    size_t base;

    learn(f);
    LOSE(f, SMALL, PING);
    READ(f, MAIN, DRIVE, PULL);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(f->kept.raws.count, 5);
    check_frame(f, 3, PING, PLACE);
    check_frame(f, 4, SMALL, 20);
}

static void test_a_frame_without_code_is_named_by_where_it_stood(void **state)
{
    struct fixture *f = *state;
    size_t base;

    learn(f);
    LOSE(f, SMALL, PING);
    f->ctx.inner.items[1].code = 0;
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 1);
    check_frame(f, 4, SMALL, 20);
    LOSE(f, SMALL, PING);
    f->ctx.inner.items[1].code = 0;
    f->ctx.inner.items[1].instr = START(CODES) + 20;
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 0);
}

static void test_what_cannot_be_told_is_left(void **state)
{
    struct fixture *f = *state;
    size_t base;

    LOSE(f, PING);
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 0); /* nobody has seen it */
    learn(f);
    LOSE(f, PING);
    READ(f, PULL);
    assert_int_equal(graft(f, &base), 0); /* whoever drives it is not there, nor who calls that */
    assert_int_equal(f->kept.raws.count, 1);
    LOSE(f, PULL, PING);
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 0); /* it was not seen to call that */
    READ(f, MAIN, DRIVE, PING, PING);
    for (int i = 0; i < 8; i++)
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
    LOSE(f, PING);
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 0); /* it resumes its own code: nobody knows how deep */
}

/* Of two that resume such generators, as often as each other, it is the one whose frame is there.
 */
static void test_it_is_put_onto_whoever_is_there(void **state)
{
    struct fixture *f = *state;
    size_t base;

    for (int i = 0; i < 4; i++) {
        READ(f, MAIN, DRIVE, PING);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
        READ(f, MAIN, PULL, PING);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
        READ(f, MAIN, DRIVE, PING, SMALL);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
        READ(f, MAIN, PULL, PING, SMALL);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
    }
    LOSE(f, PING);
    READ(f, MAIN, PULL);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(base, 2);
    check_frame(f, 1, PULL, PLACE);
    check_frame(f, 2, PING, 20);
    READ(f, MAIN, DRIVE, SMALL); /* it called that since */
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(f->kept.raws.count, 3);
    check_frame(f, 1, DRIVE, PLACE);
}

/* Before the body of a `with` one function resumes its code, and behind it another. */
static void test_who_resumes_it_elsewhere_is_not_who_did(void **state)
{
    struct fixture *f = *state;
    size_t base;

    for (int i = 0; i < 4; i++) {
        READ(f, MAIN, DRIVE, PING); /* at 10 */
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
        READ(f, MAIN, PULL, PING, SMALL); /* where it calls small */
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
    }
    LOSE(f, SMALL, PING);
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(base, 1);
    check_frame(f, 1, PULL, PLACE);
    LOSE(f, PING); /* at 20: neither was seen to resume it there */
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 0);
}

/* Memory of a generator that has gone is the next one's: once in a while who waited for the former
 * is read as who resumes the latter. That is not to be believed from then on. */
static void test_what_was_read_wrong_once_in_a_while_is_not_learned(void **state)
{
    struct fixture *f = *state;
    size_t base;

    for (int i = 0; i < 500; i++) {
        READ(f, MAIN, DRIVE, PING, SMALL);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
        if (i % 100 == 0) {
            READ(f, MAIN, PULL, PING, SMALL);
            assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
        }
    }
    LOSE(f, SMALL, PING);
    READ(f, MAIN, PULL);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(base, 1); /* whoever drives it is put onto main */
    check_frame(f, 1, DRIVE, PLACE);
    for (int i = 0; i < 5; i++) { /* a 50th of all now */
        READ(f, MAIN, PULL, PING, SMALL);
        assert_int_equal(cairn_pyrecall_note(&f->ctx, &f->kept), 0);
    }
    READ(f, MAIN, PULL);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(base, 2);
    check_frame(f, 1, PULL, PLACE);
}

static void test_a_driver_that_is_over_is_put_between(void **state)
{
    struct fixture *f = *state;
    size_t base;

    learn(f);
    LOSE(f, PING);
    READ(f, MAIN, SMALL);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(base, 1);
    assert_int_equal(f->kept.raws.count, 4);
    check_frame(f, 0, MAIN, PLACE);
    check_frame(f, 1, DRIVE, PLACE);
    check_frame(f, 2, PONG, PLACE);
    check_frame(f, 3, PING, 20);
}

static void test_only_what_lost_its_caller_is_kept(void **state)
{
    struct fixture *f = *state;
    size_t base;

    learn(f);
    LOSE(f, SMALL); /* no generator */
    READ(f, MAIN, DRIVE);
    assert_int_equal(graft(f, &base), 0);
    f->ctx.walk.count = 0;
    assert_int_equal(cairn_pyrecall_keep(&f->ctx, &f->image), 0);
    assert_int_equal(graft(f, &base), 0);
}

#define FRAME_BYTES 40
#define CHUNK UINT64_C(0x500000)

static struct cairn_pyraw on_stack(struct fixture *f, enum code code, unsigned at)
{
    struct cairn_pyraw raw = frame(f, code, PLACE);

    raw.address = CHUNK + (uint64_t)at * FRAME_BYTES;
    raw.chunk = 0;
    raw.stacktop = -1;
    return raw;
}

/* Main has called drive, C for that pull, and that small: one behind the other, all over by now but
 * the first two. What C called from is written over. */
static void put_called(struct fixture *f, uint8_t *data, struct cairn_pychunk *chunk)
{
    static const enum code codes[] = {MAIN, DRIVE, PULL, SMALL};
    const uint64_t previous[] = {0, CHUNK, 0x7ff000, CHUNK + 2 * FRAME_BYTES};

    f->layout.frame_previous = 0;
    f->layout.frame_code = 8;
    f->layout.frame_instr = 16;
    f->layout.frame_owner = 24;
    f->layout.frame_stacktop = 28;
    f->layout.frame_size = FRAME_BYTES;
    f->layout.chunk_data = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint8_t *at = data + (size_t)i * FRAME_BYTES;

        memset(at, 0, FRAME_BYTES);
        memcpy(at, &previous[i], 8);
        memcpy(at + 8, &(uint64_t){START(codes[i]) + 8}, 8);
        memcpy(at + 16, &(uint64_t){START(codes[i]) + PLACE}, 8);
        memcpy(at + 28, &(int32_t){-1}, 4);
        f->entries[codes[i]].frame_bytes = FRAME_BYTES;
    }
    *chunk = (struct cairn_pychunk){.address = CHUNK, .size_bytes = 4096};
    chunk->piece = (struct cairn_pypiece){CHUNK, (size_t)4 * FRAME_BYTES, data};
    f->image.chunks = chunk;
    f->image.chunk_count = 1;
}

/* C was seen to call the one for the other, again and again. */
static void see_entered(struct fixture *f, enum code caller, enum code callee)
{
    assert_int_equal(cairn_map_put(&f->codes.entered, caller, callee, 3), 0);
    assert_int_equal(cairn_map_put(&f->codes.entered, UINT64_MAX, callee, 3), 0);
}

/* The walk from the current frame, which is at `at`, to what has lost its caller, at `last`. */
static void lose_called(struct fixture *f, unsigned at, unsigned last)
{
    static const enum code codes[] = {MAIN, DRIVE, PULL, SMALL};

    f->ctx.walk.count = 0;
    for (unsigned i = at + 1; i-- > last;) {
        struct cairn_pyraw raw = on_stack(f, codes[i], i);

        raw.previous = i == last ? 0x7ff000 : CHUNK + (uint64_t)(i - 1) * FRAME_BYTES;
        raw.entry = NULL;
        f->ctx.walk.items[f->ctx.walk.count++] = raw;
    }
    assert_int_equal(cairn_pyrecall_keep(&f->ctx, &f->image), 0);
    assert_int_equal(cairn_vec_reserve(&f->kept.raws, 2, CODES), 0);
    f->kept.raws.items[0] = on_stack(f, MAIN, 0);
    f->kept.raws.items[1] = on_stack(f, DRIVE, 1);
    f->kept.raws.items[1].previous = CHUNK;
    f->kept.raws.count = 2;
}

static void test_what_c_called_is_found_on_the_data_stack(void **state)
{
    struct fixture *f = *state;
    uint8_t data[4 * FRAME_BYTES];
    struct cairn_pychunk chunk;
    size_t base;

    put_called(f, data, &chunk);
    lose_called(f, 3, 2);
    assert_int_equal(graft(f, &base), 0); /* nobody has seen it */
    assert_int_equal(f->kept.raws.count, 2);
    see_entered(f, DRIVE, PULL);
    lose_called(f, 3, 2);
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(base, 2);
    assert_int_equal(f->kept.raws.count, 4);
    check_frame(f, 2, PULL, PLACE);
    check_frame(f, 3, SMALL, PLACE);
    lose_called(f, 3, 3);
    assert_int_equal(graft(f, &base), 0); /* nobody has seen C call that for pull */
    assert_int_equal(f->kept.raws.count, 2);
    see_entered(f, PULL, SMALL);
    lose_called(f, 3, 3); /* pull, too, lies there still */
    assert_int_equal(graft(f, &base), 1);
    assert_int_equal(f->kept.raws.count, 4);
    check_frame(f, 2, PULL, PLACE);
    memcpy(data + 2 * FRAME_BYTES + 8, &(uint64_t){START(MAIN) + 8}, 8); /* something else does */
    lose_called(f, 3, 3);
    assert_int_equal(graft(f, &base), 0);
    assert_int_equal(f->kept.raws.count, 2);
    lose_called(f, 2, 2);
    f->ctx.inner.items[0].address += 2 * FRAME_BYTES; /* further in than anything that is known */
    assert_int_equal(graft(f, &base), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_had_yielded_is_put_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_it_had_called_stays_on_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_frame_without_code_is_named_by_where_it_stood,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_told_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_is_put_onto_whoever_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_resumes_it_elsewhere_is_not_who_did, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_read_wrong_once_in_a_while_is_not_learned,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_driver_that_is_over_is_put_between, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_c_called_is_found_on_the_data_stack, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_only_what_lost_its_caller_is_kept, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
