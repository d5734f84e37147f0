#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "role_rows.h"
#include "story.h"

#define MS 1000000u
#define LIB "/usr/lib/python3.12/"
#define MAIN "<module> /u/train.py:1;main /u/train.py:3"
#define BOOTSTRAP "_bootstrap " LIB "multiprocessing/process.py:292"
#define SPAWN                                                                                      \
    "python3 -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5) "           \
    "--multiprocessing-fork"

struct teller {
    struct story story;
    struct {
        uint64_t pid;
        uint32_t id;
    } processes[STORY_THREADS_MAX];
    size_t count;
};

/* A process with one thread that stands on `stack` ("": it is never sampled) for `ticks` ms. */
static void tell(struct teller *t, uint64_t pid, uint64_t parent, const char *command,
                 enum cairn_birth birth, const char *stack, uint64_t ticks)
{
    uint32_t above = 0;
    unsigned thread;

    for (size_t i = 0; i < t->count; i++)
        if (t->processes[i].pid == parent)
            above = t->processes[i].id;
    t->processes[t->count].pid = pid;
    t->processes[t->count++].id = story_process(&t->story, pid, above, command, birth);
    if (!*stack)
        return;
    thread = story_thread(&t->story, pid, pid, "MainThread");
    for (uint64_t i = 0; i < ticks; i++)
        story_tick(&t->story, MS);
    story_sample(&t->story, thread, stack, ticks, ticks * MS / 2);
}

/* A trainer with a pool by fork, one by forkserver, helpers, a tool it runs twice, a worker that
 * forks by itself and one that has workers of its own. */
static struct cairn_model *tree(void)
{
    struct teller t = {0};
    const char *fork_stack = MAIN ";" BOOTSTRAP ";work /u/train.py:9";
    const char *train = "python3 train.py";

    story_begin(&t.story, NULL, 1);
    tell(&t, 10, 0, train, CAIRN_BIRTH_UNKNOWN, MAIN, 90);
    tell(&t, 20, 10, train, CAIRN_BIRTH_FORK, fork_stack, 10);
    tell(&t, 22, 10, train, CAIRN_BIRTH_FORK, fork_stack, 50);
    tell(&t, 24, 10, train, CAIRN_BIRTH_FORK, fork_stack, 20);
    tell(&t, 30, 10, "python3 -c from multiprocessing.resource_tracker import main;main(5)",
         CAIRN_BIRTH_EXEC, "", 0);
    tell(&t, 32, 10, "python3 -c from multiprocessing.forkserver import main; main(7, 8)",
         CAIRN_BIRTH_EXEC, "<module> <string>:1;main " LIB "multiprocessing/forkserver.py:20", 5);
    tell(&t, 34, 32, "python3 -c from multiprocessing.forkserver import main; main(7, 8)",
         CAIRN_BIRTH_FORK, "<module> <string>:1;" BOOTSTRAP ";work /u/train.py:9", 5);
    tell(&t, 36, 10, SPAWN, CAIRN_BIRTH_EXEC, "", 0);
    tell(&t, 40, 10, "/usr/bin/zip -r a", CAIRN_BIRTH_EXEC, "[not python]", 7);
    tell(&t, 42, 10, "/usr/bin/zip -r b", CAIRN_BIRTH_EXEC, "[not python]", 9);
    tell(&t, 50, 20, train, CAIRN_BIRTH_FORK, MAIN ";" BOOTSTRAP ";spill /u/train.py:20", 3);
    tell(&t, 52, 22, train, CAIRN_BIRTH_FORK,
         MAIN ";" BOOTSTRAP ";start /u/train.py:30;" BOOTSTRAP ";work /u/train.py:9", 3);
    tell(&t, 60, 10, train, CAIRN_BIRTH_FORK, MAIN ";daemon /u/train.py:40", 3);
    tell(&t, 62, 10, "trainer: flush", CAIRN_BIRTH_FORK, MAIN ";flush /u/train.py:50", 3);
    return story_end(&t.story);
}

