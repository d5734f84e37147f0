#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "merge.h"
#include "samples.h"
#include "scratch.h"
#include "story.h"

#define MS 1000000u

struct files {
    struct scratch scratch;
    char names[4][64]; /* two recordings, and what they are merged into */
    const char *paths[2];
};

/* Both have a writer of the same number, threads of the same number, and a counter. */
static void tell(const char *path, const char *name, unsigned ticks)
{
    struct story story;
    unsigned thread;
    char stack[64];

    story_begin(&story, path, 1);
    thread = story_thread(&story, 10, 10, name);
    snprintf(stack, sizeof(stack), "main /u/a.py:1;%s /u/a.py:10", name);
    for (unsigned i = 0; i < ticks; i++) {
        story_tick(&story, MS);
        story_sample(&story, thread, stack, 1, 0);
    }
    assert_int_equal(cairn_writer_counter(story.writer, "missed", ticks), 0);
    assert_null(story_end(&story));
}

static int set_up(void **state)
{
    struct files *files = calloc(1, sizeof(*files));

    scratch_make(&files->scratch);
    for (int i = 0; i < 4; i++)
        snprintf(files->names[i], sizeof(files->names[i]), "%s/%s", files->scratch.folder,
                 (const char *const[]){"one", "two", "out", "out.1"}[i]);
    tell(files->names[0], "one", 30);
    tell(files->names[1], "two", 50);
    files->paths[0] = files->names[0];
    files->paths[1] = files->names[1];
    *state = files;
    return 0;
}

static int tear_down(void **state)
{
    struct files *files = *state;

    for (int i = 0; i < 4; i++)
        (void)unlink(files->names[i]);
    scratch_remove(&files->scratch);
    free(files);
    return 0;
}

/* Writers of one number are two, and what each counted is added up. */
static void test_writers_stay_apart(void **state)
{
    const struct files *files = *state;
    const char *out = files->names[2];
    struct cairn_merged merged;
    struct cairn_samples *samples;
    struct cairn_sample sample;
    struct cairn_model *model;
    uint64_t ticks = 0;

    assert_int_equal(cairn_merge(files->paths, 2, out, false, &merged, NULL), 0);
    assert_int_equal(merged.recordings, 2);
    assert_int_equal(merged.files, 2);
    assert_int_equal(cairn_model_load(&out, 1, &model, NULL), 0);
    assert_int_equal(cairn_model_counter(model, "missed"), 80);
    assert_int_equal(cairn_model_quality(model)->samples, 80);
    assert_int_equal(cairn_model_quality(model)->damaged_chunks, 0);
    assert_int_equal(cairn_model_quality(model)->jumped_bytes, 0);
    assert_int_equal(cairn_model_quality(model)->unknown_refs, 0);
    assert_int_equal(cairn_model_quality(model)->missing_files, 0);
    assert_true(cairn_model_quality(model)->ended);
    assert_int_equal(cairn_samples_open(model, 0, UINT64_MAX, &samples, NULL), 0);
    while (cairn_samples_next(samples, &sample) == 0)
        ticks += sample.ticks;
    assert_int_equal(ticks, 80);
    cairn_samples_free(samples);
    cairn_model_free(model);
}

static void test_what_exists_is_refused_and_nothing_is_left(void **state)
{
    const struct files *files = *state;
    struct cairn_merged merged;
    struct cairn_err err = {0};

    scratch_store(files->names[3], (const uint8_t *)"mine", 4);
    assert_int_equal(cairn_merge(files->paths, 2, files->names[2], false, &merged, &err),
                     -CAIRN_EEXISTS);
    assert_non_null(strstr(err.text, "out.1 exists"));
    assert_int_equal(access(files->names[2], F_OK), -1);
    assert_int_equal(access(files->names[3], F_OK), 0);
    assert_int_equal(cairn_merge(files->paths, 2, files->names[2], true, &merged, &err), 0);
}

static void test_short_memory_is_an_answer(void **state)
{
    const struct files *files = *state;
    bool failed = true;
    long n = 0;

    for (; failed; n++) {
        struct cairn_merged merged;
        int code;

        cairn_alloc_fail_after(n);
        code = cairn_merge(files->paths, 2, files->names[2], false, &merged, NULL);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_int_equal(code, failed ? -CAIRN_ENOMEM : 0);
        if (failed)
            assert_int_equal(access(files->names[2], F_OK), -1);
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_writers_stay_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_exists_is_refused_and_nothing_is_left, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_short_memory_is_an_answer, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
