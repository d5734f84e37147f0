#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "reader.h"
#include "samples.h"
#include "story.h"

#define MS 1000000u
#define TICKS 6

/* What the thread of number 10 ran in each tick from `first` on; nobody else ran. */
static void check_running(struct cairn_model *model, uint64_t first, const uint64_t want_ms[TICKS])
{
    const struct cairn_thread *threads;
    struct cairn_samples *samples;
    struct cairn_sample sample;

    cairn_model_threads(model, &threads);
    assert_int_equal(
        cairn_samples_open(model, STORY_START_NS + first * MS, UINT64_MAX, &samples, NULL), 0);
    for (uint64_t i = first; i < TICKS; i++) {
        for (int k = 0; k < 2; k++) {
            uint64_t running_ns, number;

            assert_int_equal(cairn_samples_next(samples, &sample), 0);
            running_ns = sample.state_ns[CAIRN_STATE_RUNNING];
            number = (sample.last_ns - STORY_START_NS) / MS - 1;
            assert_int_equal(running_ns,
                             threads[sample.thread].tid == 10 ? want_ms[number] * MS : 0);
            assert_int_equal(running_ns + sample.state_ns[CAIRN_STATE_BLOCKED], MS);
        }
    }
    assert_int_equal(cairn_samples_next(samples, &sample), -CAIRN_EEND);
    assert_int_equal(cairn_samples_next(samples, &sample), -CAIRN_EEND);
    assert_int_equal(cairn_samples_ticks(samples), TICKS - first);
    cairn_samples_free(samples);
}

/* Time seen to run that a row has no room for goes to the thread's next rows; nothing is lost but
 * what is left at the very end. */
static void test_what_does_not_fit_is_carried_on(void **state)
{
    static const uint64_t cpu_ms[TICKS] = {3, 0, 1, 0, 0, 2};
    static const uint64_t want_ms[TICKS] = {1, 1, 1, 1, 0, 1};
    struct cairn_model *model;
    struct story story;
    unsigned threads[2];
    (void)state;

    story_begin(&story, NULL, 1);
    threads[0] = story_thread(&story, 10, 10, "a");
    threads[1] = story_thread(&story, 10, 11, "b");
    for (int i = 0; i < TICKS; i++) {
        story_tick(&story, MS);
        story_sample(&story, threads[0], "f /u/a.py:1", 1, cpu_ms[i] * MS);
        story_sample(&story, threads[1], "f /u/a.py:1", 1, 0); /* another's time stays apart */
        if (i == 2)
            story_flush(&story); /* and goes over the edge of a chunk */
    }
    model = story_end(&story);
    check_running(model, 0, want_ms);
    check_running(model, 3, want_ms); /* the first chunk does not touch that */
    cairn_model_free(model);
}

/* A long row is cut at ticks, its time in proportion. */
static void test_rows_are_cut_at_ticks(void **state)
{
    static const struct {
        uint64_t from_ms, to_ms, ticks, first_ms, last_ms, running_ms;
    } cases[] = {
        {0, 100, 10, 0, 20, 10}, {0, 4, 2, 0, 4, 2}, {4, 8, 2, 4, 8, 2},
        {5, 8, 2, 4, 8, 2},      {5, 9, 2, 4, 8, 2}, {19, 99, 1, 18, 20, 1},
    };
    struct cairn_model *model;
    struct story story;
    unsigned thread;
    (void)state;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "a");
    for (int i = 0; i < 10; i++)
        story_tick(&story, 2 * MS);
    story_sample(&story, thread, "f /u/a.py:1", 10, 10 * MS);
    model = story_end(&story);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_samples *samples;
        struct cairn_sample sample;

        assert_int_equal(cairn_samples_open(model, STORY_START_NS + cases[i].from_ms * MS,
                                            STORY_START_NS + cases[i].to_ms * MS, &samples, NULL),
                         0);
        assert_int_equal(cairn_samples_next(samples, &sample), 0);
        assert_int_equal(sample.ticks, cases[i].ticks);
        assert_int_equal(sample.first_ns, STORY_START_NS + cases[i].first_ms * MS);
        assert_int_equal(sample.last_ns, STORY_START_NS + cases[i].last_ms * MS);
        assert_int_equal(sample.state_ns[CAIRN_STATE_RUNNING], cases[i].running_ms * MS);
        assert_int_equal(sample.state_ns[CAIRN_STATE_RUNNING] +
                             sample.state_ns[CAIRN_STATE_BLOCKED],
                         sample.last_ns - sample.first_ns);
        assert_int_equal(cairn_samples_next(samples, &sample), -CAIRN_EEND);
        assert_int_equal(cairn_samples_ticks(samples), cases[i].ticks);
        cairn_samples_free(samples);
    }
    cairn_model_free(model);
}