static uint32_t process_of(const struct cairn_model *model, uint64_t pid)
{
    const struct cairn_process *processes;
    size_t count = cairn_model_processes(model, &processes);

    for (size_t i = 0; i < count; i++)
        if (processes[i].pid == pid)
            return (uint32_t)i;
    fail_msg("no process %llu", (unsigned long long)pid);
    return 0;
}

static void assert_label(const struct cairn_model *model, const struct cairn_roles *roles,
                         uint64_t pid, const char *want)
{
    struct cairn_buf text;

    cairn_buf_init(&text, 4096);
    cairn_roles_label(roles, process_of(model, pid), &text);
    if (strcmp(cairn_buf_cstr(&text), want) != 0)
        fail_msg("%llu is \"%s\", not \"%s\"", (unsigned long long)pid, cairn_buf_cstr(&text),
                 want);
    cairn_buf_release(&text);
}

static void test_every_process_has_the_role_it_was_started_for(void **state)
{
    static const struct {
        uint64_t pid;
        const char *label;
    } cases[] = {
        {10, "train"},
        {20, "train worker 0"},
        {22, "train worker 1"},
        {24, "train worker 2"},
        {30, "resource_tracker"},
        {32, "forkserver"},
        {34, "forkserver worker"},
        {36, "train worker 3"},
        {40, "zip 0"},
        {42, "zip 1"},
        {50, "train worker fork"},
        {52, "train worker worker"},
        {60, "train fork"},
        {62, "trainer"},
    };
    struct cairn_model *model = tree();
    struct cairn_roles roles;

    (void)state;
    assert_int_equal(cairn_roles_make(model, &roles), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_label(model, &roles, cases[i].pid, cases[i].label);
    cairn_roles_release(&roles);
    cairn_model_free(model);
}

/* Recordings of before said nothing of it: the command line tells who is a copy. */
static void test_without_a_birth_the_command_tells(void **state)
{
    struct teller t = {0};
    struct cairn_model *model;
    struct cairn_roles roles;

    (void)state;
    story_begin(&t.story, NULL, 1);
    tell(&t, 10, 0, "python3 /usr/bin/gunicorn app", CAIRN_BIRTH_UNKNOWN, "f /u/a.py:1", 5);
    tell(&t, 11, 10, "python3 /usr/bin/gunicorn app", CAIRN_BIRTH_UNKNOWN,
         "f /u/a.py:1;init_process /x/dist-packages/gunicorn/workers/base.py:9", 5);
    tell(&t, 12, 10, "python3 /usr/bin/gunicorn app", CAIRN_BIRTH_UNKNOWN, "f /u/a.py:1", 5);
    tell(&t, 13, 10, "sleep 1", CAIRN_BIRTH_UNKNOWN, "[not python]", 5);
    tell(&t, 14, 0, "", CAIRN_BIRTH_UNKNOWN, "[not python]", 5);
    /* Over before anybody asked it for its command line; it is called what its parent is called. */
    tell(&t, 15, 10, "", CAIRN_BIRTH_UNKNOWN, "[not python]", 1);
    /* Forked by that one: whether it is a copy is told by whose copy that was. */
    tell(&t, 16, 15, "python3 /usr/bin/gunicorn app", CAIRN_BIRTH_UNKNOWN, "f /u/a.py:1", 5);
    tell(&t, 17, 15, "sleep 1", CAIRN_BIRTH_UNKNOWN, "[not python]", 5);
    model = story_end(&t.story);
    assert_int_equal(cairn_roles_make(model, &roles), 0);
    assert_label(model, &roles, 10, "gunicorn");
    assert_label(model, &roles, 11, "worker");
    assert_label(model, &roles, 12, "gunicorn fork 0");
    assert_label(model, &roles, 15, "gunicorn fork 1");
    assert_label(model, &roles, 16, "gunicorn fork fork");
    assert_label(model, &roles, 13, "gunicorn sleep");
    assert_label(model, &roles, 17, "gunicorn fork sleep");
    assert_label(model, &roles, 14, "python3");
    cairn_roles_release(&roles);
    cairn_model_free(model);
}

/* It had its stack when it was met and was over when it was asked for its command line. */
static void test_a_copy_that_was_over_at_once(void **state)
{
    struct teller t = {0};
    struct cairn_model *model;
    struct cairn_roles roles;

    (void)state;
    story_begin(&t.story, NULL, 1);
    tell(&t, 10, 0, "python3 train.py", CAIRN_BIRTH_UNKNOWN, "f /u/a.py:1", 5);
    tell(&t, 11, 10, "", CAIRN_BIRTH_FORK, "", 0);
    tell(&t, 12, 11, "python3 train.py", CAIRN_BIRTH_FORK, "f /u/a.py:1", 5);
    tell(&t, 13, 10, "", CAIRN_BIRTH_EXEC, "[not python]", 5);
    model = story_end(&t.story);
    assert_int_equal(cairn_roles_make(model, &roles), 0);
    assert_label(model, &roles, 11, "train fork");
    assert_label(model, &roles, 12, "train fork fork");
    assert_label(model, &roles, 13, "python3");
    cairn_roles_release(&roles);
    cairn_model_free(model);
}

/* A shell in front of Python, as pyenv's: it asks other programs which one is meant, and becomes
 * that: it has another track from then on. */
static void test_what_a_shell_ran_before_it_became_the_program(void **state)
{
    const char *shim = "bash /home/u/.pyenv/shims/python3 train.py";
    unsigned thread;
    struct teller t = {0};
    struct cairn_model *model;
    struct cairn_roles roles;

    (void)state;
    story_begin(&t.story, NULL, 1);
    tell(&t, 10, 0, shim, CAIRN_BIRTH_EXEC, "", 0);
    thread = story_thread(&t.story, 10, 10, "MainThread");
    for (int i = 0; i < 5; i++)
        story_tick(&t.story, MS);
    tell(&t, 11, 10, shim, CAIRN_BIRTH_FORK, "", 0);
    tell(&t, 12, 11, "", CAIRN_BIRTH_FORK, "[not python]", 1);
    tell(&t, 13, 12, "readlink -f python3", CAIRN_BIRTH_EXEC, "", 0);
    tell(&t, 14, 10, "python3 prepare.py", CAIRN_BIRTH_EXEC, "f /u/b.py:1", 5);
    tell(&t, 10, 0, "python3 train.py", CAIRN_BIRTH_EXEC, "", 0);
    story_sample(&t.story, thread, "f /u/a.py:1", 5, 0);
    tell(&t, 20, 10, "readlink -f data", CAIRN_BIRTH_EXEC, "", 0);
    tell(&t, 21, 10, "", CAIRN_BIRTH_FORK, "", 0);
    /* A shell that becomes another tool has no such part. */
    tell(&t, 30, 10, "sh -c tool", CAIRN_BIRTH_EXEC, "", 0);
    tell(&t, 31, 30, "cat", CAIRN_BIRTH_EXEC, "", 0);
    tell(&t, 30, 10, "tool", CAIRN_BIRTH_EXEC, "", 0);
    model = story_end(&t.story);
    assert_int_equal(cairn_roles_make(model, &roles), 0);
    assert_label(model, &roles, 10, "train");
    assert_label(model, &roles, 11, "start-up 0");
    assert_label(model, &roles, 12, "start-up 1");
    assert_label(model, &roles, 13, "start-up 2");
    assert_label(model, &roles, 14, "prepare");
    assert_label(model, &roles, 20, "readlink");
    assert_label(model, &roles, 21, "fork");
    assert_label(model, &roles, 31, "cat");
    cairn_roles_release(&roles);
    cairn_model_free(model);
}

/* Not below site-packages: unpacked beside the program, or a checkout. */
static void test_a_worker_of_a_library_that_lies_anywhere(void **state)
{
    struct teller t = {0};
    struct cairn_model *model;
    struct cairn_roles roles;

    (void)state;
    story_begin(&t.story, NULL, 1);
    tell(&t, 10, 0, "python3 -m gunicorn app", CAIRN_BIRTH_UNKNOWN, "f /u/a.py:1", 5);
    tell(&t, 11, 10, "python3 -m gunicorn app", CAIRN_BIRTH_FORK,
         "f /u/a.py:1;init_process /srv/vendor/gunicorn/workers/base.py:9", 5);
    tell(&t, 12, 10, "python3 -m gunicorn app", CAIRN_BIRTH_FORK,
         "f /u/a.py:1;init_process /srv/gunicorn/my/workers/base.py:9", 5);
    model = story_end(&t.story);
    assert_int_equal(cairn_roles_make(model, &roles), 0);
    assert_label(model, &roles, 11, "worker");
    assert_label(model, &roles, 12, "fork");
    cairn_roles_release(&roles);
    cairn_model_free(model);
}

static const struct cairn_role_row *find(const struct cairn_tally *tally,
                                         const struct cairn_role_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->count; i++)
        if (!strcmp((const char *)tally->roles.items[rows->items[i].role].name.data, name))
            return &rows->items[i];
    fail_msg("no role %s", name);
    return NULL;
}

