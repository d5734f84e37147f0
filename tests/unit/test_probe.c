#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe.h"

static size_t open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void test_trying_leaves_nothing_behind(void **state)
{
    size_t before = open_files();
    struct cairn_probes probes;
    struct cairn_probed_python python;
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(cairn_probe_child(&probes, &err), 0);
    cairn_probe_process(getpid(), &probes, &python);
    (void)cairn_probe_read_child();
    assert_int_equal(open_files(), before);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void test_what_the_tests_depend_on_works_here(void **state)
{
    struct cairn_probes probes;
    struct cairn_err err = {0};

    (void)state;
    assert_int_equal(cairn_probe_child(&probes, &err), 0);
    assert_int_equal(cairn_probe_read_child(), probes.codes[CAIRN_PROBE_READ]);
    assert_int_equal(probes.codes[CAIRN_PROBE_READ], 0);
    assert_int_equal(probes.codes[CAIRN_PROBE_SCHEDSTAT], 0);
}

static void test_a_process_that_runs_no_python(void **state)
{
    struct cairn_probes probes;
    struct cairn_probed_python python;

    (void)state;
    cairn_probe_process(getpid(), &probes, &python);
    assert_int_equal(python.code, -CAIRN_ENOTPYTHON);
    assert_int_equal(probes.codes[CAIRN_PROBE_READ], 0);
    cairn_probe_process(0x7fffffff, &probes, &python);
    assert_int_equal(probes.codes[CAIRN_PROBE_READ], -CAIRN_EGONE);
    assert_true(probes.codes[CAIRN_PROBE_SCHEDSTAT] < 0);
    assert_true(probes.codes[CAIRN_PROBE_WCHAN] < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trying_leaves_nothing_behind),
        cmocka_unit_test(test_what_the_tests_depend_on_works_here),
        cmocka_unit_test(test_a_process_that_runs_no_python),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
