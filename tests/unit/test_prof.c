#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "prof.h"

#define BYTES(text) ((struct cairn_span){(const uint8_t *)(text), sizeof(text) - 1})

/* {("a.py", 1, "f"): (1, 2, 0.5, 1.5, {("a.py", 9, "g"): (2, 1, 0.5, 1.5)})} in version 2. */
#define KEY_F "(\3\0\0\0u\4\0\0\0a.pyi\1\0\0\0u\1\0\0\0f"
#define KEY_G "(\3\0\0\0u\4\0\0\0a.pyi\11\0\0\0u\1\0\0\0g"
#define HALF "g\0\0\0\0\0\0\340?"
#define ONE_AND_HALF "g\0\0\0\0\0\0\370?"
#define ROW "(\5\0\0\0i\1\0\0\0i\2\0\0\0" HALF ONE_AND_HALF
#define CALLER KEY_G "(\4\0\0\0i\2\0\0\0i\1\0\0\0" HALF ONE_AND_HALF
#define SMALL                                                                                      \
    "{" KEY_F ROW "{" CALLER "0"                                                                   \
    "0"

/* The same with references, short forms and everything numbered, as version 4 has it. */
#define SMALL_REFS                                                                                 \
    "\373\251\3\332\4a.py\351\1\0\0\0\332\1f\251\5r\3\0\0\0\351\2\0\0\0\347\0\0\0\0\0\0\340?"      \
    "\347\0\0\0\0\0\0\370?\373\251\3r\2\0\0\0i\11\0\0\0\332\1g\251\4r\6\0\0\0r\3\0\0\0r\7\0\0\0"   \
    "r\10\0\0\0"                                                                                   \
    "00"

static struct cairn_prof read_ok(struct cairn_span bytes)
{
    struct cairn_err err = {0};
    struct cairn_prof prof;

    assert_int_equal(cairn_prof_init(&prof), 0);
    if (cairn_prof_read(&prof, bytes, &err) < 0)
        fail_msg("%s", err.text);
    return prof;
}

static int read_code(struct cairn_span bytes, struct cairn_err *err)
{
    struct cairn_prof prof;
    int code;

    *err = (struct cairn_err){0};
    assert_int_equal(cairn_prof_init(&prof), 0);
    code = cairn_prof_read(&prof, bytes, err);
    cairn_prof_release(&prof);
    return code;
}

static void assert_small(const struct cairn_prof *prof)
{
    const struct cairn_prof_row *row = &prof->rows.items[0];
    const struct cairn_prof_caller *caller = &prof->callers.items[0];

    assert_int_equal(prof->rows.count, 1);
    assert_int_equal(prof->callers.count, 1);
    assert_int_equal(prof->keys.items[row->key].line, 1);
    assert_memory_equal(cairn_prof_name(prof, row->key).data, "f", 2);
    assert_int_equal(row->numbers.primitive, 1);
    assert_int_equal(row->numbers.calls, 2);
    assert_true(row->numbers.self_s == 0.5 && row->numbers.total_s == 1.5);
    assert_int_equal(prof->keys.items[caller->key].line, 9);
    assert_memory_equal(cairn_prof_name(prof, caller->key).data, "g", 2);
    assert_int_equal(caller->numbers.calls, 2);
    assert_int_equal(caller->numbers.primitive, 1);
    assert_int_equal(caller->next, CAIRN_PROF_NONE);
    assert_false(caller->numbers.plain || prof->sampled);
}

static void test_old_and_new_forms_say_the_same(void **state)
{
    static const struct cairn_span forms[] = {BYTES(SMALL), BYTES(SMALL_REFS)};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cairn_prof prof = read_ok(forms[i]);

        assert_small(&prof);
        cairn_prof_release(&prof);
    }
}

