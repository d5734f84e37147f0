/* Code objects in memory that is freed and used again meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "err.h"
#include "objects.h"
#include "pycode.h"
#include "pyfresh.h"
#include "pypassed.h"
#include "pystr.h"

#define NOW_NS UINT64_C(1000000000)
#define STATE_ASCII 0x64u /* compact, ASCII, one byte a character: 3.8 to 3.13 */
#define INTERNED 1u
#define OPTIMIZED 1u /* of co_flags: a function has it */
#define UNITS 4
#define IMMORTAL 0xc0000000u /* references, from 3.14 on */

/* A program with one code object; its texts can become others' once a number of reads was made. */
struct world {
    struct objects objects;
    struct cairn_pylayout layout;
    struct cairn_remote remote;
    struct cairn_pyread_stats stats;
    struct cairn_pycodes codes;
    uint64_t type, code, name;
    int reads_left; /* until it is gone; below 0: it stays */
    bool comes;     /* no: it is made then, where there was none */
    bool late;      /* it is looked at long after the frames were copied */
    int delayed;    /* the read that takes long: 1 is the next */
};

static void put_u32(struct world *world, uint64_t address, uint32_t value)
{
    memcpy(world->objects.memory + (address - OBJECTS_BASE), &value, sizeof(value));
}

static uint64_t make_str(struct world *world, const char *text)
{
    const struct cairn_pylayout *l = &world->layout;
    uint64_t str = objects_make(&world->objects, l->unicode_ascii_data + 64, 0);

    objects_put(&world->objects, str + l->object_type - 8, 1);
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
             table = objects_make(&world->objects, 128, 0), file = make_str(world, "file.py");

    world->name = make_str(world, "function");
    objects_put(&world->objects, code + l->object_count, UNITS);
    objects_put(&world->objects, code + l->code_name, world->name);
    objects_put(&world->objects, code + l->code_qualname, make_str(world, "Class.function"));
    objects_put(&world->objects, file + l->object_type - 8, 3); /* all code of it holds it */
    objects_put(&world->objects, code + l->code_filename, file);
    objects_put(&world->objects, code + l->code_linetable, table);
    put_u32(world, code + l->code_first_line - 20, OPTIMIZED);
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

    if (world->delayed && --world->delayed == 0)
        while (cairn_clock_mono_ns() <= world->codes.copied_ns + 2 * CAIRN_PYCODE_LATE_NS)
            ;
    if (world->reads_left-- == 0) {
        if (world->comes)
            set_references(world, 1);
        else
            free_code(world);
    }
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
    /* However long the machine keeps this test from looking. */
    world->codes.copied_ns = world->late ? 0 : cairn_clock_mono_ns() + UINT64_C(60000000000);
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

/* That there was some, when the frames that ran it were copied, is known; not what it was. */
static void test_freed_memory_bears_no_name(void **state)
{
    struct world *world = *state;
    const uint64_t words[] = {0, UINT64_C(0x00007f12a4c3e5b0), UINT64_C(0x000055d000000010),
                              UINT64_C(0xdddddddddddddddd)};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const struct cairn_pycode_entry *entry;

        set_references(world, words[i]);
        entry = load(world, NOW_NS + i);
        assert_non_null(entry);
        assert_false(entry->named);
        assert_null(entry->units);
        assert_int_equal(entry->unit_count, UNITS);
        assert_int_equal(entry->start, world->code + world->layout.code_instructions);
    }
    set_references(world, 1);
    assert_true(load(world, NOW_NS + 100)->named); /* other code that came to lie there */
}

/* Long after, other code may have come there and gone than that which a frame ran. */
static void test_freed_memory_that_is_seen_late_is_no_code(void **state)
{
    struct world *world = *state;

    world->late = true;
    set_references(world, 0);
    assert_null(load(world, NOW_NS));
    assert_int_equal(world->codes.unsure, 1); /* the frames are read again */
    set_references(world, 1);
    world->reads_left = 1;
    assert_null(load(world, NOW_NS + 1));
    assert_int_equal(world->codes.unsure, 2);

    world->reads_left = -1; /* nor does a frame bear the name of what was there before both */
    set_references(world, 1);
    assert_non_null(load(world, NOW_NS + 2));
    world->codes.taken_over_ns = world->codes.unsure = 0;
    objects_put(&world->objects, world->code + world->layout.code_name,
                make_str(world, "function"));
    set_references(world, 0);
    assert_null(load(world, NOW_NS + 3));
    assert_int_equal(world->codes.unsure, 1);
    assert_int_equal(world->codes.taken_over_ns, NOW_NS + 3);
}

