#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "procfs.h"

static void test_a_name_may_hold_brackets_and_spaces(void **state)
{
    struct cairn_proc_stat stat;

    (void)state;
    prctl(PR_SET_NAME, "a) R 1 (b c");
    assert_int_equal(cairn_proc_stat(getpid(), 0, &stat), 0);
    assert_string_equal(stat.comm, "a) R 1 (b c");
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.ppid, getppid());
    assert_true(stat.start_ns > 0);
    prctl(PR_SET_NAME, "test_procfs");
}

static void test_a_process_that_is_gone_is_said_to_be_gone(void **state)
{
    struct cairn_pids pids = {0};
    struct cairn_proc_stat stat = {.ppid = 77};
    struct cairn_buf text;
    pid_t pid = fork(), ns_tid = 77;
    uint64_t bytes = 77;

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cairn_buf_init(&text, 4096);
    assert_int_equal(cairn_proc_stat(pid, 0, &stat), -CAIRN_EGONE);
    assert_int_equal(stat.ppid, 77);
    assert_int_equal(cairn_proc_threads(pid, &pids), -CAIRN_EGONE);
    assert_int_equal(cairn_proc_children(pid, &pids), -CAIRN_EGONE);
    assert_int_equal(cairn_proc_ns_tid(pid, 0, &ns_tid), -CAIRN_EGONE);
    assert_int_equal(ns_tid, 77);
    assert_int_equal(cairn_proc_cmdline(pid, &text), -CAIRN_EGONE);
    assert_int_equal(cairn_proc_exe(pid, &text), -CAIRN_EGONE);
    assert_int_equal(cairn_proc_peak_bytes(pid, &bytes), -CAIRN_EGONE);
    assert_int_equal(cairn_proc_mapped_bytes(pid, &bytes), -CAIRN_EGONE);
    assert_int_equal(bytes, 77);
    assert_int_equal(cairn_proc_schedstat_open(pid, pid), -CAIRN_EGONE);
    cairn_vec_release(&pids);
    cairn_buf_release(&text);
}

/* Who is waited for while its file is read has no number any more: 0 in each namespace. */
static void test_a_number_that_is_given_back_is_of_nobody(void **state)
{
    pid_t ns_tid = 77;

    (void)state;
    assert_int_equal(cairn_proc_ns_tid_parse("Pid:\t9\nNSpid:\t0\nNSpgid:\t7\n", 9, &ns_tid),
                     -CAIRN_EGONE);
    assert_int_equal(cairn_proc_ns_tid_parse("NSpid:\t0\t0\nNSpgid:\t7\n", 9, &ns_tid),
                     -CAIRN_EGONE);
    assert_int_equal(cairn_proc_ns_tid_parse("NSpid:\t-2\n", 9, &ns_tid), -CAIRN_EDAMAGED);
    assert_int_equal(cairn_proc_ns_tid_parse("NSpid:\tx\n", 9, &ns_tid), -CAIRN_EDAMAGED);
    assert_int_equal(ns_tid, 77);
    assert_int_equal(cairn_proc_ns_tid_parse("Pid:\t9\nNSpid:\t9\t4\nNSpgid:\t7\n", 9, &ns_tid), 0);
    assert_int_equal(ns_tid, 4);
    assert_int_equal(cairn_proc_ns_tid_parse("Pid:\t9\n", 9, &ns_tid), 0);
    assert_int_equal(ns_tid, 9);
}

static void test_children_and_threads_are_listed(void **state)
{
    struct cairn_pids pids = {0};
    int hold[2];
    pid_t pid, ns_tid;
    char byte;

    (void)state;
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        _exit(0);
    }
    close(hold[0]);
    assert_int_equal(cairn_proc_children(getpid(), &pids), 0);
    assert_int_equal(pids.count, 1);
    assert_int_equal(pids.items[0], pid);
    assert_int_equal(cairn_proc_threads(pid, &pids), 0);
    assert_int_equal(pids.count, 1);
    assert_int_equal(pids.items[0], pid);
    assert_int_equal(cairn_proc_ns_tid(pid, pid, &ns_tid), 0);
    assert_true(ns_tid > 0);
    close(hold[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cairn_vec_release(&pids);
}

static void test_schedstat_counts_the_time_a_thread_used(void **state)
{
    struct timespec now;
    struct cairn_proc_schedstat before, after;
    uint64_t used_ns;
    int fd = cairn_proc_schedstat_open(getpid(), (pid_t)syscall(SYS_gettid));

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(cairn_proc_schedstat_read(fd, &before), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    used_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    while ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec < used_ns + 50000000u)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    sched_yield(); /* the books are closed at a switch or a tick */
    assert_int_equal(cairn_proc_schedstat_read(fd, &after), 0);
    assert_true(after.cpu_ns - before.cpu_ns > 30000000u);
    assert_true(before.turns > 0 && after.turns >= before.turns);
    close(fd);
}

static void test_the_process_book_holds_threads_that_are_gone(void **state)
{
    struct rusage usage;
    uint64_t cpu_ns = 0, used_ns;
    siginfo_t info;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        while (cairn_proc_cpu_ns(getpid(), &cpu_ns) == 0 && cpu_ns < 20000000u)
            ;
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(cairn_proc_cpu_ns(pid, &cpu_ns), 0); /* a zombie has its book */
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    used_ns = ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
              ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
    /* Who can be waited for still runs for some us, to its very end. */
    assert_true(cpu_ns >= 20000000u && used_ns + 2000u > cpu_ns && used_ns < cpu_ns + 1000000u);
    assert_int_equal(cairn_proc_cpu_ns(pid, &cpu_ns), -CAIRN_EGONE);
}

/* Opening a path to it takes long at times, see task_path(); without descriptors it fails before
 * the path is looked at, and otherwise. */
static void test_a_process_that_is_gone_is_not_looked_up(void **state)
{
    struct rlimit limit, none;
    struct cairn_proc_stat stat;
    struct cairn_pids pids = {0};
    int gone_code, threads_code, file_code, there_code;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    gone_code = cairn_proc_stat(pid, 0, &stat);
    threads_code = cairn_proc_threads(pid, &pids);
    file_code = cairn_proc_schedstat_open(getpid(), pid);
    there_code = cairn_proc_stat(getpid(), 0, &stat);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(gone_code, -CAIRN_EGONE);
    assert_int_equal(threads_code, -CAIRN_EGONE);
    assert_int_equal(file_code, -CAIRN_EGONE);
    assert_int_equal(there_code, -CAIRN_EIO);
}

/* A child that says over a pipe that it is there, having turned into `cat` when `execs`. */
static pid_t start_child(bool execs, int *ret_in, int *ret_out)
{
    int in[2], out[2];
    char byte = 'x';
    pid_t pid;

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        if (execs)
            execlp("cat", "cat", (char *)NULL);
        while (read(0, &byte, 1) == 1)
            if (write(1, &byte, 1) != 1)
                _exit(1);
        _exit(0);
    }
    close(in[0]);
    close(out[1]);
    assert_int_equal(write(in[1], &byte, 1), 1);
    assert_int_equal(read(out[0], &byte, 1), 1);
    *ret_in = in[1];
    *ret_out = out[0];
    return pid;
}

