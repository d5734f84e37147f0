/* The walk along a chain of frames: what it takes for an entry frame of the interpreter's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pystack.h"

#define FRAME_BYTES 40
#define CHUNK UINT64_C(0x10000)
#define C_STACK UINT64_C(0x70000)
#define THREAD 0 /* owners */
#define FRAME_OBJECT 2
#define INTERPRETER 3
#define TRAMPOLINE UINT64_C(0x5000)

struct fixture {
    struct cairn_pylayout layout;
    struct cairn_pytable table;
    uint8_t stack[4 * FRAME_BYTES], elsewhere[4 * FRAME_BYTES];
    struct cairn_pychunk chunk;
    struct cairn_pypiece other;
    struct cairn_pyentries entries;
    struct cairn_pyimage image;
    struct cairn_pyraw items[8];
    struct cairn_pyraws raws;
};

static void put(uint8_t *memory, unsigned at, uint64_t previous, uint64_t instr, uint8_t owner)
{
    uint8_t *frame = memory + (size_t)at * FRAME_BYTES;

    memcpy(frame, &previous, 8);
    memcpy(frame + 8, &(uint64_t){0x9000}, 8); /* its code */
    memcpy(frame + 16, &instr, 8);
    frame[24] = owner;
}

static uint64_t python(unsigned at)
{
    return CHUNK + (uint64_t)at * FRAME_BYTES;
}

static uint64_t entry(unsigned at)
{
    return C_STACK + (uint64_t)at * FRAME_BYTES;
}

/* A function that C called, and what it has C call. */
static int set_up(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    memset(&f.layout, 0xff, sizeof(f.layout)); /* no field is there, but for … */
    f.layout.frame_previous = 0;
    f.layout.frame_code = 8;
    f.layout.frame_instr = 16;
    f.layout.frame_owner = 24;
    f.layout.frame_size = FRAME_BYTES;
    put(f.stack, 0, entry(0), 0x9100, THREAD);
    put(f.stack, 1, entry(1), 0x9200, THREAD);
    put(f.elsewhere, 0, 0, TRAMPOLINE, INTERPRETER);
    put(f.elsewhere, 1, python(0), TRAMPOLINE, INTERPRETER);
    f.chunk = (struct cairn_pychunk){
        .address = CHUNK, .size_bytes = sizeof(f.stack), .used_bytes = sizeof(f.stack)};
    f.chunk.piece = (struct cairn_pypiece){CHUNK, sizeof(f.stack), f.stack};
    f.other = (struct cairn_pypiece){C_STACK, sizeof(f.elsewhere), f.elsewhere};
    f.image = (struct cairn_pyimage){.layout = &f.layout,
                                     .table = &f.table,
                                     .current_frame = python(1),
                                     .chunks = &f.chunk,
                                     .chunk_count = 1,
                                     .others = &f.other,
                                     .other_count = 1,
                                     .entries = &f.entries};
    f.raws.items = f.items;
    *state = &f;
    return 0;
}

static int walk(struct fixture *f, enum cairn_pycheck *ret_check)
{
    uint64_t missing;

    *ret_check = CAIRN_PYCHECK_COUNT;
    return cairn_pystack_walk(&f->image, &f->raws, 8, &missing, ret_check);
}

static void test_entries_are_no_frames(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    assert_int_equal(walk(f, &check), 0);
    assert_int_equal(f->raws.count, 2);
    assert_true(f->items[0].entered && f->items[1].entered);
}

/* What was left of one, with a frame's address where its caller's stood. */
static void test_what_lies_where_an_entry_lay(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    assert_int_equal(walk(f, &check), 0);
    put(f->elsewhere, 1, python(0), 0x400123, INTERPRETER);
    assert_int_equal(walk(f, &check), -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_ENTRY);
    put(f->elsewhere, 1, python(0), TRAMPOLINE, INTERPRETER);
    assert_int_equal(walk(f, &check), 0);
}

/* When what it called has returned it goes on to its own end, by an instruction or two. */
static void test_an_entry_that_is_being_left(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    assert_int_equal(walk(f, &check), 0);
    put(f->elsewhere, 1, python(0), TRAMPOLINE + 2, INTERPRETER);
    assert_int_equal(walk(f, &check), 0);
    put(f->elsewhere, 1, python(0), TRAMPOLINE + 64, INTERPRETER);
    assert_int_equal(walk(f, &check), -CAIRN_EDAMAGED);
}

/* The first one that is seen may be such. */
static void test_most_of_them_are_right(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    put(f->elsewhere, 1, python(0), 0x400123, INTERPRETER);
    (void)walk(f, &check);
    put(f->elsewhere, 1, python(0), TRAMPOLINE, INTERPRETER);
    while (walk(f, &check) != 0)
        assert_true(f->entries.lead < 3);
    assert_int_equal(f->entries.instr, TRAMPOLINE);
}

/* Of a call that is over, as a traceback keeps it: nobody runs it, whatever leads there. */
static void test_what_a_frame_object_keeps(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    put(f->elsewhere, 2, entry(0), 0x9200, FRAME_OBJECT);
    f->image.current_frame = entry(2);
    assert_int_equal(walk(f, &check), -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_OWNER);
}

/* A frame that has nothing above it is not the first of a stack: C calls that by an entry frame. */
static void test_a_chain_that_ends_below_no_entry(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    put(f->stack, 0, 0, 0x9100, THREAD);
    assert_int_equal(walk(f, &check), -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_ROOT);
}

/* But where greenlet takes what lies on the C stack away the first one has nothing above it, and
 * others still are none. */
static void test_a_chain_that_greenlet_has_cut(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    f->layout.chunk_data = 0;
    f->chunk.address = python(0) - 8;
    put(f->stack, 0, 0, 0x9100, THREAD);
    put(f->stack, 1, python(0), 0x9200, THREAD);
    assert_int_equal(walk(f, &check), 0);
    assert_int_equal(f->raws.count, 2);
    put(f->stack, 1, 0, 0x9200, THREAD);
    assert_int_equal(walk(f, &check), -CAIRN_EDAMAGED);
    assert_int_equal(check, CAIRN_PYCHECK_ROOT);
}

/* From 3.15 on each thread has a frame at which its chains end. */
static void test_a_chain_that_ends_at_the_base_frame(void **state)
{
    struct fixture *f = *state;
    enum cairn_pycheck check;

    put(f->stack, 0, entry(3), 0x9100, THREAD);
    f->image.base_frame = entry(3);
    assert_int_equal(walk(f, &check), 0);
    assert_int_equal(f->raws.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_entries_are_no_frames, set_up),
        cmocka_unit_test_setup(test_what_lies_where_an_entry_lay, set_up),
        cmocka_unit_test_setup(test_an_entry_that_is_being_left, set_up),
        cmocka_unit_test_setup(test_most_of_them_are_right, set_up),
        cmocka_unit_test_setup(test_what_a_frame_object_keeps, set_up),
        cmocka_unit_test_setup(test_a_chain_that_ends_below_no_entry, set_up),
        cmocka_unit_test_setup(test_a_chain_that_greenlet_has_cut, set_up),
        cmocka_unit_test_setup(test_a_chain_that_ends_at_the_base_frame, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