/* One row in more windows than a batch holds, each of 2 ticks in 5; and one of another thread,
 * which has no window, of a third, which has one that holds no tick. */
static void test_rows_are_cut_into_windows(void **state)
{
    enum { WINDOWS = 200, WINDOW_TICKS = 5 * WINDOWS };
    struct cairn_window items[WINDOWS + 1];
    size_t firsts[4] = {0};
    struct cairn_windows windows = {items, firsts};
    struct cairn_samples *samples;
    struct cairn_sample sample;
    struct cairn_model *model;
    struct story story;
    unsigned threads[3];
    (void)state;

    story_begin(&story, NULL, 1);
    for (unsigned i = 0; i < 3; i++)
        threads[i] = story_thread(&story, 10, 10 + i, "a");
    for (int i = 0; i < WINDOW_TICKS; i++)
        story_tick(&story, MS);
    for (unsigned i = 0; i < 3; i++)
        story_sample(&story, threads[i], "f /u/a.py:1", WINDOW_TICKS, 0);
    model = story_end(&story);
    for (uint64_t i = 0; i < WINDOWS; i++) /* ticks 5i+2 and 5i+3, counted from 1 */
        items[i] = (struct cairn_window){STORY_START_NS + (5 * i + 1) * MS,
                                         STORY_START_NS + (5 * i + 3) * MS + MS / 2};
    items[WINDOWS] =
        (struct cairn_window){STORY_START_NS + 7 * MS + 1, STORY_START_NS + 8 * MS - 1};
    firsts[1] = firsts[2] = WINDOWS;
    firsts[3] = WINDOWS + 1;

    assert_int_equal(cairn_samples_open(model, 0, UINT64_MAX, &samples, NULL), 0);
    cairn_samples_within(samples, &windows);
    for (uint64_t i = 0; i < WINDOWS; i++) {
        assert_int_equal(cairn_samples_next(samples, &sample), 0);
        assert_int_equal(sample.thread, 0);
        assert_int_equal(sample.ticks, 2);
        assert_int_equal(sample.tick, 5 * i + 1);
        assert_int_equal(sample.first_ns, STORY_START_NS + (5 * i + 1) * MS);
        assert_int_equal(sample.last_ns, STORY_START_NS + (5 * i + 3) * MS);
        assert_int_equal(sample.times_ns[1], sample.last_ns);
        assert_int_equal(sample.state_ns[CAIRN_STATE_BLOCKED], 2 * MS);
    }
    assert_int_equal(cairn_samples_next(samples, &sample), -CAIRN_EEND);
    assert_int_equal(cairn_samples_ticks(samples), WINDOW_TICKS);
    cairn_samples_free(samples);
    cairn_model_free(model);
}

static void write_row(struct story *story, const struct cairn_column_def *columns, size_t count,
                      const uint64_t *values)
{
    assert_int_equal(cairn_writer_row(story->writer, CAIRN_ROW_SAMPLE, columns, count, values), 0);
}

/* A row says when its rest is not blocked time; without a cpu column nobody knows what it is. */
static void test_the_rest_has_the_state_it_is_given(void **state)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_RLE},    {"tick", "index", CAIRN_ENC_RLE},
        {"ticks", "count", CAIRN_ENC_RLE}, {"stack", "id", CAIRN_ENC_RLE},
        {"cpu", "quanta", CAIRN_ENC_RLE},  {"runq", "quanta", CAIRN_ENC_RLE},
        {"state", "", CAIRN_ENC_RLE},
    };
    static const enum cairn_state want[] = {CAIRN_STATE_BLOCKED, CAIRN_STATE_STOPPED,
                                            CAIRN_STATE_UNKNOWN, CAIRN_STATE_GIL_WAIT,
                                            CAIRN_STATE_UNKNOWN};
    const uint64_t kinds = sizeof(want) / sizeof(want[0]);
    (void)state;

    for (uint64_t given = 0; given <= kinds; given++) {
        struct cairn_samples *samples;
        struct cairn_sample sample;
        struct cairn_model *model;
        struct story story;
        unsigned thread;

        story_begin(&story, NULL, 1);
        thread = story_thread(&story, 10, 10, "a");
        story_tick(&story, MS);
        const uint64_t values[] = {story.threads[thread], 0, 1, 0, 250, 250, given};
        write_row(&story, columns, given < kinds ? 7 : 4, values);
        model = story_end(&story);
        assert_int_equal(cairn_samples_open(model, 0, UINT64_MAX, &samples, NULL), 0);
        assert_int_equal(cairn_samples_next(samples, &sample), 0);
        if (given < kinds) {
            assert_int_equal(sample.state_ns[CAIRN_STATE_RUNNING], MS / 4);
            assert_int_equal(sample.state_ns[CAIRN_STATE_RUNNABLE], MS / 4);
            assert_int_equal(sample.state_ns[want[given]], MS / 2);
        } else {
            assert_int_equal(sample.state_ns[CAIRN_STATE_UNKNOWN], MS);
        }
        cairn_samples_free(samples);
        cairn_model_free(model);
    }
}

