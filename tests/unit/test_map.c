#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "map.h"
#include "rng.h"

static void test_an_empty_map_answers_no(void **state)
{
    struct cairn_map map;
    uint64_t key_a, key_b, value = 77;
    size_t pos = 0;

    (void)state;
    cairn_map_init(&map, 10);
    assert_false(cairn_map_get(&map, 0, 0, &value));
    assert_false(cairn_map_remove(&map, 0, 0));
    assert_false(cairn_map_next(&map, &pos, &key_a, &key_b, &value));
    cairn_map_prefetch(&map, 0, 0);
    assert_int_equal(value, 77);
    cairn_map_clear(&map);
    cairn_map_release(&map);
    cairn_map_release(&map);
}

static void test_both_words_of_a_key_count(void **state)
{
    static const uint64_t keys[][2] = {
        {0, 0}, {0, 1}, {1, 0}, {UINT64_MAX, 0}, {0, UINT64_MAX}, {UINT64_MAX, UINT64_MAX},
    };
    enum { COUNT = sizeof(keys) / sizeof(keys[0]) };
    struct cairn_map map;
    uint64_t value;

    (void)state;
    cairn_map_init(&map, 100);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(cairn_map_put(&map, keys[i][0], keys[i][1], i + 10), 0);
    assert_int_equal(map.count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_true(cairn_map_get(&map, keys[i][0], keys[i][1], &value));
        assert_int_equal(value, i + 10);
    }
    value = 77;
    assert_false(cairn_map_get(&map, 1, 1, &value));
    assert_int_equal(value, 77);
    cairn_map_clear(&map);
    assert_false(cairn_map_get(&map, 0, 0, &value));
    assert_int_equal(cairn_map_put(&map, 0, 0, 5), 0);
    assert_int_equal(map.count, 1);
    cairn_map_release(&map);
}

static void test_the_ceiling_refuses_new_keys_only(void **state)
{
    struct cairn_map map;
    uint64_t value;

    (void)state;
    cairn_map_init(&map, 2);
    assert_int_equal(cairn_map_put(&map, 1, 1, 1), 0);
    assert_int_equal(cairn_map_put(&map, 2, 2, 2), 0);
    assert_int_equal(cairn_map_put(&map, 3, 3, 3), -CAIRN_ELIMIT);
    assert_false(cairn_map_get(&map, 3, 3, &value));
    assert_int_equal(cairn_map_put(&map, 2, 2, 22), 0);
    assert_true(cairn_map_get(&map, 2, 2, &value));
    assert_int_equal(value, 22);
    assert_true(cairn_map_remove(&map, 1, 1));
    assert_int_equal(cairn_map_put(&map, 3, 3, 3), 0);
    cairn_map_release(&map);

    cairn_map_init(&map, 0);
    assert_int_equal(cairn_map_put(&map, 1, 1, 1), -CAIRN_ELIMIT);
    cairn_map_release(&map);
}

/* The model: an array with one place for every key there can be. */
enum { KEYS = 300 };

struct model {
    bool is_there[KEYS];
    uint64_t value[KEYS];
    size_t count;
};

static void key_of(uint64_t number, uint64_t *ret_a, uint64_t *ret_b)
{
    *ret_a = number / 17;
    *ret_b = number % 17 << 40;
}

static void assert_same(const struct cairn_map *map, const struct model *model)
{
    bool seen[KEYS] = {false};
    uint64_t key_a, key_b, value;
    size_t pos = 0, count = 0;

    assert_int_equal(map->count, model->count);
    while (cairn_map_next(map, &pos, &key_a, &key_b, &value)) {
        uint64_t number = key_a * 17 + (key_b >> 40);

        assert_true(number < KEYS);
        assert_true(model->is_there[number]);
        assert_false(seen[number]);
        assert_int_equal(value, model->value[number]);
        seen[number] = true;
        count++;
    }
    assert_int_equal(count, model->count);
    for (uint64_t number = 0; number < KEYS; number++) {
        key_of(number, &key_a, &key_b);
        assert_int_equal(cairn_map_get(map, key_a, key_b, &value), model->is_there[number]);
    }
}

/* One put, get or remove, done to both and compared. */
static void do_one(struct cairn_map *map, struct model *model, uint64_t random)
{
    uint64_t number = random % KEYS, key_a, key_b, value;

    key_of(number, &key_a, &key_b);
    switch (random >> 32 & 3) {
    case 0:
    case 1:
        assert_int_equal(cairn_map_put(map, key_a, key_b, random), 0);
        model->count += !model->is_there[number];
        model->is_there[number] = true;
        model->value[number] = random;
        break;
    case 2:
        assert_int_equal(cairn_map_remove(map, key_a, key_b), model->is_there[number]);
        model->count -= model->is_there[number];
        model->is_there[number] = false;
        break;
    default:
        assert_int_equal(cairn_map_get(map, key_a, key_b, &value), model->is_there[number]);
        if (model->is_there[number])
            assert_int_equal(value, model->value[number]);
        break;
    }
}

static void test_random_operations_agree_with_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct model model = {.count = 0};
        struct cairn_map map;

        cairn_map_init(&map, KEYS);
        map.seed = seed; /* so that a failure comes again */
        for (uint64_t k = 0; k < 4000; k++) {
            do_one(&map, &model, cairn_rng_at(seed, k));
            if (k % 200 == 0)
                assert_same(&map, &model);
        }
        assert_same(&map, &model);
        /* Emptied one by one: what is left must stay findable to the last. */
        for (uint64_t number = 0; number < KEYS; number++) {
            uint64_t key_a, key_b;

            key_of(number, &key_a, &key_b);
            cairn_map_remove(&map, key_a, key_b);
            model.count -= model.is_there[number];
            model.is_there[number] = false;
            if (number % 16 == 0)
                assert_same(&map, &model);
        }
        assert_int_equal(map.count, 0);
        cairn_map_release(&map);
    }
}

static void test_short_memory_changes_nothing(void **state)
{
    struct cairn_map map;
    long failures = 0;

    (void)state;
    cairn_map_init(&map, SIZE_MAX);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t value;

        cairn_alloc_fail_after(0);
        if (cairn_map_put(&map, i, 0, i) < 0) {
            assert_true(cairn_alloc_has_failed());
            assert_int_equal(map.count, i);
            assert_false(cairn_map_get(&map, i, 0, &value));
            for (uint64_t known = 0; known < i; known++)
                assert_true(cairn_map_get(&map, known, 0, &value) && value == known);
            failures++;
            cairn_alloc_fail_after(-1);
            assert_int_equal(cairn_map_put(&map, i, 0, i), 0);
        }
        cairn_alloc_fail_after(-1);
    }
    assert_int_equal(map.count, 1000);
    assert_true(failures > 5);
    cairn_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_map_answers_no),
        cmocka_unit_test(test_both_words_of_a_key_count),
        cmocka_unit_test(test_the_ceiling_refuses_new_keys_only),
        cmocka_unit_test(test_random_operations_agree_with_the_model),
        cmocka_unit_test(test_short_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