static void test_what_is_written_is_read_back(void **state)
{
    struct cairn_prof prof, again;
    struct cairn_prof_numbers big = {INT64_MAX, -(1LL << 40), 0.1, -2.5, false, false};
    struct cairn_prof_numbers plain = {.calls = 3, .primitive = 3, .plain = true};
    struct cairn_buf out;
    uint32_t key, row;

    (void)state;
    prof = read_ok(BYTES(SMALL));
    assert_int_equal(cairn_prof_key(&prof, BYTES("~"), 0, BYTES("\xed\xb3\xbf"), &key), 0);
    assert_int_equal(cairn_prof_put(&prof, key, &big, &row), 0);
    assert_int_equal(cairn_prof_put_caller(&prof, row, key, &plain), 0);
    assert_int_equal(cairn_prof_put(&prof, key, &big, &row), -CAIRN_EDAMAGED);
    cairn_buf_init(&out, 1 << 16);
    assert_int_equal(cairn_prof_write(&prof, &out), 0);
    again = read_ok(cairn_buf_span(&out));
    assert_int_equal(again.rows.count, 2);
    assert_int_equal(again.rows.items[1].numbers.calls, INT64_MAX);
    assert_int_equal(again.rows.items[1].numbers.primitive, -(1LL << 40));
    assert_true(again.rows.items[1].numbers.self_s == 0.1);
    assert_true(again.callers.items[1].numbers.plain);
    assert_int_equal(again.callers.items[1].numbers.calls, 3);
    cairn_prof_release(&again);
    cairn_prof_release(&prof);
    cairn_buf_release(&out);
}

static void test_no_beginning_of_a_file_is_a_file(void **state)
{
    static const struct cairn_span forms[] = {BYTES(SMALL), BYTES(SMALL_REFS)};
    struct cairn_err err;

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t size = 0; size < forms[i].size_bytes; size++) {
            struct cairn_span part = {forms[i].data, size};

            assert_int_equal(read_code(part, &err), size ? -CAIRN_EDAMAGED : -CAIRN_EFOREIGN);
            assert_true(strlen(err.text) > 10);
        }
}

static void test_what_is_no_profile_is_refused(void **state)
{
    static const struct {
        struct cairn_span bytes;
        int code;
    } cases[] = {
        {BYTES("\x80\4\x95pickle"), -CAIRN_EFOREIGN},
        {BYTES("\xc7"
               "CAIRN\r\n"),
         -CAIRN_EFOREIGN},
        {BYTES("i\1\0\0\0"), -CAIRN_EFOREIGN},
        {BYTES("{i\1\0\0\0i\1\0\0\0000"), -CAIRN_EDAMAGED},             /* a key that is no tuple */
        {BYTES("{" KEY_F "i\1\0\0\0000"), -CAIRN_EDAMAGED},             /* a row that is none */
        {BYTES("{r\0\0\0\0" ROW "{00"), -CAIRN_EDAMAGED},               /* a number nobody has */
        {BYTES("{\251\1r\0\0\0\0T0"), -CAIRN_EDAMAGED},                 /* one that is itself */
        {BYTES("{" KEY_F ROW "{0" KEY_F ROW "{00"), -CAIRN_EDAMAGED},   /* a function twice */
        {BYTES("{" KEY_F ROW "{" CALLER CALLER "00"), -CAIRN_EDAMAGED}, /* a caller twice */
        {BYTES("{(\1\0\0\0u\3\0\0\0abcT0"), -CAIRN_EDAMAGED},           /* a mark nobody knows */
        {BYTES("{(\3\0\0\0u\377\377\377\377"), -CAIRN_EDAMAGED},        /* a text beyond the end */
        {BYTES("{(\3\0\0\0u\1\0\0\0\377i\1\0\0\0u\0\0\0\0"), -CAIRN_EDAMAGED}, /* no UTF-8 */
        {BYTES("{(\3\0\0\0u\0\0\0\0l\6\0\0\0"), -CAIRN_ELIMIT}, /* a line beyond 64 bits */
        {BYTES("{" KEY_F "(\5\0\0\0i\1\0\0\0i\1\0\0\0g\0\0\0\0\0\0\360\177"), -CAIRN_EDAMAGED},
    };
    struct cairn_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int code = read_code(cases[i].bytes, &err);

        if (code != cases[i].code)
            fail_msg("case %zu: %d (%s)", i, code, err.text);
        assert_int_equal(err.code, code);
    }
}

