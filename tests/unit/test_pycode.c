/* Code objects in memory that is freed and used again meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "objects.h"
#include "pycode.h"
#include "pystr.h"

#define NOW_NS UINT64_C(1000000000)
#define STATE_ASCII 0x64u /* compact, ASCII, one byte a character: 3.8 to 3.13 */
#define UNITS 4

/* A program with one code object; its texts can become others' once a number of reads was made. */
struct world {
    struct objects objects;
    struct cairn_pylayout layout;
    struct cairn_remote remote;
    struct cairn_pyread_stats stats;
    struct cairn_pycodes codes;
    uint64_t type, code, name;
    int reads_left; /* until it is gone; below 0: it stays */
};

static void put_u32(struct world *world, uint64_t address, uint32_t value)
{
    memcpy(world->objects.memory + (address - OBJECTS_BASE), &value, sizeof(value));
}

static uint64_t make_str(struct world *world, const char *text)
{
    const struct cairn_pylayout *l = &world->layout;
    uint64_t str = objects_make(&world->objects, l->unicode_ascii_data + 64, 0);

    objects_put(&world->objects, str + l->unicode_length, strlen(text));
    put_u32(world, str + l->unicode_state, STATE_ASCII);
    memcpy(world->objects.memory + (str + l->unicode_ascii_data - OBJECTS_BASE), text,
           strlen(text));
    return str;
}

static uint64_t make_code(struct world *world)
{
    const struct cairn_pylayout *l = &world->layout;
    uint64_t code = objects_make(&world->objects, l->code_size + 2 * UNITS, world->type),
             table = objects_make(&world->objects, 128, 0);

    world->name = make_str(world, "function");
    objects_put(&world->objects, code + l->object_count, UNITS);
    objects_put(&world->objects, code + l->code_name, world->name);
    objects_put(&world->objects, code + l->code_qualname, make_str(world, "Class.function"));
    objects_put(&world->objects, code + l->code_filename, make_str(world, "file.py"));
    objects_put(&world->objects, code + l->code_linetable, table);
    return code;
}

static void set_references(struct world *world, uint64_t word)
{
    objects_put(&world->objects, world->code + world->layout.object_type - 8, word);
}

/* Its memory is the next free block, and a text that is being made lies where its name was. */
static void free_code(struct world *world)
{
    set_references(world, OBJECTS_BASE + UINT64_C(0x7f0000000000));
    memset(world->objects.memory + (world->name + world->layout.unicode_ascii_data - OBJECTS_BASE),
           0, strlen("function"));
}

static int read_until_gone(void *ctx, const struct cairn_remote_part *parts, size_t count,
                           size_t *ret_parts)
{
    struct world *world = ctx;

    if (world->reads_left-- == 0)
        free_code(world);
    return objects_read(&world->objects, parts, count, ret_parts);
}

static int setup(void **state)
{
    static struct world world;
    const struct cairn_pytable *table = cairn_pytable_find(12);
    struct cairn_err err;

    memset(&world, 0, sizeof(world));
    world.reads_left = -1;
    assert_int_equal(cairn_pylayout_from_table(table, &world.layout, &err), 0);
    objects_init(&world.objects, &world.layout);
    world.remote = (struct cairn_remote){.read = read_until_gone, .ctx = &world};
    assert_int_equal(
        cairn_pycodes_init(&world.codes, &world.remote, &world.layout, table, &world.stats), 0);
    world.type = objects_make_type(&world.objects, "code");
    world.code = make_code(&world);
    set_references(&world, 1);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    cairn_pycodes_release(&world->codes);
    return 0;
}

static const struct cairn_pycode_entry *load(struct world *world, uint64_t now_ns)
{
    assert_int_equal(cairn_pycodes_want(&world->codes, world->code), 0);
    assert_int_equal(cairn_pycodes_load(&world->codes, now_ns), 0);
    return cairn_pycodes_find(&world->codes, world->code);
}

static void test_code_is_read(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry = load(world, NOW_NS);

    assert_non_null(entry);
    assert_true(entry->named);
    assert_int_equal(entry->code.name.size_bytes, strlen("function"));
    assert_memory_equal(entry->code.name.data, "function", strlen("function"));
    assert_int_equal(entry->unit_count, UNITS);
}

#define LONG_BYTES 20000

/* Gives the code a name of `LONG_BYTES` letters; where it ends. */
static uint64_t give_long_name(struct world *world)
{
    const struct cairn_pylayout *l = &world->layout;
    uint64_t name = objects_make(&world->objects, l->unicode_ascii_data + LONG_BYTES + 8, 0);

    objects_put(&world->objects, name + l->unicode_length, LONG_BYTES);
    put_u32(world, name + l->unicode_state, STATE_ASCII);
    memset(world->objects.memory + (name + l->unicode_ascii_data - OBJECTS_BASE), 'x', LONG_BYTES);
    objects_put(&world->objects, world->code + l->code_name, name);
    return name + l->unicode_ascii_data + LONG_BYTES;
}

