#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "rng.h"
#include "story.h"
#include "table.h"
#include "tallied.h"

#define MS 1000000u
#define US 1000u

static struct cairn_rows rows_of(const struct cairn_tally *tally, enum cairn_by by)
{
    struct cairn_rows_options options = {.by = by, .with_idle = true};
    struct cairn_rows rows;

    assert_int_equal(cairn_rows_make(tally, &options, &rows, NULL), 0);
    return rows;
}

static const struct cairn_row *find(const struct cairn_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].name.size_bytes == strlen(name) &&
            !memcmp(rows->items[i].name.data, name, strlen(name)))
            return &rows->items[i];
    fail_msg("no row %s", name);
    return NULL;
}

static double draw(uint64_t seed, uint64_t k)
{
    return (double)(cairn_rng_at(seed, k) >> 11) * 0x1p-53;
}

/* What a run of a program with known shares of CPU time looks like. */
struct known {
    double in_f;         /* of the ticks */
    unsigned f_us, g_us; /* mean CPU time of a tick, of at most 400 us, in f() and in g() */
    bool uneven;         /* most ticks of g() ran for nothing, one in ten for ten times as long */
    bool burst;          /* a tick is more likely to be as the one before than not */
};

static struct cairn_model *run_of(const struct known *known, uint64_t seed, unsigned ticks)
{
    struct story story;
    bool in_f = false;
    unsigned thread;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "MainThread");
    for (unsigned tick = 0; tick < ticks; tick++) {
        unsigned cpu_us;

        if (!known->burst || draw(seed, 4 * tick) < 0.5)
            in_f = draw(seed, 4 * tick + 1) < known->in_f;
        cpu_us =
            (unsigned)lround(2 * draw(seed, 4 * tick + 2) * (in_f ? known->f_us : known->g_us));
        if (known->uneven && !in_f)
            cpu_us = draw(seed, 4 * tick + 3) < 0.1 ? 10 * cpu_us : 0;
        story_tick(&story, MS);
        story_sample(&story, thread,
                     in_f ? "<module> /u/a.py:1;f /u/a.py:3" : "<module> /u/a.py:1;g /u/a.py:9", 1,
                     cpu_us * US);
    }
    return story_end(&story);
}