static void test_samples_are_marked(void **state)
{
    struct cairn_prof prof = read_ok(BYTES("{)\1z\13__sampled__T0"));

    (void)state;
    assert_true(prof.sampled);
    assert_int_equal(prof.rows.count, 0);
    cairn_prof_release(&prof);
}

static void test_sums_of_tables(void **state)
{
    struct cairn_prof prof = read_ok(BYTES(SMALL)), more = read_ok(BYTES(SMALL));
    struct cairn_prof_numbers huge = {INT64_MAX, 0, 0, 0, false, false}, plain = {.plain = true};
    uint32_t key;

    (void)state;
    assert_int_equal(cairn_prof_merge(&prof, &more), 0);
    assert_int_equal(prof.rows.count, 1);
    assert_int_equal(prof.rows.items[0].numbers.calls, 4);
    assert_int_equal(prof.callers.items[0].numbers.calls, 4);
    assert_true(prof.rows.items[0].numbers.total_s == 3.0);
    key = prof.rows.items[0].key;
    assert_int_equal(cairn_prof_add(&prof, key, &huge, &(uint32_t){0}), -CAIRN_ELIMIT);
    assert_int_equal(prof.rows.items[0].numbers.calls, 4);
    key = prof.callers.items[0].key;
    assert_int_equal(cairn_prof_add_caller(&prof, 0, key, &plain), -CAIRN_EUSAGE);
    cairn_prof_release(&more);
    cairn_prof_release(&prof);
}

