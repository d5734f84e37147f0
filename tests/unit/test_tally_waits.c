/* What threads waited for, and what held meanwhile: the GIL, the collector, exceptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format.h"
#include "story.h"
#include "tallied.h"

#define MS 1000000u

#define LIB "/usr/lib/python3.12/"

static void assert_blocker(const struct cairn_tally *tally, size_t index, const char *text,
                           uint64_t waited_ms, uint64_t idle_ms)
{
    const struct cairn_blocker *blocker = &tally->blockers.items[index];

    assert_true(index < tally->blockers.count);
    assert_int_equal(blocker->text.size_bytes, strlen(text));
    assert_memory_equal(blocker->text.data, text, strlen(text));
    assert_int_equal(blocker->waited_ns, waited_ms * MS);
    assert_int_equal(blocker->idle_ns, idle_ms * MS);
}

/* Two threads over 10 ms: one holds the GIL and collects garbage for 6 of them, one waits for the
 * GIL and for a socket, and then for work. */
static struct cairn_model *gil_story(void)
{
    struct story story;
    unsigned a, b;

    story_begin(&story, NULL, 1);
    a = story_thread(&story, 10, 10, "a");
    b = story_thread(&story, 10, 11, "b");
    for (int i = 0; i < 6; i++)
        story_tick(&story, MS);
    story_wait(&story, a, "f /u/a.py:1", 6, CAIRN_SAMPLE_BLOCKED,
               CAIRN_OVERLAY_GIL_HELD | CAIRN_OVERLAY_GC, "read pipe");
    story_wait(&story, b, "g /u/a.py:9", 6, CAIRN_SAMPLE_GIL_WAIT, CAIRN_OVERLAY_EXCEPTION_UNKNOWN,
               "futex GIL");
    for (int i = 0; i < 3; i++)
        story_tick(&story, MS);
    story_wait(&story, a, "f /u/a.py:1", 3, CAIRN_SAMPLE_BLOCKED, CAIRN_OVERLAY_EXCEPTION, "");
    story_wait(&story, b, "g /u/a.py:9", 3, CAIRN_SAMPLE_BLOCKED, CAIRN_OVERLAY_GIL_HELD,
               "recvfrom socket 127.0.0.1:80");
    story_tick(&story, MS);
    story_wait(&story, b, "g /u/a.py:9;get " LIB "queue.py:154", 1, CAIRN_SAMPLE_BLOCKED, 0,
               "futex lock 0x10");
    return story_end(&story);
}

static void test_the_gil_is_a_metric_and_a_state(void **state)
{
    struct cairn_model *model = gil_story();
    struct cairn_filter filter;
    struct cairn_tally tally;
    (void)state;

    cairn_filter_init(&filter);
    filter.metric = CAIRN_METRIC_GIL;
    tally = tally_of(model, &filter);
    assert_closed(&tally);
    assert_true(tally.known);
    assert_int_equal(tally.total.value_ns, 9 * MS);
    assert_int_equal(tally.cells[0].weight.value_ns, 6 * MS);
    assert_int_equal(tally.cells[1].weight.value_ns, 3 * MS);
    cairn_tally_release(&tally);

    filter.metric = CAIRN_METRIC_GIL_WAIT;
    tally = tally_of(model, &filter);
    assert_closed(&tally);
    assert_true(tally.known);
    assert_int_equal(tally.total.value_ns, 6 * MS);
    assert_int_equal(tally.state_ns[CAIRN_STATE_GIL_WAIT], 6 * MS);
    assert_int_equal(tally.state_ns[CAIRN_STATE_BLOCKED], 13 * MS);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_overlays_lie_over_the_states(void **state)
{
    static const uint64_t want_ms[CAIRN_OVERLAY_COUNT] = {9, 6, 3};
    struct cairn_model *model = gil_story();
    struct cairn_tally tally = tally_of(model, NULL);
    struct cairn_filter filter;
    (void)state;

    for (unsigned i = 0; i < CAIRN_OVERLAY_COUNT; i++)
        assert_int_equal(tally.overlay_ns[i], want_ms[i] * MS);
    assert_int_equal(tally.overlay_unknown_ns[0], 0);
    assert_int_equal(tally.overlay_unknown_ns[2], 6 * MS);
    cairn_tally_release(&tally);
    for (unsigned i = 0; i < CAIRN_OVERLAY_COUNT; i++) {
        cairn_filter_init(&filter);
        filter.overlays = 1u << i;
        tally = tally_of(model, &filter);
        assert_closed(&tally);
        assert_int_equal(tally.total.value_ns, want_ms[i] * MS);
        assert_int_equal(tally.overlay_ns[i], want_ms[i] * MS);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
}

/* The longest first, idle waiting left out; and what a filter leaves is all that is told. */
static void test_what_was_waited_for_is_told(void **state)
{
    struct cairn_model *model = gil_story();
    struct cairn_tally tally = tally_of(model, NULL);
    struct cairn_filter filter;
    (void)state;

    assert_int_equal(tally.blockers.count, 5);
    assert_blocker(&tally, 0, "futex GIL", 6, 0);
    assert_blocker(&tally, 1, "read pipe", 6, 0);
    assert_blocker(&tally, 2, "", 3, 0);
    assert_blocker(&tally, 3, "recvfrom socket 127.0.0.1:80", 3, 0);
    assert_blocker(&tally, 4, "futex lock 0x10", 1, 1);
    cairn_tally_release(&tally);
    cairn_filter_init(&filter);
    filter.thread = "a";
    tally = tally_of(model, &filter);
    assert_int_equal(tally.blockers.count, 2);
    assert_blocker(&tally, 0, "read pipe", 6, 0);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* A recording without those columns: n/a with the reason, not 0. */
static void test_what_was_not_told_is_not_known(void **state)
{
    static const enum cairn_metric metrics[] = {CAIRN_METRIC_GIL, CAIRN_METRIC_GIL_WAIT};
    struct cairn_model *model;
    struct story story;
    unsigned thread;
    (void)state;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "a");
    story_tick(&story, MS);
    story_sample(&story, thread, "f /u/a.py:1", 1, MS / 2);
    model = story_end(&story);
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        struct cairn_filter filter;
        struct cairn_tally tally;

        cairn_filter_init(&filter);
        filter.metric = metrics[i];
        tally = tally_of(model, &filter);
        assert_false(tally.known);
        assert_non_null(tally.why);
        assert_int_equal(tally.overlay_unknown_ns[0], MS);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gil_is_a_metric_and_a_state),
        cmocka_unit_test(test_overlays_lie_over_the_states),
        cmocka_unit_test(test_what_was_waited_for_is_told),
        cmocka_unit_test(test_what_was_not_told_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