/* All bodies of modules have one name, which is there when they are gone; each file has one entry
 * of such bodies, without lines. What is there is read whole, though it may look the same. */
static void test_the_body_of_a_module_that_is_gone(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry;
    uint64_t first = world->code;

    objects_put(&world->objects, first + world->layout.code_name, make_str(world, "<module>"));
    set_references(world, 0);
    for (uint64_t i = 0; i < 3; i++) {
        entry = load(world, NOW_NS + i);
        assert_true(entry->named);
        assert_memory_equal(entry->code.name.data, "<module>", strlen("<module>"));
        assert_memory_equal(entry->code.file.data, "file.py", strlen("file.py"));
        assert_int_equal(entry->code.linetable.size_bytes, 0);
        assert_null(entry->units);
    }
    assert_int_equal(world->codes.entries.count, 1);
    assert_int_equal(world->codes.taken_over_ns, 0);

    set_references(world, 1);
    assert_non_null(load(world, NOW_NS + 3)->units);
    world->code = make_code(world); /* another one of that file */
    objects_put(&world->objects, world->code + world->layout.code_name,
                make_str(world, "<module>"));
    set_references(world, 0);
    assert_ptr_equal(load(world, NOW_NS + 4), entry);
    assert_int_equal(entry->code.address, world->code);
    assert_ptr_not_equal(cairn_pycodes_find(&world->codes, first), entry);
}

/* A frame of one that called another, both of them gone: each of them has an entry. */
static void test_two_bodies_of_one_file_in_one_copy(void **state)
{
    struct world *world = *state;
    uint64_t codes[2], copied_ns;

    for (int i = 0; i < 2; i++) {
        codes[i] = world->code = make_code(world);
        objects_put(&world->objects, codes[i] + world->layout.code_name,
                    make_str(world, "<module>"));
        set_references(world, 0);
        assert_int_equal(cairn_pycodes_want(&world->codes, codes[i]), 0);
    }
    world->codes.copied_ns = copied_ns = cairn_clock_mono_ns();
    world->codes.looked_ns = copied_ns;
    assert_int_equal(cairn_pycodes_load(&world->codes, NOW_NS), 0);
    /* Else this machine had something else to do: nothing stands in. */
    if (cairn_pycodes_in_time(&world->codes)) {
        assert_true(cairn_pycodes_find(&world->codes, codes[0])->named);
        assert_true(cairn_pycodes_find(&world->codes, codes[1])->named);
        assert_ptr_not_equal(cairn_pycodes_find(&world->codes, codes[0]),
                             cairn_pycodes_find(&world->codes, codes[1]));
    }
    /* At another tick, as everywhere, the first stands for either. */
    for (uint64_t i = 1; i < 3; i++) {
        assert_int_equal(cairn_pycodes_want(&world->codes, codes[1]), 0);
        world->codes.copied_ns = cairn_clock_mono_ns() + UINT64_C(60000000000);
        assert_int_equal(cairn_pycodes_load(&world->codes, NOW_NS + i), 0);
    }
    assert_ptr_equal(cairn_pycodes_find(&world->codes, codes[1]), world->codes.entries.items[0]);
    assert_true(world->codes.entries.count <= 2);
}

/* The same addresses as of code that was known there, where code takes them over: what lay there
 * may be another's, but the name says what it was. */
static void test_a_body_that_is_gone_where_one_was_known(void **state)
{
    struct world *world = *state;
    const struct cairn_pylayout *l = &world->layout;
    const struct cairn_pycode_entry *entry;
    uint64_t table;

    objects_put(&world->objects, world->code + l->code_name, make_str(world, "<module>"));
    put_u32(world, world->code + l->code_first_line - 20, 0);
    assert_non_null(load(world, NOW_NS)->units);
    memcpy(&table, world->objects.memory + (world->code + l->code_linetable - OBJECTS_BASE), 8);
    objects_put(&world->objects, table + l->object_count, 77);
    set_references(world, 0);
    world->codes.taken_over_ns = NOW_NS;
    entry = load(world, NOW_NS + 1);
    assert_true(entry->named);
    assert_memory_equal(entry->code.name.data, "<module>", strlen("<module>"));
    assert_int_equal(entry->code.linetable.size_bytes, 0);
}

