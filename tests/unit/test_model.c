#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "recording.h"
#include "samples.h"
#include "scratch.h"
#include "story.h"

static bool is_text(struct cairn_span text, const char *other)
{
    return text.size_bytes == strlen(other) && !memcmp(text.data, other, text.size_bytes);
}

static struct cairn_model *load(const char *path)
{
    struct cairn_model *model = NULL;
    struct cairn_err err = {0};
    int code = cairn_model_load(&path, 1, &model, &err);

    if (code < 0)
        print_error("%s\n", err.text);
    assert_int_equal(code, 0);
    return model;
}

static size_t count_functions(const struct cairn_model *model, const char *qualname)
{
    const struct cairn_function *functions;
    size_t count = cairn_model_functions(model, &functions), found = 0;

    for (size_t i = 0; i < count; i++)
        found += is_text(functions[i].qualname, qualname);
    return found;
}

/* What the header promises of every model, whatever the file. */
static void assert_consistent(const struct cairn_model *model)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    const struct cairn_process *processes;
    const struct cairn_thread *threads;
    size_t function_count = cairn_model_functions(model, &functions);
    size_t frame_count = cairn_model_frames(model, &frames);
    size_t node_count = cairn_model_nodes(model, &nodes);
    size_t process_count = cairn_model_processes(model, &processes);
    size_t thread_count = cairn_model_threads(model, &threads);

    for (size_t i = 0; i < function_count; i++)
        assert_true(functions[i].qualname.size_bytes > 0);
    for (size_t i = 0; i < frame_count; i++)
        assert_true(frames[i].function < function_count);
    for (size_t i = 1; i < node_count; i++)
        assert_true(nodes[i].parent < i && nodes[i].frame < frame_count);
    for (size_t i = 0; i < process_count; i++)
        assert_true(processes[i].parent == UINT32_MAX || processes[i].parent < process_count);
    for (size_t i = 0; i < thread_count; i++)
        assert_true(threads[i].process < process_count);
}

/* Sums over all rows; *ret_state_ns may be NULL. */
static uint64_t count_samples(const struct cairn_model *model, uint64_t from_ns, uint64_t to_ns,
                              uint64_t *ret_wall_ns, uint64_t *ret_running_ns)
{
    struct cairn_samples *samples;
    struct cairn_sample sample;
    uint64_t count = 0;

    *ret_wall_ns = *ret_running_ns = 0;
    assert_int_equal(cairn_samples_open(model, from_ns, to_ns, &samples, NULL), 0);
    while (cairn_samples_next(samples, &sample) == 0) {
        uint64_t sum_ns = 0;

        for (int i = 0; i < CAIRN_STATE_COUNT; i++)
            sum_ns += sample.state_ns[i];
        assert_int_equal(sum_ns, sample.last_ns - sample.first_ns);
        assert_int_equal(sample.times_ns[sample.ticks - 1], sample.last_ns);
        assert_true(sample.node != 0);
        count += sample.ticks;
        *ret_wall_ns += sample.last_ns - sample.first_ns;
        *ret_running_ns += sample.state_ns[CAIRN_STATE_RUNNING];
    }
    cairn_samples_free(samples);
    return count;
}

/* Two writers and a forked one spoke of the same code, processes and threads under ids of their
 * own; the model has each once. */
