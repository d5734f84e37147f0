/* Rows of counted calls: what counting took of their times, where it was calibrated too high. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exactrows.h"
#include "story.h"
#include "tallied.h"

#define MS 1000000u

static const struct cairn_exact_line *line_of(const struct cairn_model *model,
                                              const struct cairn_exact_table *table,
                                              const char *name)
{
    const struct cairn_function *functions;

    cairn_model_functions(model, &functions);
    for (size_t i = 0; i < table->lines.count; i++) {
        struct cairn_span span = functions[table->lines.items[i].function].name;

        if (span.size_bytes == strlen(name) && memcmp(span.data, name, span.size_bytes) == 0)
            return &table->lines.items[i];
    }
    fail_msg("no row %s", name);
    return NULL;
}

/* main works for 10 ms and calls f 10,000 times, which takes 2 ms; as calibrated, counting added
 * `call_ns` to each call, half of it within. */
static struct cairn_model *counted(const char *costs)
{
    struct story story;
    unsigned thread;

    story_begin(&story, NULL, 1);
    story_env(&story, "counting.costs_ns", costs);
    thread = story_thread(&story, 10, 10, "MainThread");
    story_calls(&story, thread, "main /u/a.py:1", 1, 10 * MS, 12 * MS);
    story_calls(&story, thread, "main /u/a.py:1;f /u/a.py:9", 10000, 2 * MS, 2 * MS);
    return story_end(&story);
}

static void test_a_cost_is_taken_off(void **state)
{
    struct cairn_model *model = counted("200 100 0 0 0 0 0");
    struct cairn_tally tally = tally_of(model, NULL);
    struct cairn_exact_table table;

    (void)state;
    assert_int_equal(cairn_exact_table_make(&tally, CAIRN_SORT_SELF, &table), 0);
    assert_true(table.cost_known);
    assert_float_equal(table.cost_ns, 2 * MS, 1000);
    assert_float_equal(line_of(model, &table, "f")->self_cost_ns, 1 * MS, 1);
    assert_float_equal(line_of(model, &table, "main")->total_cost_ns, 2 * MS, 1000);
    assert_float_equal(cairn_exact_factor((double)table.self_ns, table.cost_ns), 12.0 / 10, 1e-3);
    cairn_exact_table_release(&table);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* On a machine that was slow while it calibrated the sum of the costs can be above all the time:
 * even so much cannot have been taken of a row than it has. */
static void test_a_cost_is_no_more_than_the_time(void **state)
{
    struct cairn_model *model = counted("1500 1000 0 0 0 0 0");
    struct cairn_tally tally = tally_of(model, NULL);
    struct cairn_exact_table table;

    (void)state;
    assert_int_equal(cairn_exact_table_make(&tally, CAIRN_SORT_SELF, &table), 0);
    assert_float_equal(line_of(model, &table, "f")->self_cost_ns, 2 * MS, 1);
    assert_float_equal(line_of(model, &table, "f")->total_cost_ns, 2 * MS, 1);
    assert_float_equal(line_of(model, &table, "main")->self_cost_ns, 5 * MS, 1000);
    assert_float_equal(line_of(model, &table, "main")->total_cost_ns, 12 * MS, 1);
    assert_float_equal(table.cost_ns, 7 * MS, 2000);
    assert_float_equal(cairn_exact_factor((double)table.self_ns - table.tracing_ns,
                                          table.cost_ns - table.tracing_ns),
                       12.0 / 5, 1e-2);
    assert_string_equal(cairn_exact_confidence(&table, line_of(model, &table, "f")), "poor");
    cairn_exact_table_release(&table);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* Where nothing is left of any row nobody can say how often longer it took. */
static void test_all_of_it_may_be_cost(void **state)
{
    struct cairn_model *model = counted("9000 1000 0 0 0 0 10");
    struct cairn_tally tally = tally_of(model, NULL);
    struct cairn_exact_table table;

    (void)state;
    assert_int_equal(cairn_exact_table_make(&tally, CAIRN_SORT_SELF, &table), 0);
    assert_true(table.cost_ns <= 12 * MS + 10000 && table.tracing_ns <= table.cost_ns);
    assert_true(isnan(cairn_exact_factor((double)table.self_ns, table.cost_ns)));
    cairn_exact_table_release(&table);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* 1,000 calls of f were timed, 9,000 counted alone; of g all. */
static void test_calls_without_times_are_told_apart(void **state)
{
    const uint64_t timed = CAIRN_TIMES_LET_GO, alone = CAIRN_TIMES_LET_GO | CAIRN_CALLS_UNTIMED;
    const struct cairn_exact_line *line;
    struct cairn_exact_table table;
    struct cairn_model *model;
    struct cairn_tally tally;
    struct story story;
    unsigned thread;

    (void)state;
    story_begin(&story, NULL, 1);
    story_env(&story, "counting.costs_ns", "200 100 0 0 0 0 0 20");
    thread = story_thread(&story, 10, 10, "MainThread");
    story_calls_left(&story, thread, "main /u/a.py:1", 1, 10 * MS, 12 * MS, 0);
    story_calls_left(&story, thread, "main /u/a.py:1;f /u/a.py:9", 1000, 1 * MS, 1 * MS, timed);
    story_calls_left(&story, thread, "main /u/a.py:1;f /u/a.py:9", 9000, 0, 0, alone);
    story_calls_left(&story, thread, "main /u/a.py:1;g /u/a.py:19", 10, 1 * MS, 1 * MS, 0);
    model = story_end(&story);
    tally = tally_of(model, NULL);
    assert_int_equal(cairn_exact_table_make(&tally, CAIRN_SORT_SELF, &table), 0);
    assert_int_equal(table.untimed, 1);
    assert_int_equal(table.let_go, 0);
    assert_true(cairn_exact_misses(&table));
    line = line_of(model, &table, "f");
    assert_int_equal(line->calls, 10000);
    assert_int_equal(line->untimed_calls, 9000);
    assert_true(cairn_exact_counts_all(&table, line));
    assert_true(cairn_exact_is_untimed(line));
    assert_false(cairn_exact_is_whole(&table, line));
    assert_true(cairn_exact_is_whole(&table, line_of(model, &table, "g")));
    /* What counting them took lies in main, and none of it in what was timed. */
    assert_float_equal(line->self_cost_ns, 1000 * 100, 1);
    assert_float_equal(line_of(model, &table, "main")->self_cost_ns, 100 + 1010 * 100 + 9000 * 20,
                       1);
    cairn_exact_table_release(&table);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cost_is_taken_off),
        cmocka_unit_test(test_a_cost_is_no_more_than_the_time),
        cmocka_unit_test(test_all_of_it_may_be_cost),
        cmocka_unit_test(test_calls_without_times_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