/* Who looks is put off its processor between the code and its names. */
static void test_names_that_are_read_late(void **state)
{
    static const struct {
        const char *name, *file;
        uint64_t references; /* to the name */
        uint32_t flags;
        bool named, has_file;
    } cases[] = {
        {"<module>", "/file.py", 1, 0, true, true},
        {"<module>", "<string>", 1, 0, true, false}, /* as many are made one after the other */
        {"Name", "/file.py", 1, 0, true, true},      /* of a class */
        {"Name", "<string>", 1, 0, false, false},
        {"Name", "/file.py", 3, OPTIMIZED, false, false},
        {"<listcomp>", "/file.py", 2, OPTIMIZED, false, false},
        {"<listcomp>", "/file.py", 3, OPTIMIZED, true, true}, /* so many have not come since */
    };
    struct world *world = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct cairn_pylayout *l = &world->layout;
        uint64_t file = make_str(world, cases[i].file), name = make_str(world, cases[i].name);
        struct cairn_pycodes_mark mark = cairn_pycodes_mark(&world->codes);
        const struct cairn_pycode_entry *entry;

        put_u32(world, name + l->unicode_state, STATE_ASCII | INTERNED);
        objects_put(&world->objects, file + l->object_type - 8, 3);
        objects_put(&world->objects, name + l->object_type - 8, cases[i].references);
        world->code = make_code(world);
        objects_put(&world->objects, world->code + l->code_name, name);
        objects_put(&world->objects, world->code + l->code_filename, file);
        put_u32(world, world->code + l->code_first_line - 20, cases[i].flags);
        set_references(world, 0);
        assert_int_equal(cairn_pycodes_want(&world->codes, world->code), 0);
        world->delayed = 2;
        world->codes.copied_ns = cairn_clock_mono_ns();
        assert_int_equal(cairn_pycodes_load(&world->codes, NOW_NS + i), 0);
        entry = cairn_pycodes_find(&world->codes, world->code);
        if (!cairn_pycodes_in_time(&world->codes))
            continue; /* this machine had something else to do */
        if (cairn_clock_mono_ns() > world->codes.copied_ns + 4 * CAIRN_PYCODE_LATE_NS)
            continue;
        assert_int_equal(entry->named, cases[i].named);
        assert_int_equal(entry->code.file.size_bytes != 0, cases[i].has_file);
        /* Another look at the frames may find one that has. */
        assert_int_equal(cairn_pycodes_came_late(&world->codes, mark), !cases[i].named);
    }
}

/* What lies where the name of its file was is nobody's, or was made for the next one. */
static void test_a_body_whose_file_is_freed_has_no_file(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry;
    uint64_t file = make_str(world, "file.py");

    objects_put(&world->objects, world->code + world->layout.code_name,
                make_str(world, "<module>"));
    objects_put(&world->objects, world->code + world->layout.code_filename, file);
    set_references(world, 0);
    for (uint64_t references = 0; references < 3; references++) {
        objects_put(&world->objects, file + world->layout.object_type - 8, references);
        entry = load(world, NOW_NS + references);
        assert_true(entry->named);
        assert_int_equal(entry->code.file.size_bytes, 0);
    }
}

/* What is told of code that is gone, whose name is there once only or not, is held by somebody or
 * not, and which is a function or not. */
static const struct cairn_pycode_entry *load_gone(struct world *world, const char *name,
                                                  uint32_t interned, uint64_t references,
                                                  uint32_t flags)
{
    const struct cairn_pylayout *l = &world->layout;
    uint64_t str = make_str(world, name);

    put_u32(world, str + l->unicode_state, STATE_ASCII | interned);
    objects_put(&world->objects, str + l->object_type - 8, references);
    world->code = make_code(world);
    objects_put(&world->objects, world->code + l->code_name, str);
    objects_put(&world->objects, world->code + l->code_qualname, str);
    put_u32(world, world->code + l->code_first_line - 20, flags);
    set_references(world, 0);
    return load(world, NOW_NS);
}

/* No function, at whose name lies something that is freed, or another name. */
static const struct cairn_pycode_entry *load_gone_at(struct world *world, uint32_t line,
                                                     uint32_t interned, uint64_t references)
{
    const struct cairn_pylayout *l = &world->layout;

    world->code = make_code(world);
    put_u32(world, world->code + l->code_first_line, line);
    put_u32(world, world->code + l->code_first_line - 20, 0);
    put_u32(world, world->name + l->unicode_state, STATE_ASCII | interned);
    objects_put(&world->objects, world->name + l->object_type - 8, references);
    set_references(world, 0);
    return load(world, NOW_NS);
}

