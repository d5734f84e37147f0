/* The reader on living processes, and on some that die, change or forbid it under its hands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "pyread.h"

#define PYTHON "/usr/bin/python3"

struct child {
    pid_t pid;
    int told; /* a byte comes when the program is where it should be */
};

/* 0 when the program ended instead. */
static size_t wait_bytes(int fd, char *text, size_t size_bytes)
{
    size_t done = 0;
    ssize_t got;

    while (done < size_bytes && (got = read(fd, text + done, size_bytes - done)) > 0)
        done += (size_t)got;
    return done;
}

/* Runs `code`, in which say() tells that it is ready. */
static struct child start_python(const char *program, const char *code)
{
    static const char head[] = "import os, sys, time, threading\n"
                               "def say():\n"
                               "    os.write(3, b'x')\n";
    char text[2048];
    struct child child;
    int pipe_ends[2];
    char byte;

    snprintf(text, sizeof(text), "%s%s", head, code);
    assert_int_equal(pipe(pipe_ends), 0);
    child.pid = fork();
    if (child.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* when an assertion fails, nobody ends it */
        if (pipe_ends[1] != 3)
            dup2(pipe_ends[1], 3);
        execl(program, "python3", "-c", text, (char *)NULL);
        _exit(127);
    }
    close(pipe_ends[1]);
    child.told = pipe_ends[0];
    assert_int_equal(wait_bytes(child.told, &byte, 1), 1);
    return child;
}

static void end_child(struct child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    close(child->told);
}

static int open_pid(pid_t pid, struct cairn_pyread **ret_read, struct cairn_err *err)
{
    struct cairn_remote remote;

    cairn_remote_live(&remote, pid);
    return cairn_pyread_open(pid, &remote, NULL, NULL, ret_read, err);
}

static const struct cairn_pythread *thread_at(const struct cairn_pyread *reader, size_t index)
{
    size_t count;
    struct cairn_pythread *const *threads = cairn_pyread_threads(reader, &count);

    assert_true(index < count);
    return threads[index];
}

static void check_frame(const struct cairn_pyframe *frame, const char *name)
{
    assert_non_null(frame->code);
    assert_int_equal(frame->code->name.size_bytes, strlen(name));
    assert_memory_equal(frame->code->name.data, name, strlen(name));
}

static const char sleeper[] = "def inner():\n"
                              "    say()\n"
                              "    time.sleep(600)\n"
                              "def outer():\n"
                              "    inner()\n"
                              "outer()\n";

static void test_a_sleeping_stack_is_read(void **state)
{
    struct child child = start_python(PYTHON, sleeper);
    struct cairn_pyread *reader;
    struct cairn_err err = {0};
    const struct cairn_pythread *thread;

    (void)state;
    assert_int_equal(open_pid(child.pid, &reader, &err), 0);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    thread = thread_at(reader, 0);
    assert_int_equal(thread->status, CAIRN_PYSTACK_OK);
    assert_int_equal(thread->native_id, child.pid);
    assert_true(thread->depth >= 3);
    check_frame(&thread->frames[0], "<module>");
    check_frame(&thread->frames[1], "outer");
    check_frame(&thread->frames[2], "inner");
    cairn_pyread_free(reader);
    end_child(&child);
}

static void take_name(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name)
{
    (void)pthread_id;
    (void)native_id;
    if (name.size_bytes == 6 && memcmp(name.data, "worker", 6) == 0)
        ++*(int *)ctx;
}

static void count_death(void *ctx, struct cairn_pythread *thread)
{
    assert_true(thread->user == ctx);
    ++*(int *)ctx;
}

/* The innermost frames come and go while they are read, at a depth where there is no room left. */
static void test_a_stack_too_deep_is_cut(void **state)
{
    char code[512];
    struct child child;
    struct cairn_pyread *reader;
    struct cairn_err err = {0};

    (void)state;
    snprintf(code, sizeof(code),
             "sys.setrecursionlimit(10 ** 6)\n"
             "def leaf():\n"
             "    return 1\n"
             "def deep(n):\n"
             "    if n:\n"
             "        return deep(n - 1)\n"
             "    say()\n"
             "    while True:\n"
             "        leaf()\n"
             "deep(%d)\n",
             CAIRN_PY_DEPTH_MAX);
    child = start_python(PYTHON, code);
    assert_int_equal(open_pid(child.pid, &reader, &err), 0);
    for (int tick = 0; tick < 500; tick++) {
        assert_int_equal(cairn_pyread_tick(reader, &err), 0);
        assert_true(thread_at(reader, 0)->depth <= CAIRN_PY_DEPTH_MAX);
    }
    assert_true(cairn_pyread_stats(reader)->truncated > 0);
    cairn_pyread_free(reader);
    end_child(&child);
}

static void test_threads_have_names(void **state)
{
    struct child child = start_python(PYTHON, "t = threading.Thread(target=time.sleep, "
                                              "args=(600,), name='worker')\n"
                                              "t.start()\n"
                                              "say()\n"
                                              "time.sleep(600)\n");
    struct cairn_pyread *reader;
    struct cairn_err err = {0};
    size_t count;
    int named = 0;

    (void)state;
    assert_int_equal(open_pid(child.pid, &reader, &err), 0);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    (void)cairn_pyread_threads(reader, &count);
    assert_int_equal(count, 2);
    assert_int_equal(cairn_pyread_names(reader, NULL, take_name, &named), 2);
    assert_int_equal(named, 1);
    cairn_pyread_free(reader);
    end_child(&child);
}