/* A chunk that our writer would not write: one tick, one row of any numbers. */
static void append_row(struct story *story, const uint64_t *values, size_t count)
{
    static const char *const names[] = {"track", "tick", "ticks", "stack", "cpu"};
    struct cairn_buf ticks, rows, sections;

    cairn_buf_init(&ticks, 1000);
    cairn_buf_init(&rows, 1000);
    cairn_buf_init(&sections, 1000);
    cairn_buf_u64(&ticks, 1);                 /* seed, then mean, quantum, before, base, number, */
    cairn_buf_add(&ticks, "\0\1\1\2\1\1", 6); /* count, a run of {0 missed, 1 tick}, delay */
    cairn_buf_add(&ticks, "\0\1\0", 3);
    cairn_buf_uvarint(&rows, CAIRN_ROW_SAMPLE);
    cairn_buf_uvarint(&rows, count);
    for (size_t i = 0; i < count; i++) {
        cairn_buf_bytes(&rows, (struct cairn_span){(const uint8_t *)names[i], strlen(names[i])});
        cairn_buf_uvarint(&rows, 0);
        cairn_buf_u8(&rows, CAIRN_ENC_UVARINT);
    }
    cairn_buf_uvarint(&rows, 1);
    for (size_t i = 0; i < count; i++) {
        struct cairn_buf column;

        cairn_buf_init(&column, 16);
        cairn_buf_uvarint(&column, values[i]);
        cairn_buf_bytes(&rows, cairn_buf_span(&column));
        cairn_buf_release(&column);
    }
    cairn_buf_uvarint(&sections, CAIRN_SECTION_TICKS << 1 | 1);
    cairn_buf_bytes(&sections, cairn_buf_span(&ticks));
    cairn_buf_uvarint(&sections, CAIRN_SECTION_ROWS << 1 | 1);
    assert_int_equal(cairn_buf_bytes(&sections, cairn_buf_span(&rows)), 0);
    assert_int_equal(cairn_sink_append(story->sink, CAIRN_CHUNK_DATA, 1, 2, 2, 0,
                                       cairn_buf_span(&sections), NULL),
                     0);
    cairn_buf_release(&ticks);
    cairn_buf_release(&rows);
    cairn_buf_release(&sections);
}

