/* How many draws a tally stands for, and whether the intervals made of them hold the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "story.h"
#include "table.h"
#include "tallied.h"

#define MS 1000000u

/* Draws: ticks for one thread, still ticks for several, fewer when the ticks are uneven. */
static void test_draws_are_moments_not_samples(void **state)
{
    for (unsigned thread_count = 1; thread_count <= 4; thread_count++) {
        struct cairn_model *model;
        struct cairn_tally tally;
        struct story story;
        unsigned threads[4];
        (void)state;

        story_begin(&story, NULL, 1);
        for (unsigned i = 0; i < thread_count; i++)
            threads[i] = story_thread(&story, 10, 10 + i, "t");
        for (int tick = 0; tick < 100; tick++) {
            story_tick(&story, MS);
            for (unsigned i = 0; i < thread_count; i++)
                story_sample(&story, threads[i], "f /u/a.py:1", 1, MS);
            if (tick == 49)
                story_flush(&story);
        }
        model = story_end(&story);
        tally = tally_of(model, NULL);
        assert_int_equal((int)(tally.draws[1][0] + 0.5), 100);
        assert_int_equal((int)(tally.draws[0][1] + 0.5), 100);
        assert_int_equal(tally.total.ticks, 100 * thread_count);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
}

static void test_one_long_tick_is_one_draw(void **state)
{
    struct cairn_model *model;
    struct cairn_tally tally;
    struct story story;
    unsigned thread;
    (void)state;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "t");
    for (int tick = 0; tick < 100; tick++) {
        story_tick(&story, tick == 50 ? 1000 * MS : MS);
        story_sample(&story, thread, "f /u/a.py:1", 1, 0);
    }
    model = story_end(&story);
    tally = tally_of(model, NULL);
    assert_true(tally.draws[1][0] > 1 && tally.draws[1][0] < 1.3);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* 300 runs of a program that is in f() for 30 % of the time, looked at in uneven intervals: the
 * 95 % interval of f() holds the truth in 92 to 98 of 100. The seeds are fixed, so is the answer.
 */
static void test_intervals_are_true(void **state)
{
    unsigned right = 0;
    (void)state;

    for (uint64_t run = 0; run < 300; run++) {
        struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION, .with_idle = true};
        struct cairn_model *model;
        struct cairn_tally tally;
        struct cairn_rows rows;
        struct story story;
        unsigned thread;

        story_begin(&story, NULL, 1);
        thread = story_thread(&story, 10, 10, "MainThread");
        for (uint64_t tick = 0; tick < 300; tick++) {
            bool in_f = cairn_rng_at(run, 2 * tick) % 10 < 3;

            story_tick(&story, MS / 2 + cairn_rng_at(run, 2 * tick + 1) % 1000 * 1000);
            story_sample(&story, thread, in_f ? "f /u/a.py:1" : "g /u/a.py:9", 1, 0);
        }
        model = story_end(&story);
        tally = tally_of(model, NULL);
        assert_int_equal(cairn_rows_make(&tally, &options, &rows, NULL), 0);
        for (size_t i = 0; i < rows.count; i++)
            if (rows.items[i].qualname.data[0] == 'f')
                right += rows.items[i].self_low <= 0.3 && 0.3 <= rows.items[i].self_high;
        cairn_rows_release(&rows);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
    assert_in_range(right, 276, 294);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws_are_moments_not_samples),
        cmocka_unit_test(test_one_long_tick_is_one_draw),
        cmocka_unit_test(test_intervals_are_true),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
