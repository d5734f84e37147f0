#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "story.h"
#include "tallied.h"
#include "tallies.h"

#define MS 1000000u
#define TICKS 4000
#define THREADS 3

/* Threads that run, wait for a processor, for the GIL, for work, and outside Python, unevenly. */
static struct cairn_model *recording(bool with_overlays)
{
    static const char *const stacks[] = {
        "<module> /u/a.py:1;f /u/a.py:3",
        "<module> /u/a.py:1;g /u/a.py:9;f /u/a.py:3",
        "<module> /u/a.py:1;get /usr/lib/python3.11/queue.py:9",
        "",
        "<module> /u/a.py:1;[torn]",
    };
    unsigned threads[THREADS];
    struct story story;

    story_begin(&story, NULL, 1);
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = story_thread(&story, 10, 10 + i, "a");
    for (unsigned tick = 0; tick < TICKS; tick++) {
        story_tick(&story, MS + tick % 7 * 1000);
        for (unsigned i = 0; i < THREADS; i++) {
            const char *stack = stacks[(tick / 3 + i * tick) % 5];
            uint64_t cpu_ns = (tick + i) % 5 * 125000u;

            if (with_overlays)
                story_wait(&story, threads[i], stack, 1, (tick + i) % 4, (tick * 5 + i) % 16,
                           tick % 2 ? "read pipe" : "");
            else
                story_sample(&story, threads[i], stack, 1, cpu_ns);
        }
        if (tick % 500 == 499)
            story_flush(&story);
    }
    return story_end(&story);
}

static void assert_same_weight(const struct cairn_weight *a, const struct cairn_weight *b)
{
    assert_int_equal(a->ticks, b->ticks);
    assert_int_equal(a->value_ns, b->value_ns);
}

static void assert_same_cells(const struct cairn_cell *a, const struct cairn_cell *b, size_t count,
                              const struct cairn_strips *strips_a,
                              const struct cairn_strips *strips_b)
{
    assert_int_equal(strips_a->count, strips_b->count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(cairn_cell_compare(&a[i], &b[i]), 0);
        assert_same_weight(&a[i].weight, &b[i].weight);
        assert_same_weight(&a[i].idle, &b[i].idle);
        assert_memory_equal(a[i].state_ns, b[i].state_ns, sizeof(a[i].state_ns));
        assert_int_equal(a[i].idle_blocked_ns, b[i].idle_blocked_ns);
        for (unsigned strip = 0; strip < strips_a->count; strip++)
            for (int idle = 0; idle < 2; idle++)
                assert_true(cairn_strips_at(strips_a, a[i].strips_item[idle], strip) ==
                            cairn_strips_at(strips_b, b[i].strips_item[idle], strip));
    }
}

static void assert_same(const struct cairn_tally *a, const struct cairn_tally *b)
{
    assert_int_equal(a->known, b->known);
    assert_ptr_equal(a->why, b->why);
    assert_int_equal(a->counted, b->counted);
    assert_int_equal(a->cell_count, b->cell_count);
    assert_int_equal(a->thread_cell_count, b->thread_cell_count);
    assert_same_cells(a->cells, b->cells, a->cell_count, &a->strips, &b->strips);
    assert_same_cells(a->thread_cells, b->thread_cells, a->thread_cell_count, &a->thread_strips,
                      &b->thread_strips);
    assert_same_weight(&a->total, &b->total);
    assert_same_weight(&a->idle, &b->idle);
    assert_memory_equal(a->state_ns, b->state_ns, sizeof(a->state_ns));
    assert_memory_equal(a->overlay_ns, b->overlay_ns, sizeof(a->overlay_ns));
    assert_memory_equal(a->overlay_unknown_ns, b->overlay_unknown_ns,
                        sizeof(a->overlay_unknown_ns));
    assert_int_equal(a->looked_at_ns, b->looked_at_ns);
    assert_int_equal(a->wait_unknown_ns, b->wait_unknown_ns);
    assert_int_equal(a->ticks, b->ticks);
    assert_int_equal(a->first_ns, b->first_ns);
    assert_int_equal(a->last_ns, b->last_ns);
    assert_int_equal(a->slice_ns, b->slice_ns);
    assert_int_equal(a->torn, b->torn);
    assert_memory_equal(a->draws, b->draws, sizeof(a->draws)); /* bit for bit */
    assert_int_equal(a->blockers.count, b->blockers.count);
    for (size_t i = 0; i < a->blockers.count; i++)
        assert_int_equal(a->blockers.items[i].waited_ns, b->blockers.items[i].waited_ns);
}

