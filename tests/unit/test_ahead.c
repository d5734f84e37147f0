#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "samples.h"
#include "scratch.h"
#include "story.h"

#define MS 1000000u
#define CHUNKS 80
#define TICKS_A_CHUNK 300
#define THREADS 9 /* a block is more than one slot, and ends within one */
#define SAMPLES (CHUNKS * TICKS_A_CHUNK * THREADS)

/* `path` NULL: in memory, and loaded. */
static struct cairn_model *long_recording(const char *path)
{
    unsigned threads[THREADS];
    struct story story;

    story_begin(&story, path, 1);
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = story_thread(&story, 10, 10 + i, "a");
    for (unsigned tick = 0; tick < CHUNKS * TICKS_A_CHUNK; tick++) {
        story_tick(&story, MS + tick % 7 * 1000);
        for (unsigned i = 0; i < THREADS; i++)
            story_sample(&story, threads[i], (tick + i) % 3 ? "f /u/a.py:1" : "g /u/a.py:2", 1,
                         (tick + i) % 5 * MS / 4);
        if (tick % TICKS_A_CHUNK == TICKS_A_CHUNK - 1)
            story_flush(&story);
    }
    return story_end(&story);
}

/* On one processor nobody works ahead. */
static void use_processors(const cpu_set_t *all, bool one)
{
    cpu_set_t set = *all;

    for (int cpu = 0; one && CPU_COUNT(&set) > 1; cpu++)
        CPU_CLR(cpu, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void assert_same(const struct cairn_sample *a, const struct cairn_sample *b)
{
    assert_int_equal(a->thread, b->thread);
    assert_int_equal(a->node, b->node);
    assert_int_equal(a->tick, b->tick);
    assert_int_equal(a->ticks, b->ticks);
    assert_int_equal(a->block, b->block);
    assert_int_equal(a->block_ticks, b->block_ticks);
    assert_int_equal(a->first_ns, b->first_ns);
    assert_int_equal(a->last_ns, b->last_ns);
    assert_memory_equal(a->state_ns, b->state_ns, sizeof(a->state_ns));
    assert_int_equal(a->times_ns[0], b->times_ns[0]);
}

/* What is made ahead is what is made when it is asked for, in that order, ticks and all. */
static void test_samples_made_ahead_are_the_same(void **state)
{
    struct cairn_model *model = long_recording(NULL);
    struct cairn_samples *plain, *ahead;
    struct cairn_sample a, b;
    cpu_set_t all;
    size_t count = 0;
    (void)state;

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(cairn_samples_open(model, 0, UINT64_MAX, &plain, NULL), 0);
    assert_int_equal(cairn_samples_open(model, 0, UINT64_MAX, &ahead, NULL), 0);
    use_processors(&all, true);
    assert_int_equal(cairn_samples_next(plain, &a), 0);
    use_processors(&all, false);
    assert_int_equal(cairn_samples_next(ahead, &b), 0);
    do {
        assert_same(&a, &b);
        count++;
    } while (cairn_samples_next(plain, &a) == 0 && cairn_samples_next(ahead, &b) == 0);
    assert_int_equal(count, SAMPLES);
    assert_int_equal(cairn_samples_next(ahead, &b), -CAIRN_EEND);
    assert_int_equal(cairn_samples_ticks(ahead), cairn_samples_ticks(plain));
    cairn_samples_free(plain);
    cairn_samples_free(ahead);
    cairn_model_free(model);
}

/* Whoever has seen enough lets go of it at any moment. */
static void test_nobody_waits_for_who_left(void **state)
{
    struct cairn_model *model = long_recording(NULL);
    struct cairn_sample sample;
    (void)state;

    for (size_t most = 0; most < 20000; most = most * 3 + 1) {
        struct cairn_samples *samples;

        assert_int_equal(cairn_samples_open(model, 0, UINT64_MAX, &samples, NULL), 0);
        for (size_t i = 0; i < most; i++)
            assert_int_equal(cairn_samples_next(samples, &sample), 0);
        cairn_samples_free(samples);
    }
    cairn_model_free(model);
}

static struct cairn_model *load(const char *path)
{
    struct cairn_model *model;

    assert_int_equal(cairn_model_load(&path, 1, &model, NULL), 0);
    return model;
}

/* Chunks that are unpacked ahead are those that are unpacked when they are asked for; of damaged
 * ones so many are told. */
static void test_what_is_unpacked_ahead_is_the_same(void **state)
{
    struct cairn_model *plain, *ahead;
    const struct cairn_thread *threads_a, *threads_b;
    const struct cairn_quality *quality;
    struct scratch scratch;
    struct cairn_buf bytes;
    cpu_set_t all;
    (void)state;

    scratch_make(&scratch);
    assert_null(long_recording(scratch.path));
    cairn_buf_init(&bytes, (size_t)64 << 20);
    scratch_load(scratch.path, &bytes);
    for (size_t i = 1; i < 4; i++) /* of which one or another lies in a payload */
        bytes.data[bytes.size_bytes * i / 4] ^= 0x55;
    scratch_store(scratch.path, bytes.data, bytes.size_bytes);
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    use_processors(&all, true);
    plain = load(scratch.path);
    use_processors(&all, false);
    ahead = load(scratch.path);
    quality = cairn_model_quality(plain);
    assert_true(quality->damaged_chunks + quality->jumped_chunks > 0);
    assert_true(quality->samples > 0 && quality->samples < SAMPLES);
    assert_memory_equal(quality, cairn_model_quality(ahead), sizeof(*quality));
    assert_int_equal(cairn_model_threads(plain, &threads_a),
                     cairn_model_threads(ahead, &threads_b));
    for (size_t i = 0; i < cairn_model_threads(plain, &threads_a); i++)
        assert_int_equal(threads_a[i].python, threads_b[i].python);
    cairn_model_free(plain);
    cairn_model_free(ahead);
    cairn_buf_release(&bytes);
    scratch_remove(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_made_ahead_are_the_same),
        cmocka_unit_test(test_nobody_waits_for_who_left),
        cmocka_unit_test(test_what_is_unpacked_ahead_is_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