static void test_writers_are_joined_by_content(void **state)
{
    const struct cairn_process *processes;
    const struct cairn_thread *threads;
    struct cairn_model *model;
    struct scratch scratch;
    struct cairn_buf truth;

    (void)state;
    scratch_make(&scratch);
    cairn_buf_init(&truth, 1 << 20);
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    model = load(scratch.path);
    assert_consistent(model);

    assert_int_equal(count_functions(model, "main"), 1);
    assert_int_equal(count_functions(model, "Work.run"), 1);
    assert_int_equal(count_functions(model, "elsewhere"), 1);
    assert_int_equal(count_functions(model, "epoch 1"), 1);

    assert_int_equal(cairn_model_processes(model, &processes), 2);
    assert_int_equal(cairn_model_threads(model, &threads), 2);
    for (size_t i = 0; i < 2; i++) {
        bool child = processes[i].pid == 600;

        assert_int_equal(processes[i].start_ns, child ? 9900 : 9000);
        assert_true(is_text(processes[i].name, child ? "worker" : "python3"));
        assert_int_equal(processes[i].parent, child ? 1 - i : UINT32_MAX);
        child = processes[threads[i].process].pid == 600;
        assert_int_equal(threads[i].tid, child ? 600 : 500);
        assert_true(is_text(threads[i].name, child ? "MainThread" : "Main renamed"));
    }
    assert_true(is_text(cairn_model_env(model, "host.cpu"), "Toy 9000"));
    assert_int_equal(cairn_model_counter(model, "own_cpu_ns"), 2000);
    assert_int_equal(cairn_model_quality(model)->own_cpu_ns, 2000);
    assert_int_equal(cairn_model_counter(model, "lost"), 3);
    assert_true(cairn_model_quality(model)->ended);
    assert_int_equal(cairn_model_quality(model)->unknown_refs, 0);

    cairn_model_free(model);
    cairn_buf_release(&truth);
    scratch_remove(&scratch);
}

/* The rows of the collector: 2 chunks of 6 ticks for two threads. What a thread ran goes through
 * unchanged in sum, the rest of its time is blocked. */
static void test_samples_keep_their_sums(void **state)
{
    const uint64_t quantum_ns = 1000000 / 64;
    uint64_t wall_ns, running_ns, part_ns, part_running_ns, first_ns, last_ns, count = 0;
    struct cairn_model *model;
    struct scratch scratch;
    struct cairn_buf truth;

    (void)state;
    scratch_make(&scratch);
    cairn_buf_init(&truth, 1 << 20);
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    model = load(scratch.path);

    assert_int_equal(count_samples(model, 0, UINT64_MAX, &wall_ns, &running_ns), 24);
    assert_int_equal(cairn_model_quality(model)->samples, 24);
    assert_int_equal(cairn_model_quality(model)->ticks, 12);
    assert_int_equal(running_ns, 2 * quantum_ns * (60 + 61 + 62 + 63 + 64 + 60 + 3));

    /* Windows that meet share nothing and lose nothing. */
    cairn_model_span(model, &first_ns, &last_ns);
    for (uint64_t at_ns = first_ns - 1; at_ns < last_ns; at_ns += 3000000) {
        count += count_samples(model, at_ns, at_ns + 3000000, &part_ns, &part_running_ns);
        wall_ns -= part_ns;
        running_ns -= part_running_ns;
    }
    assert_int_equal(count, 24);
    assert_int_equal(wall_ns, 0);
    assert_int_equal(running_ns, 0);

    cairn_model_free(model);
    cairn_buf_release(&truth);
    scratch_remove(&scratch);
}

/* A set of many small files says what one file says. */
static void test_tasks_are_added_up(void **state)
{
    const struct cairn_task_sum *tasks;
    const struct cairn_thread *threads;
    uint64_t waiting_ns = 0, running_ns = 0;
    struct cairn_model *model;
    struct scratch scratch;
    struct cairn_buf truth;
    const char *paths[1];
    size_t count;

    (void)state;
    cairn_buf_init(&truth, 1 << 20);
    scratch_make(&scratch);
    paths[0] = scratch.path;
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    assert_int_equal(cairn_model_load(paths, 1, &model, NULL), 0);
    count = cairn_model_tasks(model, &tasks);
    assert_int_equal(count, 2); /* one that waits, one that runs, over all chunks */
    for (size_t i = 0; i < count; i++) {
        assert_true(tasks[i].thread < cairn_model_threads(model, &threads));
        if (tasks[i].state == CAIRN_TASK_WAITING)
            waiting_ns += tasks[i].task_ns;
        else
            running_ns += tasks[i].task_ns;
    }
    assert_int_equal(running_ns, 10 * RECORDING_CHUNK_PAIRS);
    assert_int_equal(waiting_ns, 40 * 12 * RECORDING_CHUNK_PAIRS);
    cairn_model_free(model);
    cairn_buf_release(&truth);
    scratch_remove(&scratch);
}

