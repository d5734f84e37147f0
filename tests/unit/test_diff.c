#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "diff.h"
#include "rng.h"
#include "story.h"
#include "tallied.h"

#define MS 1000000u
#define US 1000u
#define FUNCTIONS 14

static double draw(uint64_t seed, uint64_t k)
{
    return (double)(cairn_rng_at(seed, k) >> 11) * 0x1p-53;
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) < 5e-5))
        fail_msg("%.6f is not %.6f", got, want);
}

/* Published values of the hybrid score interval (Newcombe 1998, "Interval estimation for the
 * difference between independent proportions", table II, method 10). */
static void test_differences_are_as_published(void **state)
{
    static const struct {
        double hits, count, other_hits, other_count, low, high;
    } cases[] = {
        {56, 70, 48, 80, 0.0524, 0.3339}, {9, 10, 3, 10, 0.1705, 0.8090},
        {5, 56, 0, 29, -0.0381, 0.1926},  {0, 10, 0, 20, -0.1611, 0.2775},
        {10, 10, 0, 20, 0.6791, 1.0000},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_diff_arm after = {cases[i].hits / cases[i].count, cases[i].count, 1};
        struct cairn_diff_arm before = {cases[i].other_hits / cases[i].other_count,
                                        cases[i].other_count, 1};
        double low, high;

        cairn_diff_interval(&before, &after, 0.95, &low, &high);
        assert_near(low, cases[i].low);
        assert_near(high, cases[i].high);
        /* Turned round, it is the same with the other sign; a scale stretches it. */
        cairn_diff_interval(&after, &before, 0.95, &low, &high);
        assert_near(-high, cases[i].low);
        assert_near(-low, cases[i].high);
        before.scale = after.scale = 10;
        cairn_diff_interval(&before, &after, 0.95, &low, &high);
        assert_near(high / 10, cases[i].high);
    }
}

/* Draws a function by Zipf's law: f0 has most, f13 about 2 %; `more` is put on top of f1. */
static unsigned draw_function(double uniform, double more)
{
    double sum = more, at = 0;

    for (unsigned i = 0; i < FUNCTIONS; i++)
        sum += 1.0 / (i + 1);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        at += (1.0 / (i + 1) + (i == 1 ? more : 0)) / sum;
        if (uniform < at)
            return i;
    }
    return FUNCTIONS - 1;
}

/* A run of `ticks`, each in a function that is drawn, half of them by way of another one. */
static struct cairn_model *run_of(uint64_t seed, unsigned ticks, double more)
{
    struct story story;
    unsigned thread;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "MainThread");
    for (unsigned tick = 0; tick < ticks; tick++) {
        unsigned in = draw_function(draw(seed, 3 * tick), more);
        bool by_way = draw(seed, 3 * tick + 1) < 0.5;
        char stack[128];

        snprintf(stack, sizeof(stack), "<module> /u/a.py:1;%sf%u /u/a.py:%u",
                 by_way ? "helper /u/b.py:3;" : "", in, 10 * (in + 1));
        story_tick(&story, MS);
        story_sample(&story, thread, stack, 1, (uint64_t)(2 * draw(seed, 3 * tick + 2) * 400 * US));
    }
    return story_end(&story);
}

struct pair { /* of runs, and what they come to */
    struct cairn_model *models[2];
    struct cairn_tally tallies[2];
    struct cairn_diff diff;
};

static void compare(struct pair *pair, enum cairn_metric metric,
                    const struct cairn_diff_options *options)
{
    for (int i = 0; i < 2; i++)
        pair->tallies[i] = tally_by(pair->models[i], metric);
    assert_int_equal(
        cairn_diff_make(&pair->tallies[0], &pair->tallies[1], options, &pair->diff, NULL), 0);
}

static void release(struct pair *pair)
{
    cairn_diff_release(&pair->diff);
    for (int i = 0; i < 2; i++) {
        cairn_tally_release(&pair->tallies[i]);
        cairn_model_free(pair->models[i]);
    }
}

static const struct cairn_diff_row *find(const struct cairn_diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->count; i++) {
        const struct cairn_row *row =
            diff->items[i].after ? diff->items[i].after : diff->items[i].before;

        if (row->name.size_bytes == strlen(name) &&
            !memcmp(row->name.data, name, row->name.size_bytes))
            return &diff->items[i];
    }
    fail_msg("no row %s", name);
    return NULL;
}