static void test_the_start_of_the_stack_tells_a_copy_from_a_program(void **state)
{
    struct cairn_proc_stat self, child;

    (void)state;
    assert_int_equal(cairn_proc_stat(getpid(), 0, &self), 0);
    assert_true(self.start_stack != 0);
    for (int execs = 0; execs < 2; execs++) {
        int in, out;
        pid_t pid = start_child(execs, &in, &out);

        assert_int_equal(cairn_proc_stat(pid, 0, &child), 0);
        if (child.start_stack == 0) {
            print_message("# skip: the kernel hides the stack of a child\n");
            close(in);
            skip();
        }
        assert_int_equal(child.start_stack == self.start_stack, !execs);
        close(in);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        close(out);
    }
}

/* The kernel moves the stack once more before a program begins. */
static void test_a_program_has_one_start_of_its_stack(void **state)
{
    uint64_t own, met;
    struct cairn_proc_stat stat;

    (void)state;
    assert_int_equal(cairn_proc_stat(getpid(), 0, &stat), 0);
    own = stat.start_stack;
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            execlp("true", "true", (char *)NULL);
            _exit(1);
        }
        met = 0;
        while (cairn_proc_stat(pid, 0, &stat) == 0 && !stat.is_over) {
            if (!stat.start_stack || stat.start_stack == own)
                continue;
            assert_true(!met || stat.start_stack == met);
            met = stat.start_stack;
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
}

static void test_who_is_a_zombie_ends(void **state)
{
    struct cairn_proc_stat stat;
    siginfo_t info;
    pid_t pid;

    (void)state;
    assert_int_equal(cairn_proc_stat(getpid(), 0, &stat), 0);
    assert_false(stat.is_ending || stat.is_over);
    pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(cairn_proc_stat(pid, 0, &stat), 0);
    assert_true(stat.is_ending && stat.is_over);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_the_words_of_a_command_stay_apart(void **state)
{
#define WORDS(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    static const struct {
        struct {
            const char *data;
            size_t size_bytes;
        } words;
        const char *shown;
    } cases[] = {
        {WORDS("python3\0my shop.py\0"), "python3 'my shop.py'"},
        {WORDS("python3\0-c\0import a; a.b()\0"), "python3 -c 'import a; a.b()'"},
        {WORDS("grep\0\0it's\0"), "grep '' 'it'\\''s'"},
        {WORDS("cut\0of"), "cut of"},
        {WORDS("gunicorn: master [app]\0"), "gunicorn: master [app]"}, /* a title */
        {WORDS("gunicorn: worker [app]\0\0\0\0\0"), "gunicorn: worker [app]"},
        {WORDS("\0\0"), ""},
        {WORDS(""), ""},
    };
#undef WORDS
    struct cairn_buf text;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cairn_buf_init(&text, 1024);
        assert_int_equal(
            cairn_proc_cmdline_parse(cases[i].words.data, cases[i].words.size_bytes, &text), 0);
        assert_string_equal(cairn_buf_cstr(&text), cases[i].shown);
        cairn_buf_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_a_zombie_ends),
        cmocka_unit_test(test_the_words_of_a_command_stay_apart),
        cmocka_unit_test(test_a_name_may_hold_brackets_and_spaces),
        cmocka_unit_test(test_a_process_that_is_gone_is_said_to_be_gone),
        cmocka_unit_test(test_a_number_that_is_given_back_is_of_nobody),
        cmocka_unit_test(test_children_and_threads_are_listed),
        cmocka_unit_test(test_the_start_of_the_stack_tells_a_copy_from_a_program),
        cmocka_unit_test(test_a_program_has_one_start_of_its_stack),
        cmocka_unit_test(test_schedstat_counts_the_time_a_thread_used),
        cmocka_unit_test(test_the_process_book_holds_threads_that_are_gone),
        cmocka_unit_test(test_a_process_that_is_gone_is_not_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
