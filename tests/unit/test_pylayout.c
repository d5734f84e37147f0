#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pylayout.h"

static void put(uint8_t *told, uint32_t place, uint64_t value)
{
    if (place != CAIRN_PYLAYOUT_NONE)
        memcpy(told + place, &value, sizeof(value));
}

/* What a target of that version tells, made from its table. */
static void tell(const struct cairn_pytable *table, uint8_t *told)
{
    memset(told, 0, CAIRN_PYLAYOUT_TOLD_BYTES);
    memcpy(told, "xdebugpy", 8);
    put(told, 8, UINT64_C(0x030000f0) | (uint64_t)table->minor << 16);
#define X(group, field, width) put(told, table->told->field, table->layout->field);
#include "pylayout.def"
#undef X
}

static int read_told(const uint8_t *told, size_t size_bytes, struct cairn_pylayout *ret_layout,
                     struct cairn_err *err)
{
    uint8_t *exact = memcpy(malloc(size_bytes), told, size_bytes);
    const struct cairn_pytable *table;
    uint32_t hexversion;
    int code = cairn_pylayout_from_target((struct cairn_span){exact, size_bytes}, &hexversion,
                                          &table, ret_layout, err);

    free(exact);
    return code;
}

static void test_every_table_holds(void **state)
{
    (void)state;
    assert_int_equal(cairn_pytable_count, 8);
    for (size_t i = 0; i < cairn_pytable_count; i++) {
        struct cairn_pylayout layout;

        assert_ptr_equal(cairn_pytable_find(cairn_pytables[i].minor), &cairn_pytables[i]);
        assert_int_equal(cairn_pylayout_from_table(&cairn_pytables[i], &layout, NULL), 0);
        assert_int_equal(cairn_pytables[i].told != NULL, cairn_pytables[i].minor >= 13);
    }
    assert_null(cairn_pytable_find(7));
    assert_null(cairn_pytable_find(16));
}

static void test_what_the_target_tells_is_taken(void **state)
{
    uint8_t told[CAIRN_PYLAYOUT_TOLD_BYTES];

    (void)state;
    for (size_t i = 0; i < cairn_pytable_count; i++) {
        const struct cairn_pytable *table = &cairn_pytables[i];
        struct cairn_pylayout layout;

        if (!table->told)
            continue;
        tell(table, told);
        assert_int_equal(read_told(told, table->told_size, &layout, NULL), 0);
        assert_memory_equal(&layout, table->layout, sizeof(layout));
    }
}

/* A thread state with other members: its frames are still found by what is told, and what is not
 * told is no longer believed. */
static void test_a_structure_that_moved_loses_its_table(void **state)
{
    const struct cairn_pytable *table = cairn_pytable_find(13);
    uint8_t told[CAIRN_PYLAYOUT_TOLD_BYTES];
    struct cairn_pylayout layout;

    (void)state;
    tell(table, told);
    put(told, table->told->thread_chunk, table->layout->thread_chunk + 8);
    assert_int_equal(read_told(told, table->told_size, &layout, NULL), 0);
    assert_int_equal(layout.thread_chunk, table->layout->thread_chunk + 8);
    assert_int_equal(layout.thread_chunk_top, CAIRN_PYLAYOUT_NONE);
    assert_int_equal(layout.code_frame_words, table->layout->code_frame_words);
}

static void test_what_cannot_be_is_refused(void **state)
{
    static const uint64_t values[] = {UINT64_MAX, UINT32_MAX, 1 << 20, 3};
    const struct cairn_pytable *table = cairn_pytable_find(14);
    const uint32_t places[] = {table->told->thread_chunk, table->told->frame_instr,
                               table->told->code_name, table->told->unicode_length,
                               table->told->interp_threads_head};
    uint8_t told[CAIRN_PYLAYOUT_TOLD_BYTES];
    struct cairn_pylayout layout;

    (void)state;
    for (size_t place = 0; place < 5; place++) {
        for (size_t value = 0; value < 4; value++) {
            struct cairn_err err = {0};

            tell(table, told);
            put(told, places[place], values[value]);
            assert_int_equal(read_told(told, table->told_size, &layout, &err), -CAIRN_EUNSUPPORTED);
            assert_non_null(strstr(err.text, "3.14.0"));
        }
    }
}

static void test_other_builds_are_refused_by_name(void **state)
{
    const struct cairn_pytable *table = cairn_pytable_find(15);
    uint8_t told[CAIRN_PYLAYOUT_TOLD_BYTES];
    struct cairn_pylayout layout;
    struct cairn_err err = {0};

    (void)state;
    tell(table, told);
    put(told, table->told_free_threaded, 1);
    assert_int_equal(read_told(told, table->told_size, &layout, &err), -CAIRN_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "free-threaded"));
    tell(table, told);
    put(told, 8, 0x031000a1);
    assert_int_equal(read_told(told, table->told_size, &layout, &err), -CAIRN_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "3.16.0a1"));
    assert_int_equal(read_told(told, 200, &layout, &err), -CAIRN_EUNSUPPORTED);
    told[0] ^= 1;
    assert_int_equal(read_told(told, table->told_size, &layout, &err), -CAIRN_ENOTPYTHON);
    assert_int_equal(read_told(told, 4, &layout, &err), -CAIRN_ENOTPYTHON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_table_holds),
        cmocka_unit_test(test_what_the_target_tells_is_taken),
        cmocka_unit_test(test_a_structure_that_moved_loses_its_table),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_other_builds_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
