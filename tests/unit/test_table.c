#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "story.h"
#include "table.h"
#include "tallied.h"

#define MS 1000000u

static bool is_text(struct cairn_span text, const char *other)
{
    return text.size_bytes == strlen(other) && !memcmp(text.data, other, text.size_bytes);
}

static const struct cairn_row *find(const struct cairn_rows *rows, const char *qualname,
                                    uint32_t line)
{
    for (size_t i = 0; i < rows->count; i++)
        if (is_text(rows->items[i].qualname, qualname) && (!line || rows->items[i].line == line))
            return &rows->items[i];
    fail_msg("no row %s:%u", qualname, line);
    return NULL;
}

/* Recursion, two threads, two lines of a function, a label, a thread without Python code. */
static struct cairn_model *puzzle(void)
{
    static const char *const fib = "<module> /u/a.py:1;fib /u/a.py:3@4;fib /u/a.py:3@4";
    struct story story;
    unsigned main_thread, worker;

    story_begin(&story, NULL, 1);
    main_thread = story_thread(&story, 10, 10, "MainThread");
    worker = story_thread(&story, 10, 11, "worker");
    for (int i = 0; i < 100; i++) {
        char stack[200];

        story_tick(&story, MS);
        snprintf(stack, sizeof(stack), "%s;fib /u/a.py:3@%d", fib, i < 60 ? 5 : 6);
        if (i >= 90)
            snprintf(stack, sizeof(stack), "%s;[torn]", fib);
        story_sample(&story, main_thread, stack, 1, i % 2 ? MS : MS / 2);
        if (i % 4 == 0)
            story_sample(&story, worker,
                         i ? "_bootstrap /usr/lib/python3.12/threading.py:9;"
                             "work /u/b.py:1;fib /u/a.py:3@5"
                           : "",
                         1, MS);
    }
    return story_end(&story);
}

static struct cairn_rows rows_of(const struct cairn_tally *tally, enum cairn_by by,
                                 enum cairn_sort sort)
{
    struct cairn_rows_options options = {.by = by, .sort = sort, .with_idle = true};
    struct cairn_rows rows;

    assert_int_equal(cairn_rows_make(tally, &options, &rows, NULL), 0);
    return rows;
}

