#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pytaskplaces.h"

#define WORDS (CAIRN_PYTASKPLACES_TOLD_BYTES / 8)

/* As 3.15 tells it. */
static const uint64_t told[WORDS] = {
    208,    160,    96,   108,  109, 152, 176, /* task: size, name, …, coroutine, node */
    200000, 199984,                            /* interpreter: size, head */
    2048,   1000,   1008, 1016,                /* thread: size, loop, task, head */
};

static bool take(const uint64_t *words, size_t size_bytes, struct cairn_pytaskplaces *places)
{
    *places = (struct cairn_pytaskplaces){0};
    return cairn_pytaskplaces_take(places, (struct cairn_span){(const uint8_t *)words, size_bytes});
}

static void test_what_is_told_is_taken(void **state)
{
    struct cairn_pytaskplaces places;

    (void)state;
    assert_true(take(told, sizeof(told), &places));
    assert_true(places.known);
    assert_int_equal(places.task_size, 208);
    assert_int_equal(places.task_name, 160);
    assert_int_equal(places.task_is_task, 108);
    assert_int_equal(places.task_coro, 152);
    assert_int_equal(places.task_node, 176);
    assert_int_equal(places.interp_tasks_head, 199984);
    assert_int_equal(places.thread_running_task, 1008);
    assert_int_equal(places.thread_tasks_head, 1016);
}

static void test_a_place_outside_of_its_structure_is_refused(void **state)
{
    static const struct {
        size_t word, width;
        size_t size_word;
    } places[] = {{1, 8, 0}, {3, 1, 0}, {5, 8, 0}, {6, 16, 0}, {8, 16, 7}, {11, 8, 9}, {12, 16, 9}};

    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const uint64_t size_bytes = told[places[i].size_word];
        const uint64_t bad[] = {size_bytes, size_bytes - places[i].width + 8, UINT64_MAX,
                                UINT64_MAX - 7};
        struct cairn_pytaskplaces taken;
        uint64_t words[WORDS];

        for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
            if (places[i].width == 1 && k == 1)
                continue;
            memcpy(words, told, sizeof(words));
            words[places[i].word] = bad[k];
            assert_false(take(words, sizeof(words), &taken));
            assert_false(taken.known);
        }
        if (places[i].width > 1) { /* it must be aligned */
            memcpy(words, told, sizeof(words));
            words[places[i].word] -= 4;
            assert_false(take(words, sizeof(words), &taken));
        }
    }
}

static void test_structures_that_are_too_large_and_sections_too_short_are_refused(void **state)
{
    struct cairn_pytaskplaces places;
    uint64_t words[WORDS];

    (void)state;
    assert_false(take(told, sizeof(told) - 1, &places));
    memcpy(words, told, sizeof(words));
    words[0] = CAIRN_PYTASKPLACES_TASK_BYTES + 8;
    assert_false(take(words, sizeof(words), &places));
    words[0] = told[0];
    words[7] = UINT64_MAX;
    assert_false(take(words, sizeof(words), &places));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_told_is_taken),
        cmocka_unit_test(test_a_place_outside_of_its_structure_is_refused),
        cmocka_unit_test(test_structures_that_are_too_large_and_sections_too_short_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
