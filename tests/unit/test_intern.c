#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "intern.h"
#include "rng.h"

static struct cairn_span span_of(const void *data, size_t size_bytes)
{
    return (struct cairn_span){data, size_bytes};
}

static void assert_is(const struct cairn_intern *table, uint32_t id, const void *data,
                      size_t size_bytes)
{
    struct cairn_span span = cairn_intern_get(table, id);

    assert_int_equal(span.size_bytes, size_bytes);
    assert_memory_equal(span.data, data, size_bytes);
    assert_int_equal(span.data[size_bytes], 0);
}

static void test_the_empty_string_is_zero(void **state)
{
    struct cairn_intern table;
    uint32_t id = 77;

    (void)state;
    assert_int_equal(cairn_intern_init(&table, 0), 0);
    assert_int_equal(cairn_intern_count(&table), 1);
    assert_int_equal(cairn_intern_str(&table, "", &id), 0);
    assert_int_equal(id, 0);
    id = 77;
    assert_int_equal(cairn_intern_add(&table, span_of(NULL, 0), &id), 0);
    assert_int_equal(id, 0);
    assert_is(&table, 0, "", 0);
    assert_is(&table, 1, "", 0); /* never given out */
    assert_is(&table, UINT32_MAX, "", 0);
    cairn_intern_release(&table);
}

static void test_ids_are_dense_and_strings_hold_any_byte(void **state)
{
    static const struct {
        const char *bytes;
        size_t size_bytes;
        uint32_t id;
    } cases[] = {
        {"a", 1, 1}, {"\0", 1, 2}, {"\0\0", 2, 3}, {"a", 1, 1}, {"a\0", 2, 4}, {"\0", 1, 2},
    };
    struct cairn_intern table;
    uint32_t id;

    (void)state;
    assert_int_equal(cairn_intern_init(&table, 1000), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            cairn_intern_add(&table, span_of(cases[i].bytes, cases[i].size_bytes), &id), 0);
        assert_int_equal(id, cases[i].id);
        assert_is(&table, id, cases[i].bytes, cases[i].size_bytes);
    }
    assert_int_equal(cairn_intern_count(&table), 5);
    cairn_intern_release(&table);
}

static void test_equal_hashes_do_not_make_equal_strings(void **state)
{
    /* What the second is taken for begins with it. */
    static const char *const others[] = {"other", "fir"};
    struct cairn_intern table;

    (void)state;
    assert_int_equal(cairn_intern_init(&table, 1000), 0);
    for (size_t i = 0; i < 2; i++) {
        size_t size_bytes = strlen(others[i]);
        uint64_t hash = XXH3_64bits_withSeed(others[i], size_bytes, table.ids.seed);
        uint32_t first, id, again;

        /* Two strings with one hash are hard to find; the set is told that it has seen them. */
        assert_int_equal(cairn_intern_str(&table, "first", &first), 0);
        assert_int_equal(cairn_idset_add(&table.ids, hash, first), 0);

        assert_int_equal(cairn_intern_str(&table, others[i], &id), 0);
        assert_int_not_equal(id, first);
        assert_is(&table, id, others[i], size_bytes);
        assert_int_equal(cairn_intern_str(&table, others[i], &again), 0);
        assert_int_equal(again, id);
    }
    cairn_intern_release(&table);
}

static void test_the_ceiling_counts_every_string_with_its_nul(void **state)
{
    struct cairn_intern table;
    uint32_t id = 77;

    (void)state;
    assert_int_equal(cairn_intern_init(&table, 6), 0);
    assert_int_equal(cairn_intern_str(&table, "sixsix", &id), -CAIRN_ELIMIT);
    assert_int_equal(id, 77);
    assert_int_equal(cairn_intern_str(&table, "abc", &id), 0);
    assert_int_equal(cairn_intern_str(&table, "de", &id), -CAIRN_ELIMIT);
    assert_int_equal(cairn_intern_str(&table, "d", &id), 0);
    assert_int_equal(id, 2);
    assert_int_equal(cairn_intern_str(&table, "e", &id), -CAIRN_ELIMIT);
    assert_int_equal(cairn_intern_str(&table, "abc", &id), 0); /* known already */
    assert_int_equal(id, 1);
    assert_int_equal(cairn_intern_count(&table), 3);
    cairn_intern_release(&table);
}