static bool calls_any(const struct cairn_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++)
        if (diff->items[i].self.verdict != CAIRN_DIFF_SAME ||
            diff->items[i].total.verdict != CAIRN_DIFF_SAME)
            return true;
    return false;
}

/* In how many of `runs` two recordings of one and the same thing are told apart anywhere. */
static unsigned false_calls(enum cairn_metric metric, enum cairn_diff_scale scale, unsigned runs,
                            unsigned ticks)
{
    struct cairn_diff_options options = {.rows = {.with_idle = true}, .scale = scale};
    unsigned calls = 0;

    for (unsigned run = 0; run < runs; run++) {
        struct pair pair = {
            .models = {run_of(7000 + 2 * run, ticks, 0), run_of(7001 + 2 * run, ticks, 0)}};

        compare(&pair, metric, &options);
        assert_true(pair.diff.compared >= FUNCTIONS - 2);
        assert_true(pair.diff.confidence > 0.998);
        calls += calls_any(&pair.diff);
        release(&pair);
    }
    return calls;
}

/* At most 5 in 100 comparisons, however many rows each has. Seeds are fixed. */
static void test_the_same_twice_is_no_difference(void **state)
{
    unsigned wall, cpu;
    (void)state;

    wall = false_calls(CAIRN_METRIC_WALL, CAIRN_DIFF_RUN, 200, 500);
    cpu = false_calls(CAIRN_METRIC_CPU, CAIRN_DIFF_SHARE, 60, 500);
    print_message("# wall %u of 200, cpu %u of 60\n", wall, cpu);
    assert_in_range(wall, 0, 10);
    assert_in_range(cpu, 0, 3);
}

/* What is there is found, with its sign, and its interval holds the truth. */
static void test_a_difference_is_found(void **state)
{
    struct cairn_diff_options options = {.rows = {.with_idle = true}, .scale = CAIRN_DIFF_SHARE};
    double sum = 0, before, after;
    unsigned held = 0;
    (void)state;

    for (unsigned i = 0; i < FUNCTIONS; i++)
        sum += 1.0 / (i + 1);
    before = 0.5 / sum;
    after = (0.5 + 1) / (sum + 1);
    for (unsigned run = 0; run < 30; run++) {
        struct pair pair = {
            .models = {run_of(100 + 2 * run, 1000, 0), run_of(101 + 2 * run, 1000, 1)}};
        const struct cairn_diff_row *row;

        compare(&pair, CAIRN_METRIC_WALL, &options);
        row = find(&pair.diff, "f1");
        assert_int_equal(row->self.verdict, CAIRN_DIFF_WORSE);
        assert_ptr_equal(row, &pair.diff.items[0]);
        assert_true(pair.diff.worse && pair.diff.enough);
        held += row->self.low <= after - before && after - before <= row->self.high;
        release(&pair);
    }
    assert_in_range(held, 29, 30); /* each interval is far above 95 % */
}

static struct cairn_model *told(const char *const *stacks, const unsigned *ticks, size_t count)
{
    struct story story;
    unsigned thread;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "MainThread");
    for (unsigned k = 0; k < 1000; k++)
        for (size_t i = 0; i < count; i++)
            if (k < ticks[i]) {
                story_tick(&story, MS);
                story_sample(&story, thread, stacks[i], 1, 0);
            }
    return story_end(&story);
}

