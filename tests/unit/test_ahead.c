#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "samples.h"
#include "story.h"

#define MS 1000000u
#define CHUNKS 80
#define TICKS_A_CHUNK 300
#define THREADS 9 /* a block is more than one slot, and ends within one */
#define SAMPLES (CHUNKS * TICKS_A_CHUNK * THREADS)

static struct cairn_model *long_recording(void)
{
    unsigned threads[THREADS];
    struct story story;

    story_begin(&story, NULL, 1);
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
    struct cairn_model *model = long_recording();
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
    struct cairn_model *model = long_recording();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_made_ahead_are_the_same),
        cmocka_unit_test(test_nobody_waits_for_who_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