static void test_a_long_name_is_cut(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry;

    give_long_name(world);
    entry = load(world, NOW_NS);
    assert_non_null(entry);
    assert_true(entry->named);
    assert_int_equal(entry->code.name.size_bytes, CAIRN_PYSTR_CUT_BYTES + strlen("…"));
    assert_memory_equal(entry->code.name.data + CAIRN_PYSTR_CUT_BYTES - 1, "x…", strlen("x…"));
}

/* As when the length is another's by now. */
static void test_a_length_that_leads_to_no_end_is_not_believed(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry;

    put_u32(world, give_long_name(world), 'x');
    entry = load(world, NOW_NS);
    assert_true(!entry || !entry->named);
}

static void test_every_count_of_references_is_one(void **state)
{
    struct world *world = *state;
    const uint64_t words[] = {
        1,
        999999999,                    /* 3.11, of what comes with the interpreter */
        UINT64_C(0xffffffff),         /* 3.12, 3.13: immortal */
        UINT64_C(0xc0000000),         /* 3.14: the same … */
        UINT64_C(0x0004000000000001), /* … and flags */
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        set_references(world, words[i]);
        assert_non_null(load(world, NOW_NS + i));
    }
    assert_int_equal(world->stats.codes, 1);
}

static void test_freed_memory_is_no_code(void **state)
{
    struct world *world = *state;
    const uint64_t words[] = {0, UINT64_C(0x00007f12a4c3e5b0), UINT64_C(0x000055d000000010),
                              UINT64_C(0xdddddddddddddddd)};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        set_references(world, words[i]);
        assert_null(load(world, NOW_NS + i));
    }
}

/* Whenever it goes, no name comes of it but its own. */
static void test_code_that_goes_while_it_is_read(void **state)
{
    int gone = 0, before = 0;

    for (int reads = 0; !before; reads++) {
        struct world *world;
        const struct cairn_pycode_entry *entry;

        assert_true(reads < 20);
        teardown(state);
        setup(state);
        world = *state;
        world->reads_left = reads;
        entry = load(world, NOW_NS);
        gone += !entry;
        if (entry)
            assert_memory_equal(entry->code.name.data, "function", strlen("function"));
        before = world->reads_left >= 0; /* it went after the last read */
    }
    assert_true(gone > 2);
}

/* What was known there, and is gone: frames read before that ran it, but where other code may have
 * come and gone since. */
static void test_code_that_is_gone(void **state)
{
    struct world *world = *state;
    const uint64_t later_ns = NOW_NS + 1000;

    for (int takes_over = 0; takes_over < 2; takes_over++) {
        set_references(world, 1);
        assert_non_null(load(world, NOW_NS));
        world->codes.taken_over_ns = takes_over ? NOW_NS : 0;
        set_references(world, 0);
        assert_int_equal(load(world, later_ns) == NULL, takes_over);
        assert_null(load(world, later_ns + 1));
    }
}

/* Who makes the same code over and over does not fill the memory with it, wherever it lies; what is
 * there as well, or was a moment ago, keeps its entry. */
static void test_code_that_comes_again_elsewhere(void **state)
{
    struct world *world = *state;
    struct cairn_pycode_entry *entry;
    uint64_t first = world->code;

    assert_non_null(load(world, NOW_NS));
    entry = cairn_pycodes_find(&world->codes, first);
    world->code = make_code(world);
    set_references(world, 1);
    assert_ptr_not_equal(load(world, NOW_NS + 1), entry); /* both are there, and fresh */
    assert_int_equal(world->codes.entries.count, 2);

    for (size_t i = 0; i < world->codes.entries.count; i++)
        world->codes.entries.items[i]->looked_ns = 0; /* a long time ago */
    world->code = make_code(world);
    set_references(world, 1);
    assert_non_null(load(world, NOW_NS + 2));
    assert_int_equal(world->codes.entries.count, 3); /* the others have not gone */

    for (size_t i = 0; i < world->codes.entries.count; i++)
        world->codes.entries.items[i]->looked_ns = 0;
    objects_put(&world->objects, first + world->layout.object_type - 8, 0);
    world->code = make_code(world);
    set_references(world, 1);
    assert_ptr_equal(load(world, NOW_NS + 3), entry);
    assert_int_equal(entry->code.address, world->code);
    assert_int_equal(entry->start, world->code + world->layout.code_instructions);
    assert_null(cairn_pycodes_find(&world->codes, first));
    assert_int_equal(world->codes.entries.count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_code_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_long_name_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_length_that_leads_to_no_end_is_not_believed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_every_count_of_references_is_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_freed_memory_is_no_code, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code_that_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code_that_goes_while_it_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code_that_comes_again_elsewhere, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
