#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "format.h"
#include "rng.h"
#include "story.h"
#include "table.h"
#include "tallied.h"

#define MS 1000000u

/* One main thread, one sample of 1 ms a stack. */
static struct cairn_model *one_thread(const char *const *stacks, size_t count, const char *mode)
{
    struct story story;
    unsigned main_thread;

    story_begin(&story, NULL, 1);
    main_thread = story_thread(&story, 10, 10, "MainThread");
    story_env(&story, "run.mode", mode);
    for (size_t i = 0; i < count; i++) {
        story_tick(&story, MS);
        story_sample(&story, main_thread, stacks[i], 1, MS);
    }
    return story_end(&story);
}

#define BOOT "_find_and_load <frozen importlib._bootstrap>:1349"
#define LIB "/usr/lib/python3.12/"

static void test_phases_are_told_by_the_stack(void **state)
{
    static const struct {
        const char *stack;
        enum cairn_phase phase;
    } cases[] = {
        {"", CAIRN_PHASE_STARTUP},
        {"[not python]", CAIRN_PHASE_STARTUP},
        {"<module> <frozen getpath>:1", CAIRN_PHASE_STARTUP},
        {BOOT ";<module> <frozen site>:1;main <frozen site>:5", CAIRN_PHASE_STARTUP},
        {"_run_module_as_main <frozen runpy>:173", CAIRN_PHASE_STARTUP},
        {"_run_module_as_main <frozen runpy>:173;find " LIB "pkgutil.py:9", CAIRN_PHASE_STARTUP},
        {"_run_module_as_main " LIB "runpy.py:173;" BOOT ";<module> /u/app/__init__.py:1",
         CAIRN_PHASE_IMPORT},
        {"_run_module_as_main <frozen runpy>:173;_run_code <frozen runpy>:65;<module> " LIB
         "timeit.py:1",
         CAIRN_PHASE_PROGRAM},
        {"<module> /u/a.py:1", CAIRN_PHASE_PROGRAM},
        {"<module> /u/a.py:1;f /u/a.py:3", CAIRN_PHASE_PROGRAM},
        {"<module> /u/a.py:1;" BOOT, CAIRN_PHASE_IMPORT},
        {"<module> /u/a.py:1;" BOOT ";<module> /u/b.py:1;g /u/b.py:3", CAIRN_PHASE_IMPORT},
        {"<module> /u/a.py:1;import_module " LIB "importlib/__init__.py:70;" BOOT,
         CAIRN_PHASE_IMPORT},
        {"<module> /u/a.py:1;version " LIB "importlib/metadata/__init__.py:900",
         CAIRN_PHASE_PROGRAM},
        {"<module> <string>:1;f <string>:1", CAIRN_PHASE_PROGRAM},
        {"_shutdown " LIB "threading.py:1500", CAIRN_PHASE_STARTUP},
        {"shutdown " LIB "logging/__init__.py:2100", CAIRN_PHASE_STARTUP},
        {"Hub.run /x/site-packages/gevent/hub.py:7", CAIRN_PHASE_PROGRAM},
        {"[truncated];f /u/a.py:3", CAIRN_PHASE_PROGRAM},
        {"empty /x/python/cairn/_site/_cairn_counting.py:327", CAIRN_PHASE_STARTUP},
        {"begin /x/site-packages/cairn/_site/sitecustomize.py:60", CAIRN_PHASE_STARTUP},
        {"begin /u/sitecustomize.py:60", CAIRN_PHASE_PROGRAM},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int attached = 0; attached < 2; attached++) {
            struct cairn_model *model = one_thread(&cases[i].stack, 1, attached ? "attach" : "run");
            struct cairn_tally tally = tally_of(model, NULL);
            enum cairn_phase want = cases[i].phase;

            /* Nobody saw an attached program begin: what is no import is the program. */
            if (attached && want == CAIRN_PHASE_STARTUP)
                want = CAIRN_PHASE_PROGRAM;
            assert_closed(&tally);
            if (tally.phase[want].ticks != 1)
                fail_msg("%s is not in phase %s", cases[i].stack, cairn_phase_name(want));
            cairn_tally_release(&tally);
            cairn_model_free(model);
        }
}