/* In how many of `runs` the interval of f() held its share, and how wide they were on average. */
static unsigned right_of(const struct known *known, unsigned runs, unsigned ticks,
                         double *ret_width)
{
    double f = known->in_f * known->f_us, g = (1 - known->in_f) * known->g_us;
    unsigned right = 0;

    *ret_width = 0;
    for (unsigned run = 0; run < runs; run++) {
        struct cairn_model *model = run_of(known, 1000 + run, ticks);
        struct cairn_tally tally = tally_by(model, CAIRN_METRIC_CPU);
        struct cairn_rows rows = rows_of(&tally, CAIRN_BY_FUNCTION);
        const struct cairn_row *row = find(&rows, "f");

        right += row->self_low <= f / (f + g) && f / (f + g) <= row->self_high;
        *ret_width += (row->self_high - row->self_low) / runs;
        cairn_rows_release(&rows);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
    return right;
}

/* Of 300 runs with known shares, 92 to 98 of 100 intervals hold them. Seeds are fixed. */
static void test_intervals_are_true(void **state)
{
    static const struct known cases[] = {
        {.in_f = 0.3, .f_us = 100, .g_us = 100},
        {.in_f = 0.5, .f_us = 50, .g_us = 10},
        {.in_f = 0.1, .f_us = 20, .g_us = 40},
        {.in_f = 0.4, .f_us = 50, .g_us = 50, .uneven = true},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double width;
        unsigned right = right_of(&cases[i], 300, 1200, &width);

        print_message("# case %zu: %u of 300, %.3f wide\n", i, right, width);
        assert_in_range(right, 276, 294);
        assert_true(width > 0.005 && width < 0.2);
    }
}

/* Ticks that depend on the ones before them are fewer draws, which no formula over their number
 * sees: there the interval must be about 1.7 times as wide. */
static void test_what_hangs_together_is_fewer_draws(void **state)
{
    struct known known = {.in_f = 0.3, .f_us = 100, .g_us = 100};
    double apart, together;
    unsigned right;
    (void)state;

    right_of(&known, 20, 6000, &apart);
    known.burst = true;
    right = right_of(&known, 100, 6000, &together);
    assert_in_range(right, 86, 100);
    assert_true(together > 1.4 * apart && together < 2.0 * apart);
}

/* Doing first one thing and then another is no error: that is seen to a strip. */
static void test_phases_are_no_error(void **state)
{
    struct cairn_model *model;
    struct cairn_tally tally;
    struct cairn_rows rows;
    struct story story;
    unsigned thread;
    (void)state;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "MainThread");
    for (int tick = 0; tick < 6000; tick++) {
        story_tick(&story, MS);
        story_sample(&story, thread, tick < 3000 ? "f /u/a.py:1" : "g /u/a.py:2", 1, MS / 2);
    }
    model = story_end(&story);
    tally = tally_by(model, CAIRN_METRIC_CPU);
    rows = rows_of(&tally, CAIRN_BY_FUNCTION);
    for (size_t i = 0; i < rows.count; i++) {
        assert_true(rows.items[i].self_low < 0.5 && rows.items[i].self_high > 0.5);
        assert_true(rows.items[i].self_high - rows.items[i].self_low < 0.02);
    }
    cairn_rows_release(&rows);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* The same report twice is the same bytes, and every grouping has intervals that hold its share. */
static void test_every_grouping_has_them_and_always_the_same(void **state)
{
    static const struct known known = {.in_f = 0.3, .f_us = 100, .g_us = 30, .burst = true};
    struct cairn_model *model = run_of(&known, 5, 900);
    (void)state;

    for (int metric = 0; metric < CAIRN_METRIC_SAMPLED; metric++)
        for (int by = 0; by < CAIRN_BY_COUNT; by++) {
            struct cairn_tally tally = tally_by(model, (enum cairn_metric)metric);
            struct cairn_rows rows = rows_of(&tally, (enum cairn_by)by);
            struct cairn_rows again = rows_of(&tally, (enum cairn_by)by);

            assert_int_equal(rows.count, again.count);
            for (size_t i = 0; i < rows.count; i++) {
                const struct cairn_row *row = &rows.items[i];

                assert_true(row->self_low <= row->self_share && row->self_share <= row->self_high);
                assert_true(row->total_low <= row->total_share &&
                            row->total_share <= row->total_high);
                assert_true(row->self_low == again.items[i].self_low &&
                            row->self_high == again.items[i].self_high);
                assert_true(metric != CAIRN_METRIC_WALL || row->self_draws == 0);
            }
            cairn_rows_release(&rows);
            cairn_rows_release(&again);
            cairn_tally_release(&tally);
        }
    cairn_model_free(model);
}

static void test_callers_have_them_too(void **state)
{
    static const struct known known = {.in_f = 0.3, .f_us = 100, .g_us = 30};
    struct cairn_model *model = run_of(&known, 5, 900);
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_CPU);
    struct cairn_rows rows = rows_of(&tally, CAIRN_BY_FUNCTION), callers, callees, self;
    const struct cairn_row *edge, *row = find(&rows, "f");
    (void)state;

    assert_int_equal(cairn_rows_callers(&tally, "<module>", &callers, &callees, &self, NULL), 0);
    edge = find(&callees, "f");
    assert_true(edge->total_draws > 0);
    assert_true(fabs(edge->total_low - row->total_low) < 1e-6);
    assert_true(fabs(edge->total_high - row->total_high) < 1e-6);
    cairn_rows_release(&rows);
    cairn_rows_release(&callers);
    cairn_rows_release(&callees);
    cairn_rows_release(&self);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static double sum_of(const struct cairn_strips *strips, uint32_t item)
{
    double sum = 0;

    for (unsigned i = 0; i < strips->count; i++)
        sum += cairn_strips_at(strips, item, i);
    return sum;
}

/* Strips become fewer when items become many, nothing is lost then; past the least it is given up
 * whole, never a part. */
static void test_a_table_keeps_within_its_room(void **state)
{
    uint64_t time_ns = 0;
    struct cairn_sample sample = {.ticks = 1, .times_ns = &time_ns};
    struct cairn_strips strips;
    uint32_t item = 0;
    (void)state;

    cairn_strips_init(&strips, 0, 1000 * MS, 4096);
    for (; item < 4096 / CAIRN_STRIPS_MIN; item++) {
        for (uint64_t at = 0; at < 10; at++) {
            sample.first_ns = at * 100 * MS;
            sample.last_ns = time_ns = sample.first_ns + MS;
            assert_int_equal(cairn_strips_add(&strips, item, &sample, MS / 2), 0);
        }
        assert_true(strips.count >= CAIRN_STRIPS_MIN && strips.cells.count <= 4096);
        assert_true(fabs(sum_of(&strips, item) - 5.0 * MS) < 1);
        assert_true(fabs(sum_of(&strips, 0) - 5.0 * MS) < 1);
    }
    assert_int_equal(strips.count, CAIRN_STRIPS_MIN);
    assert_int_equal(cairn_strips_join(&strips, 3, 4), 3);
    assert_true(fabs(sum_of(&strips, 3) - 10.0 * MS) < 1);
    assert_int_equal(cairn_strips_join(&strips, CAIRN_STRIPS_NONE, 4), 4);
    assert_int_equal(cairn_strips_add(&strips, item, &sample, MS), 0);
    assert_int_equal(strips.count, 0);
    assert_true(cairn_strips_at(&strips, 0, 0) == 0);
    assert_int_equal(cairn_strips_add(&strips, 0, &sample, MS), 0);
    cairn_strips_release(&strips);
}

static void test_two_tables_are_made_alike(void **state)
{
    struct cairn_strips strips, others;
    (void)state;

    for (int given_up = 0; given_up < 2; given_up++) {
        cairn_strips_init(&strips, 0, 1000 * MS, 4096);
        cairn_strips_init(&others, 0, 1000 * MS, 4096);
        others.count = given_up ? 0 : 64;
        cairn_strips_match(&strips, &others);
        assert_int_equal(strips.count, given_up ? 0 : 64);
        assert_int_equal(others.count, strips.count);
        cairn_strips_release(&strips);
        cairn_strips_release(&others);
    }
}

/* Each of the first allocations fails in turn, then, since strips repeat them, one in 61. */
static void test_memory_that_runs_out_is_an_answer(void **state)
{
    static const struct known known = {.in_f = 0.3, .f_us = 100, .g_us = 30};
    struct cairn_model *model = run_of(&known, 5, 50);
    struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION};
    struct cairn_filter filter;
    long failures = 0;
    int code;
    (void)state;

    cairn_filter_init(&filter);
    filter.metric = CAIRN_METRIC_CPU;
    do {
        struct cairn_tally tally;
        struct cairn_rows rows;

        cairn_alloc_fail_after(failures);
        failures += failures < 100 ? 1 : 61;
        code = cairn_tally_make(model, &filter, &tally, NULL);
        if (code == 0) {
            code = cairn_rows_make(&tally, &options, &rows, NULL);
            if (code == 0)
                cairn_rows_release(&rows);
            cairn_tally_release(&tally);
        }
        assert_true(code == 0 || code == -CAIRN_ENOMEM);
    } while (cairn_alloc_has_failed());
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, 0);
    assert_true(failures > 200);
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals_are_true),
        cmocka_unit_test(test_what_hangs_together_is_fewer_draws),
        cmocka_unit_test(test_phases_are_no_error),
        cmocka_unit_test(test_every_grouping_has_them_and_always_the_same),
        cmocka_unit_test(test_callers_have_them_too),
        cmocka_unit_test(test_a_table_keeps_within_its_room),
        cmocka_unit_test(test_two_tables_are_made_alike),
        cmocka_unit_test(test_memory_that_runs_out_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