static void test_order_is_pythons(void **state)
{
    static const struct {
        struct cairn_span file, name;
        int64_t line;
    } sorted[] = {
        {BYTES(""), BYTES("z"), 5},        {BYTES("B"), BYTES(""), 0},
        {BYTES("a"), BYTES("b"), -1},      {BYTES("a"), BYTES("a"), 2},
        {BYTES("a"), BYTES("aa"), 2},      {BYTES("a"), BYTES("b"), 2},
        {BYTES("a"), BYTES("a"), 10},      {BYTES("aa"), BYTES("a"), 0},
        {BYTES("\xc3\xa4"), BYTES(""), 0}, {BYTES("\xf0\x9f\x98\x80"), BYTES(""), 0},
    };
    enum { COUNT = sizeof(sorted) / sizeof(sorted[0]) };
    struct cairn_prof prof;
    uint32_t keys[COUNT];

    (void)state;
    assert_int_equal(cairn_prof_init(&prof), 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(
            cairn_prof_key(&prof, sorted[i].file, sorted[i].line, sorted[i].name, &keys[i]), 0);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            int order = cairn_prof_compare(&prof, keys[i], keys[j]);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    cairn_prof_release(&prof);
}

/* The least number that there is, which has no opposite. */
static void test_every_number_is_written_and_read(void **state)
{
    static const int64_t numbers[] = {
        INT64_MIN, INT64_MIN + 1, INT32_MIN - INT64_C(1), INT32_MIN, -1, 0, INT32_MAX + INT64_C(1),
        INT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const struct cairn_prof_numbers counts = {.calls = numbers[i], .primitive = numbers[i]};
        struct cairn_prof prof, again;
        struct cairn_buf out;
        uint32_t key, row;

        assert_int_equal(cairn_prof_init(&prof), 0);
        assert_int_equal(cairn_prof_key(&prof, BYTES("a.py"), numbers[i], BYTES("f"), &key), 0);
        assert_int_equal(cairn_prof_put(&prof, key, &counts, &row), 0);
        cairn_buf_init(&out, 4096);
        assert_int_equal(cairn_prof_write(&prof, &out), 0);
        again = read_ok(cairn_buf_span(&out));
        assert_int_equal(again.keys.items[0].line, numbers[i]);
        assert_int_equal(again.rows.items[0].numbers.calls, numbers[i]);
        assert_int_equal(again.rows.items[0].numbers.primitive, numbers[i]);
        cairn_prof_release(&again);
        cairn_prof_release(&prof);
        cairn_buf_release(&out);
    }
}

/* Whatever request for memory fails: an answer, and nothing that leaks. */
static void test_short_of_memory(void **state)
{
    long n = 0;

    (void)state;
    do {
        struct cairn_err err = {0};
        struct cairn_prof prof;
        int code;

        cairn_alloc_fail_after(n++);
        code = cairn_prof_init(&prof);
        if (code == 0)
            code = cairn_prof_read(&prof, BYTES(SMALL_REFS), &err);
        if (cairn_alloc_has_failed())
            assert_int_equal(code, -CAIRN_ENOMEM);
        else
            assert_int_equal(code, 0);
        cairn_prof_release(&prof);
    } while (cairn_alloc_has_failed());
    cairn_alloc_fail_after(-1);
    assert_true(n > 5);
}

/* What a caged reader hands back: the table as it was, and of anything else nothing. */
static void test_a_table_is_handed_over_whole_or_not_at_all(void **state)
{
    struct cairn_prof prof = read_ok(BYTES(SMALL)), again;
    struct cairn_buf out;

    (void)state;
    cairn_buf_init(&out, 4096);
    assert_int_equal(cairn_prof_put_table(&prof, &out), 0);
    assert_int_equal(cairn_prof_init(&again), 0);
    assert_int_equal(cairn_prof_take_table(&again, cairn_buf_span(&out)), 0);
    assert_small(&again);
    cairn_prof_release(&again);
    for (size_t size_bytes = 0; size_bytes < out.size_bytes; size_bytes++) {
        assert_int_equal(cairn_prof_init(&again), 0);
        assert_int_equal(cairn_prof_take_table(&again, (struct cairn_span){out.data, size_bytes}),
                         -CAIRN_EDAMAGED);
        cairn_prof_release(&again);
    }
    for (size_t at = 0; at < out.size_bytes; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            int code;

            out.data[at] ^= (uint8_t)(1u << bit);
            assert_int_equal(cairn_prof_init(&again), 0);
            code = cairn_prof_take_table(&again, cairn_buf_span(&out));
            assert_true(code == 0 || code == -CAIRN_EDAMAGED);
            for (size_t i = 0; code == 0 && i < again.rows.count; i++)
                assert_true(again.rows.items[i].key < again.keys.count);
            cairn_prof_release(&again);
            out.data[at] ^= (uint8_t)(1u << bit);
        }
    cairn_buf_u8(&out, 0);
    assert_int_equal(cairn_prof_init(&again), 0);
    assert_int_equal(cairn_prof_take_table(&again, cairn_buf_span(&out)), -CAIRN_EDAMAGED);
    cairn_prof_release(&again);
    cairn_prof_release(&prof);
    cairn_buf_release(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_and_new_forms_say_the_same),
        cmocka_unit_test(test_what_is_written_is_read_back),
        cmocka_unit_test(test_no_beginning_of_a_file_is_a_file),
        cmocka_unit_test(test_what_is_no_profile_is_refused),
        cmocka_unit_test(test_samples_are_marked),
        cmocka_unit_test(test_sums_of_tables),
        cmocka_unit_test(test_order_is_pythons),
        cmocka_unit_test(test_every_number_is_written_and_read),
        cmocka_unit_test(test_short_of_memory),
        cmocka_unit_test(test_a_table_is_handed_over_whole_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