static void test_a_set_reads_as_one(void **state)
{
    uint64_t wall_ns, running_ns, set_wall_ns, set_running_ns;
    const struct cairn_function *functions;
    const struct cairn_node *nodes;
    struct cairn_model *one, *set;
    struct scratch scratch;
    struct cairn_buf truth;

    (void)state;
    scratch_make(&scratch);
    cairn_buf_init(&truth, 1 << 20);
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    one = load(scratch.path);
    assert_int_equal(recording_write(scratch.path, 1, false, &truth), 0);
    set = load(scratch.path);
    assert_consistent(set);
    assert_true(cairn_model_quality(set)->ended);
    assert_int_equal(cairn_model_quality(set)->unknown_refs, 0);
    assert_int_equal(cairn_model_functions(set, &functions),
                     cairn_model_functions(one, &functions));
    assert_int_equal(cairn_model_nodes(set, &nodes), cairn_model_nodes(one, &nodes));
    assert_int_equal(count_samples(set, 0, UINT64_MAX, &set_wall_ns, &set_running_ns),
                     count_samples(one, 0, UINT64_MAX, &wall_ns, &running_ns));
    assert_int_equal(set_wall_ns, wall_ns);
    assert_int_equal(set_running_ns, running_ns);
    /* Running totals: the last file's value is the writer's, not one of many to be added up. */
    assert_int_equal(cairn_model_counter(set, "own_cpu_ns"), 2000);

    cairn_model_free(one);
    cairn_model_free(set);
    cairn_buf_release(&truth);
    scratch_remove(&scratch);
}

/* Each byte spoilt in turn: a model or one answer, never more samples than there were, and what
 * lost its dictionary is [unknown] and counted. */
static void test_damage_is_counted_not_believed(void **state)
{
    struct cairn_buf truth, bytes;
    struct scratch scratch;
    size_t loaded = 0, unknown = 0;

    (void)state;
    scratch_make(&scratch);
    cairn_buf_init(&truth, 1 << 20);
    cairn_buf_init(&bytes, 1 << 20);
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    scratch_load(scratch.path, &bytes);
    for (size_t i = 0; i < bytes.size_bytes; i++) {
        const char *path = scratch.path;
        struct cairn_model *model;
        uint64_t wall_ns, running_ns;

        bytes.data[i] ^= 0x10;
        scratch_store(scratch.path, bytes.data, bytes.size_bytes);
        bytes.data[i] ^= 0x10;
        if (cairn_model_load(&path, 1, &model, NULL) < 0)
            continue;
        loaded++;
        assert_consistent(model);
        assert_true(count_samples(model, 0, UINT64_MAX, &wall_ns, &running_ns) <= 24);
        assert_int_equal(count_samples(model, 0, UINT64_MAX, &wall_ns, &running_ns),
                         cairn_model_quality(model)->samples);
        unknown += cairn_model_quality(model)->unknown_refs > 0;
        if (count_functions(model, "main") == 0)
            assert_true(cairn_model_quality(model)->damaged_chunks +
                            cairn_model_quality(model)->jumped_chunks >
                        0);
        cairn_model_free(model);
    }
    assert_true(loaded > bytes.size_bytes / 2);
    assert_true(unknown > 0);
    cairn_buf_release(&truth);
    cairn_buf_release(&bytes);
    scratch_remove(&scratch);
}

