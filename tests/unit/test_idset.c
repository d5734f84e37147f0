#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "idset.h"

static bool holds(const struct cairn_idset *set, uint64_t hash, uint32_t id)
{
    size_t at;
    uint32_t found = cairn_idset_first(set, hash, &at);

    while (found != 0 && found != id)
        found = cairn_idset_next(set, hash, &at);
    return found == id;
}

static void test_an_empty_set_holds_nothing(void **state)
{
    struct cairn_idset set;
    size_t at;

    (void)state;
    cairn_idset_init(&set);
    assert_int_equal(cairn_idset_first(&set, 5, &at), 0);
    cairn_idset_release(&set);
    cairn_idset_release(&set);
}

/* Hashes that are all the same, that differ in what chooses the place alone, and at the end of the
 * slots, where a search goes on at the first. */
static void test_every_id_is_found_under_its_hash(void **state)
{
    static const uint64_t steps[] = {0, 1, (uint64_t)1 << 31, 0x9e3779b97f4a7c15, UINT64_MAX};
    enum { COUNT = 3000 };

    (void)state;
    for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
        uint32_t count = steps[s] == 0 || steps[s] == (uint64_t)1 << 31 ? 100 : COUNT;
        struct cairn_idset set;

        cairn_idset_init(&set);
        for (uint32_t id = 1; id <= count; id++)
            assert_int_equal(cairn_idset_add(&set, 15 + id * steps[s], id), 0);
        assert_int_equal(set.count, count);
        for (uint32_t id = 1; id <= count; id++)
            assert_true(holds(&set, 15 + id * steps[s], id));
        assert_false(holds(&set, 15, count + 1));
        cairn_idset_release(&set);
    }
}

static void test_an_id_is_met_once(void **state)
{
    struct cairn_idset set;
    size_t at, met = 0;

    (void)state;
    cairn_idset_init(&set);
    for (uint32_t id = 1; id <= 10; id++)
        assert_int_equal(cairn_idset_add(&set, 7, id), 0);
    for (uint32_t id = cairn_idset_first(&set, 7, &at); id != 0;
         id = cairn_idset_next(&set, 7, &at))
        met += id;
    assert_int_equal(met, 55);
    cairn_idset_release(&set);
}

/* Of ids that all want one place, of some that want others, and across the end of the slots: the
 * rest is found whichever goes first. */
static void test_what_is_taken_out_hides_nothing(void **state)
{
    static const uint64_t hashes[] = {15, 15, 14, 15, 0, 1, 0, 15, 1, 14, 2};
    enum { COUNT = sizeof(hashes) / sizeof(hashes[0]) };

    (void)state;
    for (uint32_t first = 0; first < COUNT; first++) {
        struct cairn_idset set;

        cairn_idset_init(&set);
        cairn_idset_remove(&set, 15, 1); /* of nothing */
        for (uint32_t id = 1; id <= COUNT; id++)
            assert_int_equal(cairn_idset_add(&set, hashes[id - 1], id), 0);
        for (uint32_t gone = 1; gone <= COUNT; gone++) {
            uint32_t id = (first + gone) % COUNT + 1;

            cairn_idset_remove(&set, hashes[id - 1], id);
            cairn_idset_remove(&set, hashes[id - 1], id);
            assert_int_equal(set.count, COUNT - gone);
            for (uint32_t i = 1; i <= COUNT; i++) {
                bool over = (i + COUNT - 1 - first - 1) % COUNT < gone;

                assert_int_equal(holds(&set, hashes[i - 1], i), !over);
            }
        }
        cairn_idset_release(&set);
    }
}

static void test_no_memory_loses_nothing(void **state)
{
    struct cairn_idset set;
    uint32_t id = 1;
    int code;

    (void)state;
    cairn_idset_init(&set);
    for (; id <= 12; id++)
        assert_int_equal(cairn_idset_add(&set, id, id), 0);
    cairn_alloc_fail_after(0);
    code = cairn_idset_add(&set, id, id);
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, -CAIRN_ENOMEM);
    assert_int_equal(set.count, 12);
    for (id = 1; id <= 12; id++)
        assert_true(holds(&set, id, id));
    assert_int_equal(cairn_idset_add(&set, id, id), 0);
    assert_true(holds(&set, id, id));
    cairn_idset_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_set_holds_nothing),
        cmocka_unit_test(test_every_id_is_found_under_its_hash),
        cmocka_unit_test(test_an_id_is_met_once),
        cmocka_unit_test(test_what_is_taken_out_hides_nothing),
        cmocka_unit_test(test_no_memory_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