/* Rows that name what is not there: counted, and no number of theirs is believed. */
static void test_rows_into_nothing_are_counted(void **state)
{
    static const uint64_t huge = UINT64_MAX;
    static const struct {
        uint64_t track, tick, ticks, stack;
        uint64_t samples, unknown;
    } cases[] = {
        {0, 0, 1, 0, 1, 0},                         /* as it should be */
        {77, 0, 1, 0, 1, 1}, {huge, 0, 1, 0, 1, 1}, /* no such track */
        {0, 1, 1, 0, 0, 1},  {0, huge, 2, 0, 0, 1},
        {0, 0, 2, 0, 0, 1}, /* no such tick */
        {0, 0, 0, 0, 0, 1},  {0, 0, huge, 0, 0, 1},
        {0, 0, 1, 77, 1, 1}, {0, 0, 1, (uint64_t)1 << 32, 1, 1}, /* no such stack */
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_model *model;
        struct story story;
        unsigned thread;

        story_begin(&story, NULL, 1);
        thread = story_thread(&story, 10, 10, "a");
        story_flush(&story);
        const uint64_t values[] = {cases[i].track ? cases[i].track : story.threads[thread],
                                   cases[i].tick, cases[i].ticks, cases[i].stack, huge};
        append_row(&story, values, 5);
        model = story_end(&story);
        assert_int_equal(cairn_model_quality(model)->samples, cases[i].samples);
        assert_int_equal(cairn_model_quality(model)->unknown_refs, cases[i].unknown);
        assert_int_equal(cairn_model_quality(model)->damaged_chunks, 0);
        cairn_model_free(model);
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(cairn_metric_name(CAIRN_METRIC_GIL_WAIT), "gil-wait");
    assert_string_equal(cairn_state_name(CAIRN_STATE_GIL_WAIT), "gil_wait");
}

/* Overwrites the payload of the first chunk whose tracks share a bit with `mask`, so that whoever
 * unpacks it finds it damaged. */
static void spoil_chunk(const char *path, uint64_t mask)
{
    static const uint8_t junk[16] = {0};
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    struct cairn_reader *reader;
    size_t at = 0;

    assert_true(fd >= 0);
    assert_int_equal(cairn_reader_open(path, &reader, NULL), 0);
    while (!(cairn_reader_chunk(reader, at)->track_mask & mask))
        at++;
    assert_int_equal(pwrite(fd, junk, sizeof(junk),
                            (off_t)cairn_reader_chunk(reader, at)->offset + CAIRN_HEADER_BYTES),
                     sizeof(junk));
    cairn_reader_free(reader);
    close(fd);
}

/* Counts the samples and ticks of the chosen threads. */
static uint64_t count_chosen(const struct cairn_model *model, const bool *chosen, uint64_t from_ms,
                             uint64_t *ret_ticks)
{
    struct cairn_samples *samples;
    struct cairn_sample sample;
    uint64_t count = 0;

    assert_int_equal(cairn_samples_open(model, from_ms ? STORY_START_NS + from_ms * MS : 0,
                                        UINT64_MAX, &samples, NULL),
                     0);
    if (chosen)
        assert_int_equal(cairn_samples_choose(samples, chosen), 0);
    while (cairn_samples_next(samples, &sample) == 0) {
        assert_true(!chosen || chosen[sample.thread]);
        count += sample.ticks;
    }
    *ret_ticks = cairn_samples_ticks(samples);
    cairn_samples_free(samples);
    return count;
}

/* A chunk without a chosen thread is not even unpacked, and its ticks count all the same. */
static void test_chunks_of_others_are_passed_over(void **state)
{
    static const bool both[] = {true, true};
    struct cairn_model *model;
    struct story story;
    const struct cairn_thread *model_threads;
    bool second[2] = {false, false};
    char path[64];
    const char *paths[] = {path};
    unsigned threads[2];
    uint64_t ticks;
    (void)state;

    snprintf(path, sizeof(path), "/tmp/cairn-samples-%d", (int)getpid());
    story_begin(&story, path, 1);
    threads[0] = story_thread(&story, 10, 10, "a");
    threads[1] = story_thread(&story, 10, 11, "b");
    story_flush(&story);
    for (int chunk = 0; chunk < 3; chunk++) { /* a alone, b alone, both */
        for (int i = 0; i < 10; i++) {
            story_tick(&story, MS);
            for (int who = 0; who < 2; who++)
                if (chunk == who || chunk == 2)
                    story_sample(&story, threads[who], "f /u/a.py:1", 1, 0);
        }
        story_flush(&story);
    }
    story_end(&story);
    assert_int_equal(cairn_model_load(paths, 1, &model, NULL), 0);
    assert_int_equal(cairn_model_threads(model, &model_threads), 2);
    second[model_threads[1].tid == 11] = true;
    assert_int_equal(count_chosen(model, NULL, 0, &ticks), 40);
    assert_int_equal(ticks, 30);
    assert_int_equal(count_chosen(model, both, 0, &ticks), 40);
    assert_int_equal(ticks, 30);
    spoil_chunk(path, UINT64_C(1) << story.threads[threads[0]] % 64);
    assert_int_equal(count_chosen(model, NULL, 0, &ticks), 30);
    assert_int_equal(ticks, 20);
    assert_int_equal(count_chosen(model, second, 0, &ticks), 20);
    assert_int_equal(ticks, 30);
    /* Cut by the chosen time it must be looked at, for its ticks. */
    assert_int_equal(count_chosen(model, second, 5, &ticks), 20);
    assert_int_equal(ticks, 20);
    cairn_model_free(model);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_does_not_fit_is_carried_on),
        cmocka_unit_test(test_rows_are_cut_at_ticks),
        cmocka_unit_test(test_rows_are_cut_into_windows),
        cmocka_unit_test(test_the_rest_has_the_state_it_is_given),
        cmocka_unit_test(test_rows_into_nothing_are_counted),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_chunks_of_others_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