static void check(const struct cairn_model *model, const struct cairn_filter *filter)
{
    struct cairn_tallies *tallies;
    struct cairn_tally wall;

    assert_int_equal(cairn_tallies_make(model, filter, SIZE_MAX, &tallies, &wall, NULL), 0);
    for (int metric = 0; metric < CAIRN_METRIC_SAMPLED; metric++) {
        struct cairn_filter alone = *filter;
        struct cairn_tally one, other;

        alone.metric = (enum cairn_metric)metric;
        one = tally_of(model, &alone);
        if (metric == CAIRN_METRIC_WALL) {
            assert_same(&one, &wall);
        } else {
            assert_int_equal(cairn_tallies_take(tallies, (enum cairn_metric)metric, &other, NULL),
                             0);
            assert_same(&one, &other);
            cairn_tally_release(&other);
        }
        cairn_tally_release(&one);
    }
    cairn_tallies_free(tallies);
    cairn_tally_release(&wall);
}

static void test_each_metric_is_what_a_pass_of_its_own_says(void **state)
{
    (void)state;

    for (int with_overlays = 0; with_overlays < 2; with_overlays++) {
        struct cairn_model *model = recording(with_overlays);
        struct cairn_filter filter;

        cairn_filter_init(&filter);
        check(model, &filter);
        filter.threads_joined = true;
        check(model, &filter);
        filter.only_my_code = true;
        check(model, &filter);
        filter.only_my_code = false;
        filter.overlays = CAIRN_OVERLAY_GC | CAIRN_OVERLAY_EXCEPTION;
        check(model, &filter);
        filter.overlays = 0;
        filter.focus = (struct cairn_patterns){(const char *const[]){"g"}, 1};
        filter.from_ns = 300 * (uint64_t)MS;
        filter.to_ns = 2100 * (uint64_t)MS;
        check(model, &filter);
        cairn_model_free(model);
    }
}

static void test_too_many_cells_are_told_whenever_that_is_known(void **state)
{
    struct cairn_model *model = recording(false);
    struct cairn_tallies *tallies;
    struct cairn_filter filter;
    struct cairn_tally tally;
    size_t count;
    (void)state;

    cairn_filter_init(&filter);
    for (int folded = 0; folded < 2; folded++) {
        filter.only_my_code = folded;
        assert_int_equal(cairn_tally_make(model, &filter, &tally, NULL), 0);
        count = tally.cell_count;
        cairn_tally_release(&tally);
        assert_true(count > 1);
        assert_int_equal(cairn_tally_make_up_to(model, &filter, count - 1, &tally, NULL),
                         -CAIRN_ELIMIT);
        assert_int_equal(cairn_tallies_make(model, &filter, count - 1, &tallies, &tally, NULL),
                         -CAIRN_ELIMIT);
        assert_int_equal(cairn_tally_make_up_to(model, &filter, count, &tally, NULL), 0);
        cairn_tally_release(&tally);
        assert_int_equal(cairn_tallies_make(model, &filter, count, &tallies, &tally, NULL), 0);
        cairn_tallies_free(tallies);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_metric_is_what_a_pass_of_its_own_says),
        cmocka_unit_test(test_too_many_cells_are_told_whenever_that_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