/* Any prefix is a recording: what was flushed is there, and nobody says that it ended. */
static void test_a_cut_file_is_what_was_written_so_far(void **state)
{
    struct cairn_buf truth, bytes;
    struct scratch scratch;
    uint64_t most = 0;

    (void)state;
    scratch_make(&scratch);
    cairn_buf_init(&truth, 1 << 20);
    cairn_buf_init(&bytes, 1 << 20);
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    scratch_load(scratch.path, &bytes);
    for (size_t size_bytes = 0; size_bytes < bytes.size_bytes; size_bytes += 7) {
        const char *path = scratch.path;
        uint64_t wall_ns, running_ns, count;
        struct cairn_model *model;

        scratch_store(scratch.path, bytes.data, size_bytes);
        if (cairn_model_load(&path, 1, &model, NULL) < 0) {
            assert_int_equal(most, 0);
            continue;
        }
        assert_consistent(model);
        assert_false(cairn_model_quality(model)->ended);
        count = count_samples(model, 0, UINT64_MAX, &wall_ns, &running_ns);
        assert_int_equal(count, cairn_model_quality(model)->samples);
        assert_true(count >= most && count <= 24);
        assert_int_equal(cairn_model_quality(model)->unknown_refs, 0);
        most = count;
        cairn_model_free(model);
    }
    assert_int_equal(most, 24);
    cairn_buf_release(&truth);
    cairn_buf_release(&bytes);
    scratch_remove(&scratch);
}

/* A file of the boot `boot`, whose clocks read these at one moment, with one tick 5 ms on. */
static void write_boot(const char *path, const char *boot, uint64_t mono_ns, uint64_t real_ns)
{
    struct cairn_buf strings, clock, sections;
    struct story story;
    unsigned thread;

    cairn_buf_init(&strings, 100);
    cairn_buf_init(&clock, 100);
    cairn_buf_init(&sections, 1000);
    cairn_buf_add(&strings, "\1\1", 2); /* from id 1, one string */
    cairn_buf_bytes(&strings, (struct cairn_span){(const uint8_t *)boot, strlen(boot)});
    cairn_buf_uvarint(&clock, mono_ns);
    cairn_buf_uvarint(&clock, mono_ns);
    cairn_buf_uvarint(&clock, real_ns);
    cairn_buf_uvarint(&clock, 1);
    cairn_buf_uvarint(&sections, CAIRN_SECTION_STRINGS << 1 | 1);
    cairn_buf_bytes(&sections, cairn_buf_span(&strings));
    cairn_buf_uvarint(&sections, CAIRN_SECTION_CLOCK << 1);
    assert_int_equal(cairn_buf_bytes(&sections, cairn_buf_span(&clock)), 0);

    story_begin(&story, path, 1);
    assert_int_equal(cairn_sink_append(story.sink, CAIRN_CHUNK_DATA, 9, 1, 0, 0,
                                       cairn_buf_span(&sections), NULL),
                     0);
    thread = story_thread(&story, 10, 10, boot);
    story_tick(&story, 5000000);
    story_sample(&story, thread, "f /u/a.py:1", 1, 0);
    story_end(&story);
    cairn_buf_release(&strings);
    cairn_buf_release(&clock);
    cairn_buf_release(&sections);
}

/* MONOTONIC of another boot means nothing here: its times are moved over real time. */
static void test_clocks_of_other_boots_are_moved(void **state)
{
    static const struct {
        const char *boot;
        uint64_t mono_ns, real_ns;
        int64_t shift_ns;
        uint64_t on_ns; /* all of them, since nothing may be before 0 */
    } cases[] = {
        {"here", 900, 5000000000, 0, 0}, /* the same boot: whatever the real clock did */
        {"there", STORY_START_NS, 5000000000, 3000000000, 0},
        {"there", STORY_START_NS + 7000000000, 5000000000, -4000000000, 3000000000},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scratch here, there;
        struct cairn_model *model;
        struct cairn_samples *samples;
        struct cairn_sample sample;
        uint64_t first_ns, last_ns, here_ns;
        const char *paths[2] = {here.path, there.path};

        scratch_make(&here);
        scratch_make(&there);
        write_boot(here.path, "here", STORY_START_NS, 2000000000);
        write_boot(there.path, cases[i].boot, cases[i].mono_ns, cases[i].real_ns);
        assert_int_equal(cairn_model_load(paths, 2, &model, NULL), 0);
        assert_int_equal(cairn_samples_open(model, 0, UINT64_MAX, &samples, NULL), 0);
        assert_int_equal(cairn_samples_next(samples, &sample), 0);
        here_ns = sample.last_ns;
        assert_int_equal(here_ns, STORY_START_NS + 5000000 + cases[i].on_ns);
        assert_int_equal(cairn_samples_next(samples, &sample), 0);
        assert_int_equal((int64_t)(sample.last_ns - here_ns), cases[i].shift_ns);
        assert_int_equal(sample.last_ns - sample.first_ns, 5000000);
        cairn_model_span(model, &first_ns, &last_ns);
        assert_int_equal(last_ns - first_ns, 5000000 + llabs(cases[i].shift_ns));
        cairn_samples_free(samples);
        cairn_model_free(model);
        scratch_remove(&here);
        scratch_remove(&there);
    }
}