/* The model: a list that is searched from its start. */
static void test_random_strings_agree_with_the_model(void **state)
{
    enum { STRINGS = 2000 };
    static uint8_t known[STRINGS][8];
    static size_t known_bytes[STRINGS];

    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct cairn_intern table;
        size_t count = 1;
        const uint8_t *early;
        uint32_t id;

        assert_int_equal(cairn_intern_init(&table, SIZE_MAX), 0);
        assert_int_equal(cairn_intern_str(&table, "early", &id), 0);
        early = cairn_intern_get(&table, id).data;
        memcpy(known[count], "early", 5);
        known_bytes[count++] = 5;

        for (uint64_t k = 0; k < STRINGS - 2; k++) {
            uint64_t random = cairn_rng_at(seed, k);
            size_t size_bytes = random >> 60 & 3, expected;
            uint8_t bytes[8];

            /* Few letters, NUL among them, so that many come twice. */
            for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = random >> (8 * i) & 7;
            for (expected = 0; expected < count; expected++)
                if (known_bytes[expected] == size_bytes &&
                    memcmp(known[expected], bytes, size_bytes) == 0)
                    break;
            if (expected == count) {
                memcpy(known[count], bytes, size_bytes);
                known_bytes[count++] = size_bytes;
            }
            assert_int_equal(cairn_intern_add(&table, span_of(bytes, size_bytes), &id), 0);
            assert_int_equal(id, expected);
            assert_int_equal(cairn_intern_count(&table), count);
        }
        assert_true(count > 300); /* both new ones and known ones were tried */
        assert_true(count < 700);
        for (uint32_t i = 0; i < count; i++)
            assert_is(&table, i, known[i], known_bytes[i]);
        assert_ptr_equal(cairn_intern_get(&table, 1).data, early); /* never moved */
        cairn_intern_release(&table);
    }
}

static int fill(struct cairn_intern *table, long failing)
{
    int code;

    cairn_alloc_fail_after(failing);
    code = cairn_intern_init(table, SIZE_MAX);
    for (uint32_t i = 1; i <= 3000 && code == 0; i++) {
        uint32_t id = 0;
        char name[32];

        snprintf(name, sizeof(name), "name%u", i);
        code = cairn_intern_str(table, name, &id);
        if (code == 0)
            assert_int_equal(id, i);
    }
    return code;
}

static void test_short_memory_leaves_no_id_without_its_string(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct cairn_intern table;
        int code = fill(&table, n);
        bool failed = cairn_alloc_has_failed();
        size_t count = cairn_intern_count(&table);
        uint32_t id;

        cairn_alloc_fail_after(-1);
        assert_int_equal(code, failed ? -CAIRN_ENOMEM : 0);
        if (count > 0) {
            char name[32];

            /* It goes on where it stopped, when there is memory again. */
            snprintf(name, sizeof(name), "name%zu", count);
            assert_int_equal(cairn_intern_str(&table, name, &id), 0);
            assert_int_equal(id, count);
            assert_is(&table, id, name, strlen(name));
        }
        cairn_intern_release(&table);
        if (!failed) {
            assert_true(n > 10); /* something was there to fail */
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_empty_string_is_zero),
        cmocka_unit_test(test_ids_are_dense_and_strings_hold_any_byte),
        cmocka_unit_test(test_equal_hashes_do_not_make_equal_strings),
        cmocka_unit_test(test_the_ceiling_counts_every_string_with_its_nul),
        cmocka_unit_test(test_random_strings_agree_with_the_model),
        cmocka_unit_test(test_short_memory_leaves_no_id_without_its_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