static void test_times_of_a_role_are_spread_not_added(void **state)
{
    const struct cairn_rows_options options = {.with_idle = true};
    struct cairn_model *model = tree();
    const struct cairn_function *functions;
    const struct cairn_role_row *row;
    struct cairn_role_rows rows;
    struct cairn_filter filter;
    struct cairn_tally tally;

    (void)state;
    cairn_filter_init(&filter);
    assert_int_equal(cairn_tally_make(model, &filter, &tally, NULL), 0);
    assert_int_equal(cairn_role_rows_make(&tally, &options, &rows), 0);
    cairn_model_functions(tally.model, &functions);
    row = find(&tally, &rows, "train worker");
    assert_int_equal(tally.roles.items[row->role].count, 4);
    assert_int_equal(row->processes, 3); /* one was never sampled */
    assert_int_equal(row->first, 0);
    assert_int_equal(row->last, 2);
    assert_int_equal(row->wall.min_ns, 10 * MS);
    assert_int_equal(row->wall.median_ns, 20 * MS);
    assert_int_equal(row->wall.max_ns, 50 * MS);
    assert_int_equal(row->cpu.min_ns, 5 * MS);
    assert_int_equal(row->cpu.max_ns, 25 * MS);
    assert_int_equal(row->base_ns, 80 * MS);
    assert_int_equal(row->function_ns, 80 * MS);
    assert_string_equal((const char *)functions[row->function].name.data, "work");
    row = find(&tally, &rows, "zip");
    assert_int_equal(row->wall.median_ns, 8 * MS); /* of two: between them */
    for (size_t i = 0; i < rows.count; i++)
        assert_true(i == 0 || rows.items[i - 1].role < rows.items[i].role);
    cairn_role_rows_release(&rows);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_a_filter_takes_roles(void **state)
{
    static const struct {
        const char *process;
        uint64_t ticks;
    } cases[] = {
        {"worker", 10 + 50 + 20 + 5 + 3},
        {"train worker", 80},
        {"train worker 1", 50},
        {"zip", 16},
        {"zip 1", 9},
        {"zip 2", 0},
        {"forkserver*", 10},
        {"22", 50},
        {"[fz]*", 5 + 5 + 16 + 3 + 3},
    };
    struct cairn_model *model = tree();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_filter filter;
        struct cairn_tally tally;

        cairn_filter_init(&filter);
        filter.process = cases[i].process;
        assert_int_equal(cairn_tally_make(model, &filter, &tally, NULL), 0);
        if (tally.total.ticks != cases[i].ticks)
            fail_msg("%s: %llu ticks", cases[i].process, (unsigned long long)tally.total.ticks);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_process_has_the_role_it_was_started_for),
        cmocka_unit_test(test_without_a_birth_the_command_tells),
        cmocka_unit_test(test_a_copy_that_was_over_at_once),
        cmocka_unit_test(test_what_a_shell_ran_before_it_became_the_program),
        cmocka_unit_test(test_a_worker_of_a_library_that_lies_anywhere),
        cmocka_unit_test(test_times_of_a_role_are_spread_not_added),
        cmocka_unit_test(test_a_filter_takes_roles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