static void test_rows_find_their_counterparts(void **state)
{
    /* Edited: lines moved, one function went, one came, one went to another folder. */
    static const char *const before[] = {
        "main /u/a.py:1;stays /u/a.py:10", "main /u/a.py:1;goes /u/a.py:20",
        "main /u/a.py:1;moves /u/one/lib.py:5", "main /u/a.py:1;<lambda> /u/a.py:30",
        "main /u/a.py:1;<lambda> /u/a.py:40"};
    static const char *const after[] = {
        "main /u/a.py:2;stays /u/a.py:14", "main /u/a.py:2;comes /u/a.py:24",
        "main /u/a.py:2;moves /u/two/lib.py:5", "main /u/a.py:2;<lambda> /u/a.py:34",
        "main /u/a.py:2;<lambda> /u/a.py:44"};
    static const unsigned before_ticks[] = {400, 200, 300, 100, 50};
    static const unsigned after_ticks[] = {400, 100, 300, 100, 350};
    struct cairn_diff_options options = {.rows = {.with_idle = true}};
    struct pair pair = {.models = {told(before, before_ticks, 5), told(after, after_ticks, 5)}};
    const struct cairn_diff_row *row;
    (void)state;

    compare(&pair, CAIRN_METRIC_WALL, &options);
    assert_int_equal(pair.diff.count, 7);
    row = find(&pair.diff, "stays");
    assert_true(row->before && row->after && row->self.verdict == CAIRN_DIFF_SAME);
    row = find(&pair.diff, "moves");
    assert_true(row->before && row->after);
    row = find(&pair.diff, "goes");
    assert_true(row->before && !row->after && row->self.verdict == CAIRN_DIFF_BETTER);
    assert_true(fabs(row->self.change + 0.2) < 1e-9);
    row = find(&pair.diff, "comes");
    assert_true(!row->before && row->after && row->self.verdict == CAIRN_DIFF_WORSE);
    row = find(&pair.diff, "<lambda>"); /* the second one: it changed most */
    assert_int_equal(row->before->first_line, 40);
    assert_int_equal(row->after->first_line, 44);
    assert_true(fabs(row->self.change - 0.3) < 1e-9);
    release(&pair);
}

static void test_the_tolerance_lets_pass(void **state)
{
    static const char *const stacks[] = {"main /u/a.py:1;f /u/a.py:10",
                                         "main /u/a.py:1;g /u/a.py:20"};
    static const unsigned before_ticks[] = {1000, 300}, after_ticks[] = {1000, 600};
    struct cairn_diff_options options = {.rows = {.with_idle = true}};
    struct pair pair = {.models = {told(stacks, before_ticks, 2), told(stacks, after_ticks, 2)}};
    (void)state;

    compare(&pair, CAIRN_METRIC_WALL, &options);
    assert_int_equal(find(&pair.diff, "g")->self.verdict, CAIRN_DIFF_WORSE);
    assert_true(pair.diff.worse);
    assert_true(fabs(pair.diff.whole.change - 0.3) < 1e-9);
    cairn_diff_release(&pair.diff);
    options.tolerance = 0.25; /* of 1.3 s */
    assert_int_equal(
        cairn_diff_make(&pair.tallies[0], &pair.tallies[1], &options, &pair.diff, NULL), 0);
    assert_int_equal(find(&pair.diff, "g")->self.verdict, CAIRN_DIFF_WITHIN);
    assert_false(pair.diff.worse);
    release(&pair);
}

static void test_few_samples_are_not_enough(void **state)
{
    struct cairn_diff_options options = {.rows = {.with_idle = true}};
    struct pair pair = {.models = {run_of(1, 12, 0), run_of(2, 500, 0)}};
    (void)state;

    compare(&pair, CAIRN_METRIC_WALL, &options);
    assert_false(pair.diff.enough);
    release(&pair);
}

static void test_short_memory_is_an_answer(void **state)
{
    struct cairn_diff_options options = {.rows = {.with_idle = true}};
    struct pair pair = {.models = {run_of(1, 100, 0), run_of(2, 100, 0)}};
    bool failed = true;
    long n = 0;
    (void)state;

    for (int i = 0; i < 2; i++)
        pair.tallies[i] = tally_by(pair.models[i], CAIRN_METRIC_CPU);
    for (; failed; n++) {
        int code;

        cairn_alloc_fail_after(n);
        code = cairn_diff_make(&pair.tallies[0], &pair.tallies[1], &options, &pair.diff, NULL);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_int_equal(code, failed ? -CAIRN_ENOMEM : 0);
    }
    assert_true(n > 10);
    release(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences_are_as_published),
        cmocka_unit_test(test_the_same_twice_is_no_difference),
        cmocka_unit_test(test_a_difference_is_found),
        cmocka_unit_test(test_rows_find_their_counterparts),
        cmocka_unit_test(test_the_tolerance_lets_pass),
        cmocka_unit_test(test_few_samples_are_not_enough),
        cmocka_unit_test(test_short_memory_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