/* A class holds its name when its body is gone; that of a function goes with it, and the next one
 * that is made has its place: nobody knows whose that is. */
static void test_what_is_gone_has_a_name_that_is_held_for_it(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry = load_gone(world, "Name", INTERNED, 1, 0);

    assert_true(entry->named);
    assert_memory_equal(entry->code.name.data, "Name", strlen("Name"));
    assert_memory_equal(entry->code.file.data, "file.py", strlen("file.py"));
    assert_false(load_gone(world, "Name", INTERNED, 1, OPTIMIZED)->named);
    assert_false(load_gone(world, "Name", 0, 1, 0)->named); /* no name, but a text */
    assert_false(load_gone(world, "Name", INTERNED, 0, 0)->named);
    /* 3.11 on: the body of a module, or, but hardly ever, of a class. */
    assert_memory_equal(load_gone_at(world, 1, 0, 0)->code.name.data, "<module>",
                        strlen("<module>"));
    assert_false(load_gone_at(world, 1, INTERNED, 1)->named);
    assert_false(load_gone_at(world, 2, 0, 0)->named);
    /* Nothing else is called so. */
    entry = load_gone(world, "<lambda>", 0, 0, OPTIMIZED);
    assert_true(entry->named);
    assert_memory_equal(entry->code.name.data, "<lambda>", strlen("<lambda>"));
    assert_int_equal(entry->code.qualname.size_bytes, 0); /* in full it is not known */
}

/* From 3.13 on identifiers are never freed: what lies where one was is that. Where another text was
 * that is freed, an identifier can have come: it is no name of what begins a text, no file, and in
 * full it is not what the name does not end. */
static void test_what_is_gone_has_names_that_are_never_freed(void **state)
{
    struct world *world = *state;
    const struct cairn_pylayout *l = &world->layout;
    const struct cairn_pycode_entry *entry;
    struct cairn_pytable table = *world->codes.table;

    assert_false(load_gone(world, "Name", INTERNED, IMMORTAL, OPTIMIZED)->named); /* 3.12 */
    table.minor = 13;
    world->codes.table = &table;
    assert_false(load_gone(world, "Name", INTERNED, IMMORTAL / 2, OPTIMIZED)->named);
    entry = load_gone(world, "Name", INTERNED, IMMORTAL, OPTIMIZED);
    assert_true(entry->named);
    assert_memory_equal(entry->code.name.data, "Name", strlen("Name"));
    assert_memory_equal(entry->code.qualname.data, "Name", strlen("Name"));
    assert_false(load_gone_at(world, 1, INTERNED, IMMORTAL)->named);
    for (int i = 0; i < 4; i++) {
        static const char *const fulls[] = {"Class.Name", "ClassName", "Name.other", "me"};
        uint64_t name = make_str(world, "Name"), full = make_str(world, fulls[i]),
                 file = make_str(world, i ? "value" : "<cell 1>");

        objects_put(&world->objects, name + l->object_type - 8, IMMORTAL);
        objects_put(&world->objects, full + l->object_type - 8, IMMORTAL);
        objects_put(&world->objects, file + l->object_type - 8, IMMORTAL);
        world->code = make_code(world);
        objects_put(&world->objects, world->code + l->code_name, name);
        objects_put(&world->objects, world->code + l->code_qualname, full);
        objects_put(&world->objects, world->code + l->code_filename, file);
        set_references(world, 0);
        entry = load(world, NOW_NS);
        assert_true(entry->named);
        assert_int_equal(entry->code.qualname.size_bytes, i ? 0 : strlen(fulls[0]));
        assert_int_equal(entry->code.file.size_bytes, i ? 0 : strlen("<cell 1>"));
    }
}