static void test_death_is_told(void **state)
{
    struct child child = start_python(PYTHON, "done = threading.Event()\n"
                                              "t = threading.Thread(target=done.wait)\n"
                                              "t.start()\n"
                                              "import signal\n"
                                              "signal.signal(signal.SIGUSR1, "
                                              "lambda *a: done.set())\n"
                                              "say()\n"
                                              "t.join()\n"
                                              "say()\n"
                                              "time.sleep(600)\n");
    struct cairn_pyread *reader;
    struct cairn_err err = {0};
    struct cairn_pythread *const *threads;
    size_t count;
    int deaths = 0;
    char byte;

    (void)state;
    assert_int_equal(open_pid(child.pid, &reader, &err), 0);
    cairn_pyread_on_death(reader, count_death, &deaths);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    threads = cairn_pyread_threads(reader, &count);
    assert_int_equal(count, 2);
    threads[0]->user = threads[1]->user = &deaths;
    kill(child.pid, SIGUSR1);
    assert_int_equal(wait_bytes(child.told, &byte, 1), 1);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    (void)cairn_pyread_threads(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(deaths, 1);
    cairn_pyread_free(reader);
    end_child(&child);
}

static void test_a_process_that_dies_is_gone(void **state)
{
    struct child child = start_python(PYTHON, sleeper);
    struct cairn_pyread *reader;
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(open_pid(child.pid, &reader, &err), 0);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    assert_int_equal(cairn_pyread_tick(reader, &err), -CAIRN_EGONE);
    assert_int_equal(thread_at(reader, 0)->status, CAIRN_PYSTACK_UNREADABLE);
    assert_int_equal(thread_at(reader, 0)->depth, 0);
    cairn_pyread_free(reader);
    assert_int_equal(open_pid(child.pid, &reader, &err), -CAIRN_EGONE);
    close(child.told);
}

static void test_exec_ends_the_python(void **state)
{
    struct child child =
        start_python(PYTHON, "import signal\n"
                             "signal.signal(signal.SIGUSR1, lambda *a: os.execvp('sh', "
                             "['sh', '-c', 'echo >&3; exec sleep 600']))\n"
                             "say()\n"
                             "time.sleep(600)\n");
    struct cairn_pyread *reader;
    struct cairn_err err = {0};
    char byte;

    (void)state;
    assert_int_equal(open_pid(child.pid, &reader, &err), 0);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    kill(child.pid, SIGUSR1);
    assert_int_equal(wait_bytes(child.told, &byte, 1), 1);
    assert_int_equal(cairn_pyread_tick(reader, &err), -CAIRN_EGONE);
    cairn_pyread_free(reader);
    assert_int_equal(open_pid(child.pid, &reader, &err), -CAIRN_ENOTPYTHON);
    end_child(&child);
}

/* The reader meets a forked child as any other process. */
static void test_a_forked_child_is_read(void **state)
{
    struct child child = start_python(PYTHON, "def in_child():\n"
                                              "    os.write(3, b'%8d' % os.getpid())\n"
                                              "    time.sleep(600)\n"
                                              "if os.fork() == 0:\n"
                                              "    in_child()\n"
                                              "os.wait()\n");
    struct cairn_pyread *reader;
    struct cairn_err err = {0};
    char text[9] = " ";
    pid_t pid;

    (void)state;
    assert_int_equal(wait_bytes(child.told, text + 1, 7), 7);
    pid = (pid_t)strtol(text, NULL, 10);
    assert_int_equal(open_pid(pid, &reader, &err), 0);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    check_frame(&thread_at(reader, 0)->frames[1], "in_child");
    cairn_pyread_free(reader);
    kill(pid, SIGKILL);
    end_child(&child);
}

/* The interpreter's file was replaced while it runs, as by an update. */
static void test_a_deleted_interpreter_is_found(void **state)
{
    char path[] = "/tmp/cairn-test-python-XXXXXX", command[256];
    int fd = mkstemp(path);
    struct child child;
    struct cairn_pyread *reader;
    struct cairn_err err = {0};

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    snprintf(command, sizeof(command), "cp -L %s %s && chmod 755 %s", PYTHON, path, path);
    assert_int_equal(system(command), 0);
    child = start_python(path, sleeper);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(open_pid(child.pid, &reader, &err), 0);
    assert_int_equal(cairn_pyread_tick(reader, &err), 0);
    check_frame(&thread_at(reader, 0)->frames[2], "inner");
    cairn_pyread_free(reader);
    end_child(&child);
}

static void test_what_is_no_python_is_told(void **state)
{
    struct cairn_pyread *reader;
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(open_pid(getpid(), &reader, &err), -CAIRN_ENOTPYTHON);
    assert_true(err.text[0]);
}

/* Another user's process: one sentence, and nothing else happened. */
static void test_no_permission_is_told(void **state)
{
    struct child child;
    pid_t pid;
    int status;

    (void)state;
    if (getuid() != 0) {
        print_message("# skip: root alone becomes somebody else\n");
        skip();
    }
    child = start_python(PYTHON, sleeper);
    pid = fork();
    if (pid == 0) {
        struct cairn_pyread *reader;
        struct cairn_err err = {0};

        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(2);
        _exit(open_pid(child.pid, &reader, &err) == -CAIRN_EPERM && err.text[0] ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end_child(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sleeping_stack_is_read),
        cmocka_unit_test(test_a_stack_too_deep_is_cut),
        cmocka_unit_test(test_threads_have_names),
        cmocka_unit_test(test_death_is_told),
        cmocka_unit_test(test_a_process_that_dies_is_gone),
        cmocka_unit_test(test_exec_ends_the_python),
        cmocka_unit_test(test_a_forked_child_is_read),
        cmocka_unit_test(test_a_deleted_interpreter_is_found),
        cmocka_unit_test(test_what_is_no_python_is_told),
        cmocka_unit_test(test_no_permission_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
