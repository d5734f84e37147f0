#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch.h"
#include "procfs.h"

/* execvp() wants writable strings, and writes to none. */
#define ARG(text) ((char *)(uintptr_t)(text))

static char *const missing[] = {ARG("/no/such/program"), NULL};
static char *const folder[] = {ARG("/tmp"), NULL};
static char *const three[] = {ARG("/bin/sh"), ARG("-c"), ARG("exit 3"), NULL};
static char *const heeds_term[] = {ARG("/bin/sh"), ARG("-c"),
                                   ARG("trap 'exit 7' TERM; echo; read x; read y"), NULL};

static void test_what_cannot_be_run_is_told_and_reaped(void **state)
{
    struct cairn_launch launch;
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(cairn_launch_open(&launch, missing, NULL, &err), 0);
    assert_int_equal(cairn_launch_release(&launch, &err), -CAIRN_ENOTFOUND);
    assert_int_equal(err.sys, ENOENT);
    assert_true(launch.exited);
    cairn_launch_close(&launch);
    assert_int_equal(cairn_launch_open(&launch, folder, NULL, &err), 0);
    assert_int_equal(cairn_launch_release(&launch, &err), -CAIRN_ENOTEXEC);
    cairn_launch_close(&launch);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void test_the_status_is_the_programs(void **state)
{
    struct cairn_launch launch;
    struct cairn_err err = {0};
    struct sigaction before, after;

    (void)state;
    sigaction(SIGINT, NULL, &before);
    assert_int_equal(cairn_launch_open(&launch, three, NULL, &err), 0);
    assert_int_equal(cairn_launch_release(&launch, &err), 0);
    assert_false(cairn_launch_wait(&launch));
    assert_true(launch.exited);
    assert_int_equal(WEXITSTATUS(launch.status), 3);
    assert_true(launch.usage.ru_maxrss > 0);
    cairn_launch_close(&launch);
    sigaction(SIGINT, NULL, &after);
    assert_true(before.sa_handler == after.sa_handler);
}

/* Somebody else took its status: nobody waits for what will not come. */
static void test_a_program_that_cannot_be_waited_for_is_over(void **state)
{
    struct cairn_launch launch;
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(cairn_launch_open(&launch, three, NULL, &err), 0);
    assert_int_equal(cairn_launch_release(&launch, &err), 0);
    assert_int_equal(waitpid(launch.pid, NULL, 0), launch.pid);
    assert_false(cairn_launch_wait(&launch));
    assert_true(launch.exited);
    assert_int_equal(launch.wait_sys, ECHILD);
    cairn_launch_close(&launch);
}

static void test_a_program_that_was_never_released_never_began(void **state)
{
    struct cairn_launch launch;
    struct cairn_err err = {0};
    char *const touch[] = {ARG("/bin/sh"), ARG("-c"), ARG("echo began >&9"), NULL};
    int out[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(out), 0);
    assert_int_equal(dup2(out[1], 9), 9);
    assert_int_equal(cairn_launch_open(&launch, touch, NULL, &err), 0);
    cairn_launch_abandon(&launch);
    assert_true(launch.exited);
    close(out[1]);
    close(9);
    assert_int_equal(read(out[0], &byte, 1), 0);
    close(out[0]);
    cairn_launch_close(&launch);
}

static void test_term_is_passed_on(void **state)
{
    struct cairn_launch launch;
    struct cairn_err err = {0};
    int in[2], out[2], old_in = dup(0), old_out = dup(1);
    char byte;

    (void)state;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    dup2(in[0], 0);
    dup2(out[1], 1);
    assert_int_equal(cairn_launch_open(&launch, heeds_term, NULL, &err), 0);
    dup2(old_in, 0);
    dup2(old_out, 1);
    close(old_in);
    close(old_out);
    assert_int_equal(cairn_launch_release(&launch, &err), 0);
    assert_int_equal(read(out[0], &byte, 1), 1); /* its trap is set */
    kill(getpid(), SIGTERM);
    /* A shell's trap runs when its read returns. */
    assert_int_equal(write(in[1], "\n", 1), 1);
    assert_false(cairn_launch_wait(&launch));
    assert_int_equal(WEXITSTATUS(launch.status), 7);
    cairn_launch_close(&launch);
    close(in[0]);
    close(in[1]);
    close(out[0]);
    close(out[1]);
}

static void test_attached_one_ctrl_c_ends_it(void **state)
{
    struct cairn_launch launch;
    struct cairn_err err = {0};
    bool interrupted;

    (void)state;
    assert_int_equal(cairn_launch_open(&launch, NULL, NULL, &err), 0);
    assert_false(cairn_launch_poll(&launch, &interrupted));
    raise(SIGINT);
    assert_true(cairn_launch_poll(&launch, &interrupted));
    assert_true(interrupted);
    cairn_launch_close(&launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_cannot_be_run_is_told_and_reaped),
        cmocka_unit_test(test_the_status_is_the_programs),
        cmocka_unit_test(test_a_program_that_cannot_be_waited_for_is_over),
        cmocka_unit_test(test_a_program_that_was_never_released_never_began),
        cmocka_unit_test(test_term_is_passed_on),
        cmocka_unit_test(test_attached_one_ctrl_c_ends_it),
    };

    alarm(30); /* a launch that hangs is a failure, not a hang */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