/* All that it had is freed, but who called it runs nothing else. */
static void test_what_importlib_runs_is_a_module(void **state)
{
    static const struct {
        const char *file, *name;
        bool imports;
    } callers[] = {
        {"<frozen importlib._bootstrap>", "_call_with_frames_removed", true},
        {"<frozen importlib._bootstrap>", "exec_module", true},
        {"<frozen importlib._bootstrap_external>", "exec_module", false},
        {"<frozen importlib._bootstrap>", "_load_unlocked", false},
        {"importlib.py", "exec_module", false},
    };
    const struct cairn_pycode_entry body = {.passed = true, .body = true}, function = {0};
    struct world *world = *state;
    struct cairn_pycode *first = NULL;

    for (size_t i = 0; i < sizeof(callers) / sizeof(*callers); i++) {
        struct cairn_pycode_entry caller = {
            .named = true,
            .code.file = {(const uint8_t *)callers[i].file, strlen(callers[i].file)},
            .code.name = {(const uint8_t *)callers[i].name, strlen(callers[i].name)},
        };
        struct cairn_pycode *code;

        assert_int_equal(cairn_pypassed_called_by(&world->codes, &caller, &body, &code), 0);
        assert_int_equal(code != NULL, callers[i].imports);
        if (!code)
            continue;
        assert_memory_equal(code->name.data, "<module>", strlen("<module>"));
        assert_int_equal(code->file.size_bytes, 0);
        assert_true(!first || code == first);
        first = code;
        assert_int_equal(cairn_pypassed_called_by(&world->codes, &caller, &function, &code), 0);
        assert_null(code);
        assert_int_equal(cairn_pypassed_called_by(&world->codes, &caller, NULL, &code), 0);
        assert_ptr_equal(code, i == 0 ? first : NULL); /* nothing else of what it runs can go */
        caller.named = false;
        assert_int_equal(cairn_pypassed_called_by(&world->codes, &caller, &body, &code), 0);
        assert_null(code);
    }
    assert_int_equal(cairn_pypassed_called_by(&world->codes, NULL, &body, &first), 0);
    assert_null(first);
}

/* Of what begins at the first line without who called it. */
static void test_what_begins_a_text_is_a_module(void **state)
{
    static const struct {
        bool body;
        uint32_t line;
        const char *caller; /* NULL: it has none; "": one whose name is not known */
        uint32_t caller_line;
        bool module;
    } cases[] = {
        {true, 1, NULL, 0, true},           /* a program's, or what the interpreter begins with */
        {true, 1, "addpackage", 160, true}, /* site's: a line of a .pth file */
        {true, 1, "make", 1, false},        /* a class can be its caller's */
        {true, 1, "<module>", 2, false},    /* until 3.9: so can one with a decorator */
        {true, 1, "", 160, false},          /* that line is of code that may be another's */
        {true, 88, "addpackage", 160, false},
        {true, 88, NULL, 0, false},
        {false, 1, NULL, 0, false},
        {false, 1, "addpackage", 160, false},
    };
    struct world *world = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *name = cases[i].caller ? cases[i].caller : "";
        const struct cairn_pycode_entry entry = {
            .passed = true, .body = cases[i].body, .code.first_line = cases[i].line};
        const struct cairn_pycode_entry caller = {
            .named = name[0] != '\0',
            .code.name = {(const uint8_t *)name, strlen(name)},
            .code.first_line = cases[i].caller_line};
        struct cairn_pycode *code;

        assert_int_equal(cairn_pypassed_called_by(&world->codes, cases[i].caller ? &caller : NULL,
                                                  &entry, &code),
                         0);
        assert_int_equal(code != NULL, cases[i].module);
    }
}

/* Other code is made where it was, with its name where that was. */
static void test_what_came_since_gives_it_no_name(void **state)
{
    struct world *world = *state;

    world->codes.type = world->type;
    world->comes = true;
    world->reads_left = 1;
    set_references(world, 0);
    assert_false(load(world, NOW_NS)->named);
}

/* Whoever looks twice at a tick is told the same. */
static void test_what_is_left_is_known_until_the_tick_is_over(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry = load(world, NOW_NS);

    free_code(world);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(load(world, NOW_NS + 1), entry);
    assert_int_equal(world->codes.taken_over_ns, 0);
}

static void test_what_never_was_code_is_none(void **state)
{
    struct world *world = *state;

    objects_put(&world->objects, world->code + world->layout.object_type, 0);
    for (uint64_t references = 0; references < 2; references++) {
        set_references(world, references);
        assert_null(load(world, NOW_NS + references));
    }
}

/* It is told apart from others that are gone, as long as there is room; what is made in a program
 * all day long needs no more. */
