#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "err.h"
#include "perf.h"
#include "procfs.h"

static void refused(void)
{
    print_message("# skip: perf_event_open is refused here\n");
    skip();
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#define WINDOWS 40
#define WINDOW_NS 4000000u

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* The kernel keeps two books: the event's runs on while the host has the processor for itself, the
 * thread's does not; and what a switch takes is the thread's, not the event's. Of many short
 * windows there are some without the one, and most have little of the other. */
static void test_the_clock_agrees_with_the_threads_own(void **state)
{
    struct cairn_perf_clock clock = {0};
    double ratios[WINDOWS];
    uint64_t start_ns, own_ns, from_ns, seen_ns;
    int code = cairn_perf_clock_open(&clock, (pid_t)syscall(SYS_gettid));

    (void)state;
    if (code == -CAIRN_EPERM || code == -CAIRN_EUNSUPPORTED)
        refused();
    assert_int_equal(code, 0);
    for (size_t i = 0; i < WINDOWS; i++) {
        assert_int_equal(cairn_perf_clock_read(&clock, &from_ns), 0);
        start_ns = thread_cpu_ns();
        while (thread_cpu_ns() - start_ns < WINDOW_NS)
            ;
        own_ns = thread_cpu_ns() - start_ns;
        assert_int_equal(cairn_perf_clock_read(&clock, &seen_ns), 0);
        ratios[i] = (double)(seen_ns - from_ns) / (double)own_ns;
    }
    qsort(ratios, WINDOWS, sizeof(ratios[0]), by_value);
    print_message("the clock's time over the thread's: %.4f, %.4f to %.4f\n", ratios[WINDOWS / 2],
                  ratios[0], ratios[WINDOWS - 1]);
    assert_true(ratios[WINDOWS / 2] >= 0.98);
    assert_true(ratios[WINDOWS / 4] <= 1.02);
    cairn_perf_clock_close(&clock);
    cairn_perf_clock_close(&clock);
}

/* Whether a child is on a processor, or on its way off it. */
static bool runs(pid_t pid)
{
    struct cairn_proc_syscall call;
    int fd = cairn_proc_syscall_open(pid, pid);

    assert_true(fd >= 0);
    assert_int_equal(cairn_proc_syscall_read(fd, &call), 0);
    close(fd);
    return call.runs;
}

/* A child that sleeps, then runs for a moment, then says so, then sleeps. */
static void test_the_page_moves_when_a_thread_is_put_on_a_processor(void **state)
{
    struct cairn_perf_clock clock = {0};
    int go[2], done[2];
    uint64_t before_ns, after_ns;
    char byte = 0;
    pid_t pid;
    int code;

    (void)state;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(done, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        uint64_t start_ns;

        close(go[1]);
        if (read(go[0], &byte, 1) != 1)
            _exit(1);
        start_ns = thread_cpu_ns();
        while (thread_cpu_ns() - start_ns < 2000000u)
            ;
        if (write(done[1], &byte, 1) != 1)
            _exit(1);
        (void)!read(go[0], &byte, 1);
        _exit(0);
    }
    close(go[0]);
    code = cairn_perf_clock_open(&clock, pid);
    if (code == 0) {
        struct cairn_proc_stat stat = {0};

        while (stat.state != 'S') /* at rest in its read; the alarm bounds this */
            assert_int_equal(cairn_proc_stat(pid, 0, &stat), 0);
        /* It is said to be at rest a moment before it leaves its processor. */
        while (runs(pid))
            ;
        cairn_perf_clock_moved(&clock);
        assert_false(cairn_perf_clock_moved(&clock));
        cairn_perf_clock_read(&clock, &before_ns);
        assert_int_equal(write(go[1], &byte, 1), 1);
        assert_int_equal(read(done[0], &byte, 1), 1);
        assert_true(cairn_perf_clock_moved(&clock));
        assert_int_equal(cairn_perf_clock_read(&clock, &after_ns), 0);
        assert_true(after_ns - before_ns >= 1900000u);
    }
    close(go[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(done[0]);
    close(done[1]);
    cairn_perf_clock_close(&clock);
    if (code < 0)
        refused();
}

static void test_forks_execs_and_exits_of_a_tree_are_told(void **state)
{
    struct cairn_perf_watch *watch;
    struct cairn_perf_event event;
    unsigned forks = 0, execs = 0, exits = 0, names = 0;
    int hold[2], code;
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        prctl(PR_SET_NAME, "a name of its own");
        execl("/bin/sh", "sh", "-c", "(/bin/true; /bin/true; :)", (char *)NULL);
        _exit(1);
    }
    close(hold[0]);
    code = cairn_perf_watch_open(pid, &watch);
    close(hold[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (code == -CAIRN_EPERM || code == -CAIRN_EUNSUPPORTED || code == -CAIRN_ELIMIT)
        refused();
    assert_int_equal(code, 0);
    while (cairn_perf_watch_next(watch, &event)) {
        forks += event.kind == CAIRN_PERF_FORK && event.pid != event.ppid;
        execs += event.kind == CAIRN_PERF_EXEC;
        names += event.kind == CAIRN_PERF_NAME && event.tid == pid &&
                 strcmp(event.name, "a name of its o") == 0;
        exits += event.kind == CAIRN_PERF_EXIT;
        assert_true(event.time_ns > 0 && event.time_ns <= cairn_clock_mono_ns());
    }
    /* The shell, its subshell if it makes one, and two programs. */
    assert_in_range(forks, 2, 3);
    assert_int_equal(execs, 3);
    assert_int_equal(names, 1);
    assert_int_equal(exits, forks + 1);
    cairn_perf_watch_free(watch);
}

/* Goes on on the one of the processors of `all` that has so many before it. */
static void move_to(const cpu_set_t *all, int before)
{
    cpu_set_t one;
    int cpu = 0;

    while (!CPU_ISSET(cpu, all) || before-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        _exit(1);
}

/* A chain of so many, by turns on two processors, each of which waits for the next. */
static void fork_chain(const cpu_set_t *all, int count)
{
    pid_t child = 0;
    int status = 0;

    for (; count > 0 && child == 0; count--) {
        move_to(all, count % 2);
        child = fork();
    }
    _exit(child && (waitpid(child, &status, 0) != child || status != 0));
}

/* Who forks is told of before the child, whichever processors they were on. */
static void test_what_happened_first_is_told_first(void **state)
{
    enum { FORKS = 6 };
    struct cairn_perf_watch *watch;
    struct cairn_perf_event event;
    uint64_t latest_ns = 0, forks = 0;
    int hold[2], code, status;
    cpu_set_t all;
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2) {
        print_message("# skip: two processors are needed\n");
        skip();
    }
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        fork_chain(&all, FORKS);
    }
    close(hold[0]);
    code = cairn_perf_watch_open(pid, &watch);
    close(hold[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    if (code == -CAIRN_EPERM || code == -CAIRN_EUNSUPPORTED || code == -CAIRN_ELIMIT)
        refused();
    assert_int_equal(code, 0);
    while (cairn_perf_watch_next(watch, &event)) {
        assert_true(event.time_ns >= latest_ns);
        latest_ns = event.time_ns;
        forks += event.kind == CAIRN_PERF_FORK;
    }
    assert_int_equal(forks, FORKS);
    cairn_perf_watch_free(watch);
}

/* When somebody was born is known before that is told, and what is asked for is told all the same.
 */
static void test_a_birth_is_known_before_it_is_told(void **state)
{
    struct cairn_perf_watch *watch;
    struct cairn_perf_event event = {0};
    uint64_t birth_ns;
    int hold[2], made[2], code;
    char byte;
    pid_t pid, child;

    (void)state;
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    assert_int_equal(pipe2(made, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        child = fork();
        if (child == 0)
            _exit(0);
        _exit(write(made[1], &child, sizeof(child)) != sizeof(child));
    }
    close(hold[0]);
    close(made[1]);
    code = cairn_perf_watch_open(pid, &watch);
    close(hold[1]);
    assert_int_equal(read(made[0], &child, sizeof(child)), sizeof(child));
    close(made[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (code == -CAIRN_EPERM || code == -CAIRN_EUNSUPPORTED || code == -CAIRN_ELIMIT)
        refused();
    assert_int_equal(code, 0);
    birth_ns = cairn_perf_watch_birth_ns(watch, child);
    assert_true(birth_ns > 0);
    assert_int_equal(cairn_perf_watch_birth_ns(watch, pid), 0); /* it was there before */
    while (event.kind != CAIRN_PERF_FORK || event.tid != child)
        assert_true(cairn_perf_watch_next(watch, &event));
    assert_int_equal(event.time_ns, birth_ns);
    assert_int_equal(cairn_perf_watch_birth_ns(watch, child), 0);
    cairn_perf_watch_free(watch);
}

/* More children than the ring has room for, and nobody who reads it meanwhile: each has a record of
 * its birth and one of its end. */
static void test_records_without_room_are_counted(void **state)
{
    enum { CHILDREN = 600 };
    struct cairn_perf_watch *watch;
    struct cairn_perf_event event;
    uint64_t told = 0, lost;
    int hold[2], code;
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        for (int i = 0; i < CHILDREN; i++) {
            pid_t child = fork();

            if (child == 0)
                _exit(0);
            waitpid(child, NULL, 0);
        }
        _exit(0);
    }
    close(hold[0]);
    code = cairn_perf_watch_open(pid, &watch);
    close(hold[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (code == -CAIRN_EPERM || code == -CAIRN_EUNSUPPORTED || code == -CAIRN_ELIMIT)
        refused();
    assert_int_equal(code, 0);
    lost = cairn_perf_watch_lost(watch); /* nothing has told of them so far, or will */
    if (lost == 0)
        print_message("this kernel does not count what it had no room for\n");
    while (cairn_perf_watch_next(watch, &event))
        told += event.kind == CAIRN_PERF_LOST ? event.lost : 1;
    if (lost > 0)
        assert_int_equal(told + lost, 2 * CHILDREN + 1);
    cairn_perf_watch_free(watch);
}

static void test_a_thread_that_is_gone_is_said_to_be_gone(void **state)
{
    struct cairn_perf_clock clock = {0};
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(cairn_perf_clock_open(&clock, pid) < 0);
    assert_null((const void *)(uintptr_t)clock.page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_clock_agrees_with_the_threads_own),
        cmocka_unit_test(test_the_page_moves_when_a_thread_is_put_on_a_processor),
        cmocka_unit_test(test_forks_execs_and_exits_of_a_tree_are_told),
        cmocka_unit_test(test_what_happened_first_is_told_first),
        cmocka_unit_test(test_a_birth_is_known_before_it_is_told),
        cmocka_unit_test(test_records_without_room_are_counted),
        cmocka_unit_test(test_a_thread_that_is_gone_is_said_to_be_gone),
    };

    alarm(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