static void test_memory_that_runs_out_is_an_answer(void **state)
{
    struct cairn_model *model;
    struct scratch scratch;
    struct cairn_buf truth;
    const char *path;
    long failures = 0;

    (void)state;
    scratch_make(&scratch);
    path = scratch.path;
    cairn_buf_init(&truth, 1 << 20);
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    for (;; failures++) {
        int code;

        model = NULL;
        cairn_alloc_fail_after(failures);
        code = cairn_model_load(&path, 1, &model, NULL);
        if (!cairn_alloc_has_failed()) {
            assert_int_equal(code, 0);
            break;
        }
        assert_int_equal(code, -CAIRN_ENOMEM);
        assert_null(model);
    }
    cairn_alloc_fail_after(-1);
    assert_true(failures > 20);
    cairn_model_free(model);
    cairn_buf_release(&truth);
    scratch_remove(&scratch);
}

/* A view without some frames: the rest of every stack, in order, and the same time. */
static void test_folding_keeps_what_is_kept(void **state)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes, *folded;
    struct cairn_model *model, *view;
    struct scratch scratch;
    struct cairn_buf truth;
    size_t node_count, frame_count;
    uint32_t *map;
    bool *keep;

    (void)state;
    scratch_make(&scratch);
    cairn_buf_init(&truth, 1 << 20);
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    model = load(scratch.path);
    cairn_model_functions(model, &functions);
    frame_count = cairn_model_frames(model, &frames);
    node_count = cairn_model_nodes(model, &nodes);
    keep = calloc(frame_count, sizeof(*keep));
    for (size_t i = 0; i < frame_count; i++)
        keep[i] = is_text(functions[frames[i].function].qualname, "Work.run");
    assert_int_equal(cairn_model_fold(model, keep, &view, &map), 0);
    assert_consistent(view);
    cairn_model_nodes(view, &folded);
    for (size_t i = 1; i < node_count; i++) {
        uint32_t at = map[i], up = (uint32_t)i;

        assert_true(at != 0);
        while (up && !keep[nodes[up].frame])
            up = nodes[up].parent;
        if (up) {
            assert_int_equal(folded[at].frame, nodes[up].frame);
            assert_int_equal(folded[at].parent, 0); /* main() above it is gone */
        }
    }
    free(keep);
    free(map);
    cairn_model_free(view);
    cairn_model_free(model);
    cairn_buf_release(&truth);
    scratch_remove(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writers_are_joined_by_content),
        cmocka_unit_test(test_samples_keep_their_sums),
        cmocka_unit_test(test_tasks_are_added_up),
        cmocka_unit_test(test_a_set_reads_as_one),
        cmocka_unit_test(test_damage_is_counted_not_believed),
        cmocka_unit_test(test_a_cut_file_is_what_was_written_so_far),
        cmocka_unit_test(test_clocks_of_other_boots_are_moved),
        cmocka_unit_test(test_memory_that_runs_out_is_an_answer),
        cmocka_unit_test(test_folding_keeps_what_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
