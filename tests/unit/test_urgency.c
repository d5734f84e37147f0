#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "urgency.h"

/* In a child of its own: who may not raise a priority may not always give it back either. */
static int in_child(int (*check)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(check());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int raises(void)
{
    int before = getpriority(PRIO_PROCESS, 0);
    struct cairn_urgency urgency;

    cairn_urgency_raise(&urgency);
    if (getpriority(PRIO_PROCESS, 0) > before)
        return 1;
    if (geteuid() == 0 && before > -20 && getpriority(PRIO_PROCESS, 0) == before)
        return 2;
    cairn_urgency_restore(&urgency);
    return getpriority(PRIO_PROCESS, 0) == before && !urgency.changed ? 0 : 3;
}

static int is_not_handed_on(void)
{
    int before = getpriority(PRIO_PROCESS, 0), status;
    struct cairn_urgency urgency;
    pid_t pid;

    if (before < 0)
        return 0; /* a reset gives 0 to who had less */
    cairn_urgency_raise(&urgency);
    pid = fork();
    if (pid == 0)
        _exit(getpriority(PRIO_PROCESS, 0) < 0);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 4;
}

static void test_a_priority_is_raised_and_given_back(void **state)
{
    (void)state;
    assert_int_equal(in_child(raises), 0);
}

static void test_what_is_started_meanwhile_is_not_in_a_hurry(void **state)
{
    (void)state;
    assert_int_equal(in_child(is_not_handed_on), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_priority_is_raised_and_given_back),
        cmocka_unit_test(test_what_is_started_meanwhile_is_not_in_a_hurry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