static void test_other_threads_never_start_up(void **state)
{
    struct cairn_model *model;
    struct cairn_tally tally;
    struct story story;
    unsigned worker;
    (void)state;

    story_begin(&story, NULL, 1);
    story_thread(&story, 10, 10, "MainThread");
    worker = story_thread(&story, 10, 11, "worker");
    story_tick(&story, MS);
    story_sample(&story, worker, "", 1, 0);
    story_tick(&story, MS);
    story_sample(&story, worker, "_bootstrap " LIB "threading.py:9;" BOOT, 1, 0);
    model = story_end(&story);
    tally = tally_of(model, NULL);
    assert_int_equal(tally.phase[CAIRN_PHASE_PROGRAM].ticks, 1);
    assert_int_equal(tally.phase[CAIRN_PHASE_IMPORT].ticks, 1);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* Only blocked time in a frame where threads wait for work is idle, and not below subprocess. */
static void test_idle_is_blocked_time_in_known_frames(void **state)
{
    static const struct {
        const char *stack;
        uint64_t cpu_ns, idle_ns;
    } cases[] = {
        {"f /u/a.py:1;wait " LIB "threading.py:323", 0, MS},
        {"f /u/a.py:1;wait " LIB "threading.py:323", MS / 4, MS - MS / 4},
        {"f /u/a.py:1;wait " LIB "threading.py:323", MS, 0},
        {"f /u/a.py:1;wait /u/threading.py:323", 0, 0}, /* the user's own module */
        {"f /u/a.py:1;wait " LIB "threading.py:323;g /u/a.py:5", 0, 0},
        {"f /u/a.py:1;EpollSelector.select " LIB "selectors.py:435", 0, 0}, /* no such name */
        {"f /u/a.py:1;select " LIB "selectors.py:435", 0, MS},
        {"f /u/a.py:1;communicate " LIB "subprocess.py:1165;select " LIB "selectors.py:435", 0, 0},
        {"f /u/a.py:1;sleep /u/a.py:5", 0, 0},
        {"f /u/a.py:1;get_events /x/site-packages/trio/_core/_io_epoll.py:243", 0, MS},
        {"_work /x/site-packages/trio/_core/_thread_cache.py:211", 0, MS},
        {"run /x/site-packages/gevent/hub.py:647", 0, MS},
        {"f /u/a.py:1;_retrieve /x/site-packages/joblib/parallel.py:1822", 0, MS},
        {"main /x/site-packages/loky/backend/resource_tracker.py:357", 0, MS},
        {"doPoll /x/site-packages/twisted/internet/epollreactor.py:227", 0, MS},
        {"_handle_results " LIB "multiprocessing/pool.py:579", 0, MS},
        {"_bootstrap " LIB "threading.py:1;_worker " LIB "concurrent/futures/thread.py:69", 0, MS},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION};
        struct cairn_model *model;
        struct cairn_tally tally;
        struct cairn_rows rows;
        struct story story;
        unsigned thread;

        story_begin(&story, NULL, 1);
        thread = story_thread(&story, 10, 10, "MainThread");
        story_tick(&story, MS);
        story_sample(&story, thread, cases[i].stack, 1, cases[i].cpu_ns);
        model = story_end(&story);
        tally = tally_of(model, NULL);
        assert_closed(&tally);
        if (tally.idle.value_ns != cases[i].idle_ns)
            fail_msg("%s: %lu ns idle", cases[i].stack, (unsigned long)tally.idle.value_ns);
        assert_int_equal(cairn_rows_make(&tally, &options, &rows, NULL), 0);
        assert_int_equal(rows.base.value_ns, MS - cases[i].idle_ns);
        cairn_rows_release(&rows);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
}

/* A thread that never runs Python waits when it is blocked; the main thread before Python does
 * not: it loads libraries. */
static void test_threads_outside_python_wait(void **state)
{
    struct cairn_model *model;
    struct cairn_tally tally;
    struct story story;
    unsigned python, shell;
    (void)state;

    story_begin(&story, NULL, 1);
    python = story_thread(&story, 10, 10, "MainThread");
    shell = story_thread(&story, 9, 9, "sh");
    story_tick(&story, MS);
    story_sample(&story, python, "[not python]", 1, 0);
    story_sample(&story, shell, "[not python]", 1, MS / 4);
    story_tick(&story, MS);
    story_sample(&story, python, "<module> /u/a.py:1", 1, 0);
    model = story_end(&story);
    tally = tally_of(model, NULL);
    assert_closed(&tally);
    assert_int_equal(tally.idle.value_ns, MS - MS / 4);
    assert_int_equal(tally.total.value_ns, 3 * MS);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static struct cairn_patterns patterns(const char *const items[2])
{
    return (struct cairn_patterns){items, (size_t)(items[0] != NULL) + (items[1] != NULL)};
}

static void test_filters_choose_threads_stacks_and_times(void **state)
{
    static const struct {
        const char *thread, *process, *focus[2], *ignore[2];
        uint64_t from_ns, to_ns, want_ticks;
    } cases[] = {
        {NULL, NULL, {NULL}, {NULL}, 0, UINT64_MAX, 30},
        {"MainThread", NULL, {NULL}, {NULL}, 0, UINT64_MAX, 10},
        {"11", NULL, {NULL}, {NULL}, 0, UINT64_MAX, 10},
        {"w*", NULL, {NULL}, {NULL}, 0, UINT64_MAX, 20},
        {NULL, "20", {NULL}, {NULL}, 0, UINT64_MAX, 10},
        {NULL, "python*", {NULL}, {NULL}, 0, UINT64_MAX, 30},
        {NULL, "nothing", {NULL}, {NULL}, 0, UINT64_MAX, 0},
        {NULL, NULL, {"^g "}, {NULL}, 0, UINT64_MAX, 5},
        {NULL, NULL, {"a\\.py$"}, {NULL}, 0, UINT64_MAX, 10},
        {NULL, NULL, {NULL}, {"^g "}, 0, UINT64_MAX, 25},
        {NULL, NULL, {"f"}, {"g"}, 0, UINT64_MAX, 5},
        {NULL, NULL, {"^g ", "^f "}, {NULL}, 0, UINT64_MAX, 5}, /* both on the stack */
        {NULL, NULL, {"^g ", "^h "}, {NULL}, 0, UINT64_MAX, 0},
        {NULL, NULL, {NULL}, {"^g ", "^h "}, 0, UINT64_MAX, 5}, /* neither */
        {NULL, NULL, {NULL}, {NULL}, 0, 4 * MS, 12},
        {NULL, NULL, {NULL}, {NULL}, 4 * MS, 6 * MS, 6},
        {NULL, NULL, {NULL}, {NULL}, 4 * MS, UINT64_MAX, 18},
        {NULL, NULL, {NULL}, {NULL}, 99 * MS, UINT64_MAX, 0},
    };
    struct cairn_model *model;
    struct story story;
    unsigned threads[3];
    (void)state;

    story_begin(&story, NULL, 1);
    threads[0] = story_thread(&story, 10, 10, "MainThread");
    threads[1] = story_thread(&story, 10, 11, "worker-1");
    threads[2] = story_thread(&story, 20, 20, "worker-2");
    for (int i = 0; i < 10; i++) {
        story_tick(&story, MS);
        story_sample(&story, threads[0], i % 2 ? "f /u/a.py:1" : "f /u/a.py:1;g /u/b.py:1", 1, MS);
        if (i == 9)
            story_sample(&story, threads[1], "h /u/c.py:1", 10, 0);
        story_sample(&story, threads[2], "h /u/c.py:1", 1, 0);
    }
    model = story_end(&story);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_filter filter;
        struct cairn_tally tally;

        cairn_filter_init(&filter);
        filter.thread = cases[i].thread;
        filter.process = cases[i].process;
        filter.focus = patterns(cases[i].focus);
        filter.ignore = patterns(cases[i].ignore);
        filter.from_ns = cases[i].from_ns;
        filter.to_ns = cases[i].to_ns;
        tally = tally_of(model, &filter);
        assert_closed(&tally);
        if (tally.total.ticks != cases[i].want_ticks)
            fail_msg("case %zu: %lu ticks", i, (unsigned long)tally.total.ticks);
        assert_int_equal(tally.total.value_ns, cases[i].want_ticks * MS);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
}

static void test_a_bad_regex_is_a_usage_error(void **state)
{
    static const char *const stack = "f /u/a.py:1";
    struct cairn_model *model = one_thread(&stack, 1, "run");
    struct cairn_filter filter;
    struct cairn_tally tally;
    struct cairn_err err;
    (void)state;

    cairn_filter_init(&filter);
    filter.focus = patterns((const char *const[2]){"f", "("});
    assert_int_equal(cairn_tally_make(model, &filter, &tally, &err), -CAIRN_EUSAGE);
    assert_non_null(strstr(err.text, "--focus"));
    cairn_model_free(model);
}

/* Frames of others go, their time goes to the user's frame above them, no time is lost. */
static void test_only_my_code_folds_the_rest(void **state)
{
    static const char *const stacks[] = {
        "<module> /u/a.py:1;loads " LIB "json/__init__.py:9;decode " LIB "json/decoder.py:9",
        "<module> /u/a.py:1;loads " LIB "json/__init__.py:9;hook /u/a.py:5",
        "<module> /u/a.py:1;" BOOT ";<module> " LIB "json/__init__.py:1",
        "_bootstrap " LIB "threading.py:1;work /u/a.py:9",
        BOOT ";<module> <frozen site>:1",
    };
    struct cairn_model *model = one_thread(stacks, 5, "run");
    struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION, .with_idle = true};
    static const struct {
        const char *name;
        uint64_t self_ms, total_ms;
    } want[] = {
        {"<module>", 2, 3},
        {"hook", 1, 1},
        {"work", 1, 1},
        {"_find_and_load", 1, 1},
    };
    struct cairn_filter filter;
    struct cairn_tally tally;
    struct cairn_rows rows;
    (void)state;

    cairn_filter_init(&filter);
    filter.only_my_code = true;
    tally = tally_of(model, &filter);
    assert_closed(&tally);
    assert_int_equal(tally.phase[CAIRN_PHASE_IMPORT].value_ns, MS); /* still told apart */
    assert_int_equal(cairn_rows_make(&tally, &options, &rows, NULL), 0);
    assert_int_equal(rows.count, 4);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++)
            if (!strncmp((const char *)rows.items[k].qualname.data, want[i].name,
                         rows.items[k].qualname.size_bytes)) {
                assert_int_equal(rows.items[k].self.value_ns, want[i].self_ms * MS);
                assert_int_equal(rows.items[k].total.value_ns, want[i].total_ms * MS);
            }
    cairn_rows_release(&rows);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void assert_same_rows(const struct cairn_tally *a, const struct cairn_tally *b,
                             const struct cairn_rows_options *options)
{
    struct cairn_rows rows[2];

    assert_int_equal(cairn_rows_make(a, options, &rows[0], NULL), 0);
    assert_int_equal(cairn_rows_make(b, options, &rows[1], NULL), 0);
    assert_int_equal(rows[0].count, rows[1].count);
    assert_true(rows[0].count > 0);
    assert_memory_equal(&rows[0].base, &rows[1].base, sizeof(rows[0].base));
    for (size_t i = 0; i < rows[0].count; i++) {
        const struct cairn_row *left = &rows[0].items[i], *right = &rows[1].items[i];

        assert_ptr_equal(left->qualname.data, right->qualname.data);
        assert_memory_equal(&left->self, &right->self, sizeof(left->self));
        assert_memory_equal(&left->total, &right->total, sizeof(left->total));
        assert_true(left->self_low == right->self_low && left->self_high == right->self_high);
        assert_int_equal(left->thread, right->thread);
        assert_int_equal(left->process, right->process);
    }
    cairn_rows_release(&rows[0]);
    cairn_rows_release(&rows[1]);
}

/* Main threads and workers of two processes, start-up, imports, waiting, a thread without Python.
 */
static struct cairn_model *many_threads(void)
{
    static const char *const stacks[] = {
        BOOT ";<module> <frozen site>:1",
        "<module> /u/a.py:1;" BOOT ";<module> /u/b.py:1",
        "<module> /u/a.py:1;f /u/a.py:5",
        "<module> /u/a.py:1;f /u/a.py:5;g /u/b.py:9",
        "<module> /u/a.py:1;wait " LIB "threading.py:10",
        "_shutdown " LIB "threading.py:1500",
        "",
    };
    struct story story;
    unsigned threads[7];
    uint64_t drawn = 0;

    story_begin(&story, NULL, 1);
    story_env(&story, "run.mode", "run");
    for (unsigned i = 0; i < 7; i++)
        threads[i] = story_thread(&story, i < 4 ? 10 : 20, i < 4 ? 10 + i : 16 + i, "thread");
    for (int tick = 0; tick < 200; tick++) {
        story_tick(&story, MS);
        for (unsigned i = 0; i < 7; i++) {
            uint64_t stack = i == 3 ? 6 : cairn_rng_at(7, drawn++) % 7;

            story_sample(&story, threads[i], stacks[stack], 1, cairn_rng_at(7, drawn++) % MS);
        }
    }
    return story_end(&story);
}

/* Adding threads up by process saves cells; nothing that is told without them may change. */
static void test_threads_that_are_joined_change_no_row(void **state)
{
    struct cairn_model *model = many_threads();
    (void)state;

    for (int folded = 0; folded < 2; folded++)
        for (int metric = 0; metric < CAIRN_METRIC_SAMPLED; metric++) {
            struct cairn_tally apart, joined;
            struct cairn_filter filter;

            cairn_filter_init(&filter);
            filter.metric = (enum cairn_metric)metric;
            filter.only_my_code = folded;
            apart = tally_of(model, &filter);
            filter.threads_joined = true;
            joined = tally_of(model, &filter);
            assert_closed(&apart);
            assert_closed(&joined);
            assert_true(joined.cell_count < apart.cell_count);
            assert_memory_equal(apart.phase, joined.phase, sizeof(apart.phase));
            assert_memory_equal(apart.draws, joined.draws, sizeof(apart.draws));
            for (int by = 0; by < CAIRN_BY_COUNT; by++)
                for (int options = 0; options < 4; options++)
                    assert_same_rows(&apart, &joined,
                                     &(struct cairn_rows_options){.by = (enum cairn_by)by,
                                                                  .with_idle = options & 1,
                                                                  .program_only = options & 2});
            cairn_tally_release(&apart);
            cairn_tally_release(&joined);
        }
    cairn_model_free(model);
}

/* However thinly time lies on the stacks: what is rounded per stack would all go to one state. */
static void test_samples_go_to_states_as_their_time_does(void **state)
{
    const struct cairn_rows_options options = {.by = CAIRN_BY_STATE, .with_idle = true};
    struct cairn_tally tally;
    struct cairn_model *model;
    struct cairn_rows rows;
    struct story story;
    unsigned thread;
    (void)state;

    story_begin(&story, NULL, 1);
    thread = story_thread(&story, 10, 10, "MainThread");
    for (int i = 0; i < 100; i++) {
        char stack[64];

        story_tick(&story, MS);
        snprintf(stack, sizeof(stack), "<module> /u/a.py:1;f%d /u/a.py:5", i);
        story_sample(&story, thread, stack, 1, MS * 4 / 10);
    }
    model = story_end(&story);
    tally = tally_of(model, NULL);
    assert_int_equal(cairn_rows_make(&tally, &options, &rows, NULL), 0);
    assert_int_equal(rows.count, 2); /* blocked, running */
    assert_int_equal(rows.items[0].self.ticks, 60);
    assert_int_equal(rows.items[1].self.ticks, 40);
    cairn_rows_release(&rows);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* Two recordings give the same report whichever comes first. */
static void test_the_order_of_files_does_not_matter(void **state)
{
    char paths[2][64];
    struct cairn_rows rows[2];
    struct cairn_tally tallies[2];
    struct cairn_model *models[2];
    struct cairn_rows_options options = {.by = CAIRN_BY_LINE, .with_idle = true};
    (void)state;

    for (int file = 0; file < 2; file++) {
        struct story story;
        unsigned thread;

        snprintf(paths[file], sizeof(paths[file]), "/tmp/cairn-story-%d-%d", (int)getpid(), file);
        story_begin(&story, paths[file], 1);
        thread = story_thread(&story, 10 + (uint64_t)file, 10 + (uint64_t)file, "MainThread");
        for (int tick = 0; tick < 40; tick++) {
            char stack[128];

            story_tick(&story, MS);
            snprintf(stack, sizeof(stack), "<module> /u/a.py:1;f /u/a.py:5@%d;g%d /u/b.py:%d",
                     5 + tick % 3, (tick * (file + 3)) % 7, 1 + tick % 7);
            story_sample(&story, thread, stack, 1, (uint64_t)tick * 10000);
        }
        story_end(&story);
    }
    for (int order = 0; order < 2; order++) {
        const char *both[] = {paths[order], paths[1 - order]};

        assert_int_equal(cairn_model_load(both, 2, &models[order], NULL), 0);
        tallies[order] = tally_of(models[order], NULL);
        assert_int_equal(tallies[order].total.ticks, 80);
        assert_int_equal(cairn_rows_make(&tallies[order], &options, &rows[order], NULL), 0);
    }
    assert_int_equal(rows[0].count, rows[1].count);
    for (size_t i = 0; i < rows[0].count; i++) {
        const struct cairn_row *a = &rows[0].items[i], *b = &rows[1].items[i];

        assert_int_equal(a->qualname.size_bytes, b->qualname.size_bytes);
        assert_memory_equal(a->qualname.data, b->qualname.data, a->qualname.size_bytes);
        assert_int_equal(a->line, b->line);
        assert_int_equal(a->self.value_ns, b->self.value_ns);
        assert_int_equal(a->total.value_ns, b->total.value_ns);
    }
    for (int order = 0; order < 2; order++) {
        cairn_rows_release(&rows[order]);
        cairn_tally_release(&tallies[order]);
        cairn_model_free(models[order]);
        unlink(paths[order]);
    }
}

static void test_memory_that_runs_out_is_an_answer(void **state)
{
    static const char *const stacks[] = {
        "<module> /u/a.py:1;loads " LIB "json/__init__.py:9",
        "<module> /u/a.py:1;f /u/a.py:5",
    };
    struct cairn_model *model = one_thread(stacks, 2, "run");
    struct cairn_filter filter;
    long failures = 0;
    int code;
    (void)state;

    cairn_filter_init(&filter);
    filter.only_my_code = true;
    filter.ignore = patterns((const char *const[2]){"nothing"});
    do {
        struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION};
        struct cairn_rows rows, callers, callees, self;
        struct cairn_tally tally;
        bool made;

        cairn_alloc_fail_after(failures++);
        code = cairn_tally_make(model, &filter, &tally, NULL);
        made = code == 0;
        if (code == 0)
            code = cairn_rows_make(&tally, &options, &rows, NULL);
        if (code == 0) {
            cairn_rows_release(&rows);
            code = cairn_rows_callers(&tally, "f", &callers, &callees, &self, NULL);
        }
        if (code == 0) {
            cairn_rows_release(&callers);
            cairn_rows_release(&callees);
            cairn_rows_release(&self);
        }
        if (made)
            cairn_tally_release(&tally);
        assert_true(code == 0 || code == -CAIRN_ENOMEM);
    } while (cairn_alloc_has_failed());
    cairn_alloc_fail_after(-1);
    assert_int_equal(code, 0);
    assert_true(failures > 30);
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_are_told_by_the_stack),
        cmocka_unit_test(test_other_threads_never_start_up),
        cmocka_unit_test(test_idle_is_blocked_time_in_known_frames),
        cmocka_unit_test(test_threads_outside_python_wait),
        cmocka_unit_test(test_filters_choose_threads_stacks_and_times),
        cmocka_unit_test(test_a_bad_regex_is_a_usage_error),
        cmocka_unit_test(test_only_my_code_folds_the_rest),
        cmocka_unit_test(test_threads_that_are_joined_change_no_row),
        cmocka_unit_test(test_samples_go_to_states_as_their_time_does),
        cmocka_unit_test(test_the_order_of_files_does_not_matter),
        cmocka_unit_test(test_memory_that_runs_out_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