static void test_every_grouping_adds_up(void **state)
{
    struct cairn_model *model = puzzle();
    (void)state;

    for (int metric = 0; metric < CAIRN_METRIC_SAMPLED; metric++) {
        struct cairn_tally tally = tally_by(model, (enum cairn_metric)metric);

        assert_int_equal(tally.known,
                         metric != CAIRN_METRIC_GIL && metric != CAIRN_METRIC_GIL_WAIT);
        assert_true(tally.known || tally.why);
        for (int by = 0; by < CAIRN_BY_COUNT; by++) {
            struct cairn_rows rows = rows_of(&tally, (enum cairn_by)by, CAIRN_SORT_SELF);
            struct cairn_weight sum = {0, 0};

            for (size_t i = 0; i < rows.count; i++) {
                const struct cairn_row *row = &rows.items[i];

                sum.ticks += row->self.ticks;
                sum.value_ns += row->self.value_ns;
                assert_true(row->total.value_ns >= row->self.value_ns);
                assert_true(row->total.value_ns <= rows.base.value_ns);
                assert_true(row->self_low <= row->self_share && row->self_share <= row->self_high);
                assert_true(row->total_low <= row->total_share);
                assert_true(row->bound >= 1 && row->bound <= 1000);
                assert_true(i == 0 || rows.items[i - 1].self.value_ns >= row->self.value_ns);
            }
            assert_int_equal(sum.ticks, 125);
            assert_int_equal(sum.value_ns, rows.base.value_ns);
            if (by != CAIRN_BY_STATE)
                assert_int_equal(rows.base.value_ns, tally.total.value_ns);
            cairn_rows_release(&rows);
        }
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
}

static void test_recursion_counts_once(void **state)
{
    struct cairn_model *model = puzzle();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_rows rows = rows_of(&tally, CAIRN_BY_FUNCTION, CAIRN_SORT_SELF);
    const struct cairn_row *row = find(&rows, "fib", 0);
    (void)state;

    assert_int_equal(row->total.ticks, 124);
    assert_int_equal(row->self.ticks, 114);
    assert_int_equal(row->line, 5); /* of 4, 5 and 6 the one with most time of its own */
    assert_int_equal(row->first_line, 3);
    assert_string_equal(row->kind, "python");
    assert_string_equal(find(&rows, "[torn]", 0)->kind, "label");
    assert_int_equal(find(&rows, "[torn]", 0)->self.ticks, 10);
    assert_int_equal(find(&rows, "[not python]", 0)->self.ticks, 1);
    cairn_rows_release(&rows);

    rows = rows_of(&tally, CAIRN_BY_LINE, CAIRN_SORT_TOTAL);
    assert_int_equal(find(&rows, "fib", 4)->total.ticks, 100);
    assert_int_equal(find(&rows, "fib", 4)->self.ticks, 0);
    assert_int_equal(find(&rows, "fib", 5)->self.ticks, 84);
    assert_true(rows.items[0].total.value_ns >= rows.items[1].total.value_ns);
    cairn_rows_release(&rows);

    rows = rows_of(&tally, CAIRN_BY_MODULE, CAIRN_SORT_NAME);
    assert_int_equal(find(&rows, "a", 0)->total.ticks, 124);
    assert_int_equal(find(&rows, "threading", 0)->self.ticks, 0);
    cairn_rows_release(&rows);

    rows = rows_of(&tally, CAIRN_BY_THREAD, CAIRN_SORT_SELF);
    assert_int_equal(find(&rows, "worker", 0)->self.ticks, 25);
    cairn_rows_release(&rows);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_states_are_a_partition(void **state)
{
    struct cairn_model *model = puzzle();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_CPU);
    struct cairn_rows rows = rows_of(&tally, CAIRN_BY_STATE, CAIRN_SORT_SELF);
    (void)state;

    assert_int_equal(tally.total.value_ns, 100 * MS);
    assert_int_equal(find(&rows, "running", 0)->self.value_ns, 100 * MS);
    assert_int_equal(find(&rows, "blocked", 0)->self.value_ns, 25 * MS);
    assert_int_equal(rows.base.value_ns, 125 * MS); /* all time, whatever the metric */
    cairn_rows_release(&rows);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* Callers add up to the function's total, callees and itself too, however often it recurs. */
static void test_callers_and_callees_are_partitions(void **state)
{
    static const char *const frames[] = {"a /u/m.py:1", "b /u/m.py:2", "c /u/m.py:3",
                                         "d /u/m.py:4"};
    (void)state;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cairn_rows callers, callees, self;
        uint64_t caller_ns = 0, k = 0, leaf_ticks = 0, with_a = 0, called[4] = {0};
        struct cairn_model *model;
        struct cairn_tally tally;
        struct story story;
        unsigned thread;

        story_begin(&story, NULL, 1);
        thread = story_thread(&story, 10, 10, "MainThread");
        for (int i = 0; i < 60; i++) {
            unsigned depth = 1 + (unsigned)(cairn_rng_at(seed, ++k) % 6), frame = 0;
            char stack[128] = "";
            unsigned callee = 0; /* behind the innermost a; 0: a itself */
            bool has_a = false;

            for (unsigned n = 0; n < depth; n++) {
                frame = (unsigned)(cairn_rng_at(seed, ++k) % 4);
                if (frame == 0)
                    callee = 0;
                else if (has_a && callee == 0)
                    callee = frame;
                has_a |= frame == 0;
                snprintf(stack + strlen(stack), sizeof(stack) - strlen(stack), "%s%s", n ? ";" : "",
                         frames[frame]);
            }
            with_a += has_a;
            called[callee] += has_a;
            leaf_ticks += frame == 0;
            story_tick(&story, MS);
            story_sample(&story, thread, stack, 1, MS);
        }
        model = story_end(&story);
        tally = tally_by(model, CAIRN_METRIC_WALL);
        assert_int_equal(cairn_rows_callers(&tally, "a", &callers, &callees, &self, NULL), 0);
        for (size_t i = 0; i < callers.count; i++)
            caller_ns += callers.items[i].total.value_ns;
        for (size_t i = 0; i < callees.count; i++)
            assert_int_equal(callees.items[i].total.ticks,
                             called[callees.items[i].qualname.data[0] - 'a']);
        assert_int_equal(callees.count, (called[1] > 0) + (called[2] > 0) + (called[3] > 0));
        assert_int_equal(self.count, 1);
        assert_int_equal(self.items[0].self.ticks, leaf_ticks);
        assert_int_equal(self.items[0].total.ticks, with_a);
        assert_int_equal(caller_ns, with_a * MS);
        assert_int_equal(callers.base.value_ns, with_a * MS);
        assert_int_equal(called[0], leaf_ticks);
        cairn_rows_release(&callers);
        cairn_rows_release(&callees);
        cairn_rows_release(&self);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
}

static void test_who_is_asked_for(void **state)
{
    struct cairn_model *model = puzzle();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_rows callers, callees, self;
    struct cairn_err err;
    (void)state;

    assert_int_equal(cairn_rows_callers(&tally, "fib", &callers, &callees, &self, &err), 0);
    assert_int_equal(find(&callers, "<module>", 0)->total.ticks, 100);
    assert_int_equal(find(&callers, "work", 0)->total.ticks, 24);
    assert_int_equal(find(&callees, "[torn]", 0)->total.ticks, 10);
    assert_int_equal(callees.count, 1); /* not itself */
    cairn_rows_release(&callers);
    cairn_rows_release(&callees);
    cairn_rows_release(&self);

    assert_int_equal(cairn_rows_callers(&tally, "^(fib|work)$", &callers, &callees, &self, &err),
                     0);
    assert_int_equal(self.count, 2);
    assert_int_equal(find(&callers, "_bootstrap", 0)->total.ticks, 24);
    cairn_rows_release(&callers);
    cairn_rows_release(&callees);
    cairn_rows_release(&self);

    assert_int_equal(cairn_rows_callers(&tally, "<module>", &callers, &callees, &self, &err), 0);
    assert_int_equal(find(&callers, "", 0)->total.ticks, 100);
    cairn_rows_release(&callers);
    cairn_rows_release(&callees);
    cairn_rows_release(&self);

    assert_int_equal(cairn_rows_callers(&tally, "nobody", &callers, &callees, &self, &err),
                     -CAIRN_ENOTFOUND);
    assert_int_equal(cairn_rows_callers(&tally, "(", &callers, &callees, &self, &err),
                     -CAIRN_EUSAGE);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_a_few_samples_rank_nothing(void **state)
{
    static const struct {
        int ticks, of_f;
        bool rankable;
    } cases[] = {{5, 3, false}, {5, 5, false}, {12, 12, true}, {30, 15, false}, {60, 30, true}};
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_model *model;
        struct cairn_tally tally;
        struct cairn_rows rows;
        struct story story;
        unsigned thread;

        story_begin(&story, NULL, 1);
        thread = story_thread(&story, 10, 10, "MainThread");
        for (int tick = 0; tick < cases[i].ticks; tick++) {
            story_tick(&story, MS);
            story_sample(&story, thread, tick < cases[i].of_f ? "f /u/a.py:1" : "g /u/a.py:2", 1,
                         MS);
        }
        model = story_end(&story);
        tally = tally_by(model, CAIRN_METRIC_WALL);
        rows = rows_of(&tally, CAIRN_BY_FUNCTION, CAIRN_SORT_SELF);
        assert_int_equal(rows.rankable, cases[i].rankable);
        assert_int_equal(rows.samples_wanted <= (uint64_t)cases[i].ticks, cases[i].rankable);
        cairn_rows_release(&rows);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
}

/* Threads that are looked at together are no draws of their own: more samples are wanted. */
static void test_more_threads_want_more_samples(void **state)
{
    uint64_t wanted[2];
    (void)state;

    for (unsigned more = 0; more < 2; more++) {
        struct cairn_model *model;
        struct cairn_tally tally;
        struct cairn_rows rows;
        struct story story;

        story_begin(&story, NULL, 1);
        story_thread(&story, 10, 10, "MainThread");
        story_thread(&story, 10, 11, "worker");
        for (int tick = 0; tick < 10; tick++) {
            story_tick(&story, MS);
            for (unsigned i = 0; i <= more; i++)
                story_sample(&story, i, tick % 2 ? "f /u/a.py:1" : "g /u/a.py:2", 1, MS);
        }
        model = story_end(&story);
        tally = tally_by(model, CAIRN_METRIC_WALL);
        rows = rows_of(&tally, CAIRN_BY_FUNCTION, CAIRN_SORT_SELF);
        wanted[more] = rows.samples_wanted;
        cairn_rows_release(&rows);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
    assert_in_range(wanted[0], 35, 45);
    assert_in_range(wanted[1], 2 * wanted[0] - 2, 2 * wanted[0] + 2);
}

static void test_nothing_kept_is_no_rows(void **state)
{
    struct cairn_model *model = puzzle();
    struct cairn_filter filter;
    struct cairn_tally tally;
    (void)state;

    cairn_filter_init(&filter);
    filter.focus = (struct cairn_patterns){(const char *const[]){"nothing like this"}, 1};
    assert_int_equal(cairn_tally_make(model, &filter, &tally, NULL), 0);
    for (int by = 0; by < CAIRN_BY_COUNT; by++) {
        struct cairn_rows rows = rows_of(&tally, (enum cairn_by)by, CAIRN_SORT_SELF);

        assert_int_equal(rows.count, 0);
        assert_false(rows.rankable);
        cairn_rows_release(&rows);
    }
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_grouping_adds_up),
        cmocka_unit_test(test_recursion_counts_once),
        cmocka_unit_test(test_states_are_a_partition),
        cmocka_unit_test(test_callers_and_callees_are_partitions),
        cmocka_unit_test(test_who_is_asked_for),
        cmocka_unit_test(test_a_few_samples_rank_nothing),
        cmocka_unit_test(test_more_threads_want_more_samples),
        cmocka_unit_test(test_nothing_kept_is_no_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