static void test_code_without_names_fills_no_memory(void **state)
{
    struct world *world = *state;
    uint64_t codes[CAIRN_PYCODE_PASSED + 1];
    size_t count = 0;

    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i <= CAIRN_PYCODE_PASSED; i++) {
            if (turn == 0)
                codes[i] = make_code(world);
            world->code = codes[i];
            set_references(world, 0);
            assert_int_equal(load(world, NOW_NS + 1000 * (uint64_t)turn + i)->code.address,
                             codes[i]);
            count = world->codes.entries.count;
        }
    assert_int_equal(count, CAIRN_PYCODE_PASSED);
    assert_null(cairn_pycodes_find(&world->codes, codes[0]));
    assert_non_null(cairn_pycodes_find(&world->codes, codes[1]));
}

/* Whenever it goes, no name comes of it but its own: that it has once its names were read, and it
 * was there behind them. */
static void test_code_that_goes_while_it_is_read(void **state)
{
    int nameless = 0, lineless = 0, before = 0;

    for (int reads = 0; !before; reads++) {
        struct world *world;
        const struct cairn_pycode_entry *entry;

        assert_true(reads < 20);
        teardown(state);
        setup(state);
        world = *state;
        world->codes.type = world->type; /* else it is asked for, once */
        world->reads_left = reads;
        entry = load(world, NOW_NS);
        assert_non_null(entry);
        nameless += !entry->named;
        lineless += entry->named && !entry->units;
        assert_int_equal(entry->named, reads >= 2);
        if (entry->named) {
            assert_memory_equal(entry->code.name.data, "function", strlen("function"));
            assert_memory_equal(entry->code.qualname.data, "Class.function",
                                strlen("Class.function"));
            assert_memory_equal(entry->code.file.data, "file.py", strlen("file.py"));
        }
        before = world->reads_left >= 0; /* it went after the last read */
    }
    assert_int_equal(nameless, 2);
    assert_true(lineless > 2);
}

/* What was known there, and is gone: frames read before that ran it, if that is what is left, or
 * where no other code may have come and gone since. */
static void test_code_that_is_gone(void **state)
{
    struct world *world = *state;
    const struct cairn_pycode_entry *entry;
    const uint64_t later_ns = NOW_NS + 1000;

    for (int takes_over = 0; takes_over < 2; takes_over++) {
        world->code = make_code(world);
        set_references(world, 1);
        entry = load(world, NOW_NS);
        assert_non_null(entry);
        world->codes.taken_over_ns = takes_over ? NOW_NS : 0;
        set_references(world, 0);
        assert_ptr_equal(load(world, later_ns), entry);
        free_code(world); /* another name lies where its name was */
        assert_int_equal(load(world, later_ns + 1) == entry, !takes_over);
        assert_ptr_not_equal(load(world, later_ns + 2), entry);
    }
}

/* Other code came to lie there, and is gone as well: no frame bears the name of what was there
 * before, and what is taken over is noted. Its own it bears if that was read while it was there. */
static void test_code_that_came_and_is_gone(void **state)
{
    struct world *world = *state;

    for (int reads = 0; reads < 3; reads++) { /* before it is looked at, or while it is read */
        const struct cairn_pycode_entry *entry;

        set_references(world, 1);
        entry = load(world, NOW_NS);
        assert_true(entry->named);
        world->codes.taken_over_ns = 0;
        objects_put(&world->objects, world->code + world->layout.code_name,
                    make_str(world, "function"));
        world->reads_left = reads;
        assert_ptr_not_equal(load(world, NOW_NS + 1), entry);
        assert_int_equal(cairn_pycodes_find(&world->codes, world->code)->named, reads == 2);
        assert_int_equal(world->codes.taken_over_ns, NOW_NS + 1);
        world->reads_left = -1;
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
        cmocka_unit_test_setup_teardown(test_freed_memory_bears_no_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_freed_memory_that_is_seen_late_is_no_code, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_body_of_a_module_that_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_bodies_of_one_file_in_one_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_body_that_is_gone_where_one_was_known, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_names_that_are_read_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_gone_has_names_that_are_never_freed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_importlib_runs_is_a_module, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_begins_a_text_is_a_module, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_gone_has_a_name_that_is_held_for_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_body_whose_file_is_freed_has_no_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_came_since_gives_it_no_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_left_is_known_until_the_tick_is_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_code_that_came_and_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_never_was_code_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code_without_names_fills_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code_that_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code_that_goes_while_it_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_code_that_comes_again_elsewhere, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
