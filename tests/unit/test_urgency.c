#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "urgency.h"

#define INTERVAL_NS 1000000u
#define LATE_NS 600000u /* more than a quarter of that, and than waking up takes */
#define SECOND_NS UINT64_C(1000000000)

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

    cairn_urgency_raise(&urgency, INTERVAL_NS);
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
    cairn_urgency_raise(&urgency, INTERVAL_NS);
    pid = fork();
    if (pid == 0)
        _exit(getpriority(PRIO_PROCESS, 0) < 0);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 4;
}

static bool is_first(void)
{
    return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

static bool may_be_first(void)
{
    struct sched_param param = {.sched_priority = 1};
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(sched_setscheduler(0, SCHED_RR, &param) != 0);
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* One that was raised, and does not go first, though the machine may be crowded. */
static struct cairn_urgency raised(uint64_t *ret_now_ns)
{
    struct cairn_urgency urgency;

    cairn_urgency_raise(&urgency, INTERVAL_NS);
    *ret_now_ns = cairn_clock_mono_ns();
    if (urgency.first) {
        struct sched_param param = {0};

        sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param);
        urgency.first = false;
    }
    urgency.until_ns = 0;
    return urgency;
}

static int goes_first_when_late(void)
{
    int before = getpriority(PRIO_PROCESS, 0), status;
    bool may = may_be_first();
    uint64_t now_ns, asked_ns;
    struct cairn_urgency urgency = raised(&now_ns);
    pid_t pid;

    cairn_urgency_woke(&urgency, 0, now_ns);
    cairn_urgency_woke(&urgency, INTERVAL_NS / 4, now_ns);
    if (is_first())
        return 1; /* in time, or as good as */
    cairn_urgency_woke(&urgency, LATE_NS, now_ns);
    if (is_first() != may || urgency.refused == may)
        return 2;
    pid = fork();
    if (pid == 0)
        _exit(is_first());
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 3;
    if (!may)
        return 0;
    cairn_urgency_woke(&urgency, 0, now_ns + SECOND_NS / 2);
    if (!is_first())
        return 4;
    /* Until there has been room for a second: others may compute here. */
    asked_ns = urgency.until_ns;
    cairn_urgency_woke(&urgency, 0, asked_ns);
    if (is_first() ? urgency.until_ns <= asked_ns : getpriority(PRIO_PROCESS, 0) != urgency.raised)
        return 5;
    cairn_urgency_restore(&urgency);
    return !is_first() && getpriority(PRIO_PROCESS, 0) == before ? 0 : 6;
}

static int goes_first_when_put_off(void)
{
    bool may = may_be_first();
    uint64_t now_ns;
    struct cairn_urgency urgency = raised(&now_ns);

    cairn_urgency_woke(&urgency, 0, now_ns);
    usleep(2000);
    cairn_urgency_worked(&urgency, cairn_clock_mono_ns());
    return is_first() == may ? 0 : 1;
}

static int leaves_room(void)
{
    uint64_t now_ns, begun_ns = cairn_clock_own_cpu_ns();
    struct cairn_urgency urgency = raised(&now_ns);

    cairn_urgency_woke(&urgency, LATE_NS, now_ns);
    while (cairn_clock_own_cpu_ns() - begun_ns < 100 * INTERVAL_NS)
        ;
    now_ns += 100 * INTERVAL_NS; /* by hand: others may have run meanwhile */
    cairn_urgency_worked(&urgency, now_ns);
    if (is_first())
        return 1;
    cairn_urgency_woke(&urgency, LATE_NS, now_ns);
    if (is_first())
        return 2;
    for (int i = 0; i < 20; i++) /* little to do for a while */
        cairn_urgency_worked(&urgency, now_ns += SECOND_NS / 20);
    cairn_urgency_woke(&urgency, LATE_NS, now_ns);
    return is_first() == may_be_first() ? 0 : 3;
}

/* A tick that goes first, and takes so much of the time. */
static uint64_t work(struct cairn_urgency *urgency, uint64_t *now_ns, uint64_t cpu_ns,
                     uint64_t passed_ns)
{
    urgency->cpu_ns = cairn_clock_own_cpu_ns() - cpu_ns; /* what it does here comes on top */
    *now_ns += passed_ns;
    return cairn_urgency_worked(urgency, *now_ns) - *now_ns;
}

/* What it may take in the long run: three quarters of the time, or half where it has to share the
 * only processor. */
static int rests(uint64_t percent)
{
    bool may = may_be_first();
    uint64_t now_ns, begun_ns, rested_ns = 0, spent_ns = 0;
    struct cairn_urgency urgency = raised(&now_ns);

    if (!may)
        return 0;
    cairn_urgency_woke(&urgency, LATE_NS, now_ns);
    begun_ns = now_ns = urgency.worked_ns;
    for (int i = 0; i < 3; i++)
        if (work(&urgency, &now_ns, INTERVAL_NS, 5 * INTERVAL_NS))
            return 1;
    for (int i = 0; i < 100; i++) {
        uint64_t rest_ns = work(&urgency, &now_ns, 5 * INTERVAL_NS, 5 * INTERVAL_NS);

        if (!is_first() || rest_ns > 32 * INTERVAL_NS)
            return 2;
        spent_ns += 5 * INTERVAL_NS;
        rested_ns += rest_ns;
        now_ns += rest_ns;
    }
    if (!rested_ns || spent_ns * 100 > (now_ns - begun_ns) * (percent + 10))
        return 3;
    return spent_ns * 100 > (now_ns - begun_ns) * (percent - 10) ? 0 : 4;
}

static int rests_beside_another(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 2 ? 0 : rests(75);
}

static int rests_alone(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    return sched_setaffinity(0, sizeof(one), &one) < 0 ? 6 : rests(50);
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

static void test_who_wakes_late_goes_before_all_for_a_while(void **state)
{
    (void)state;
    assert_int_equal(in_child(goes_first_when_late), 0);
    assert_int_equal(in_child(goes_first_when_put_off), 0);
}

static void test_who_works_much_leaves_room_to_others(void **state)
{
    (void)state;
    assert_int_equal(in_child(leaves_room), 0);
}

static void test_who_works_a_little_too_much_rests_and_stays_first(void **state)
{
    (void)state;
    assert_int_equal(in_child(rests_beside_another), 0);
    assert_int_equal(in_child(rests_alone), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_priority_is_raised_and_given_back),
        cmocka_unit_test(test_what_is_started_meanwhile_is_not_in_a_hurry),
        cmocka_unit_test(test_who_wakes_late_goes_before_all_for_a_while),
        cmocka_unit_test(test_who_works_much_leaves_room_to_others),
        cmocka_unit_test(test_who_works_a_little_too_much_rests_and_stays_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
