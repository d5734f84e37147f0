#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "rights.h"

#define PTRACE ((uint64_t)1 << 19)
#define PERFMON ((uint64_t)1 << 38)
#define USER 1000
#define OTHER 1001

/* A machine, whom we look at, and what has to be said. */
struct refusal {
    struct cairn_rights rights;
    enum cairn_act act;
    uid_t whose;
    bool child;
    const char *why, *allow; /* why: a part of it */
};

#define READ CAIRN_ACT_READ
#define PERF CAIRN_ACT_PERF
#define DOCKER .container = CAIRN_CONTAINER_DOCKER
#define PODMAN .container = CAIRN_CONTAINER_PODMAN
#define KUBERNETES .container = CAIRN_CONTAINER_KUBERNETES
#define PLAIN .yama = -1, .paranoid = 2

static const struct refusal refusals[] = {
    {{.uid = USER, PLAIN}, READ, OTHER, false, "it belongs to eve", "sudo cairn attach 7"},
    /* In a container root alone has what that was given. */
    {{.uid = USER, PLAIN, DOCKER},
     READ,
     OTHER,
     false,
     "eve",
     "docker run --user=0 --cap-add=SYS_PTRACE"},
    {{.uid = USER, PLAIN, .bound = PTRACE, DOCKER},
     READ,
     OTHER,
     false,
     "eve",
     "sudo cairn attach 7"},
    {{.uid = USER, PLAIN, KUBERNETES},
     READ,
     OTHER,
     false,
     "eve",
     "securityContext: {runAsUser: 0, capabilities: {add: [SYS_PTRACE]}}"},
    {{.uid = USER, .yama = -1, .paranoid = 4, DOCKER},
     PERF,
     USER,
     true,
     "perf_event_paranoid is 4",
     "docker run --user=0 --cap-add=PERFMON"},
    {{PLAIN, DOCKER}, READ, USER, false, "CAP_SYS_PTRACE", "docker run --cap-add=SYS_PTRACE"},
    {{PLAIN}, READ, USER, false, "without CAP_SYS_PTRACE", ""},
    {{.uid = USER, .yama = 1, .paranoid = 2},
     READ,
     USER,
     false,
     "ptrace_scope is 1",
     "sudo sysctl kernel.yama.ptrace_scope=0"},
    {{.uid = USER, .yama = 1, .paranoid = 2, PODMAN},
     READ,
     USER,
     false,
     "ptrace_scope is 1",
     "podman run --user=0 --cap-add=SYS_PTRACE"},
    {{.uid = USER, .yama = 2, .paranoid = 2},
     READ,
     USER,
     true,
     "ptrace_scope is 2",
     "sudo cairn attach 7"},
    {{.yama = 3, .paranoid = 2, .caps = PTRACE},
     READ,
     USER,
     true,
     "root included",
     "restart the system with kernel.yama.ptrace_scope=0"},
    /* What Cairn starts may be read at 1: then it is something else. */
    {{.uid = USER, .yama = 1, .seccomp = 2},
     READ,
     USER,
     true,
     "seccomp",
     "start it outside of that filter"},
    {{PLAIN, .seccomp = 2, DOCKER},
     READ,
     0,
     true,
     "refuses process_vm_readv",
     "docker run --cap-add=SYS_PTRACE"},
    {{PLAIN, .seccomp = 2, .bound = PTRACE, DOCKER},
     READ,
     0,
     true,
     "seccomp",
     "docker run --security-opt seccomp=unconfined"},
    {{PLAIN, .seccomp = 2, KUBERNETES},
     READ,
     0,
     true,
     "seccomp",
     "securityContext: {capabilities: {add: [SYS_PTRACE]}}"},
    {{PLAIN, .seccomp = 2, .bound = PTRACE, KUBERNETES},
     READ,
     0,
     true,
     "seccomp",
     "securityContext: {seccompProfile: {type: Unconfined}}"},
    {{PLAIN, .caps = PTRACE, DOCKER},
     READ,
     0,
     true,
     "security module",
     "docker run --security-opt apparmor=unconfined"},
    {{PLAIN, .caps = PTRACE}, READ, 0, false, "another user namespace", ""},
    {{.uid = USER, PLAIN}, READ, USER, false, "changed its user", "sudo cairn attach 7"},
    {{.uid = USER, .yama = -1, .paranoid = 4},
     PERF,
     USER,
     true,
     "perf_event_paranoid is 4",
     "sudo sysctl kernel.perf_event_paranoid=2"},
    {{.yama = -1, .paranoid = 4, DOCKER},
     PERF,
     0,
     true,
     "perf_event_paranoid is 4",
     "docker run --cap-add=PERFMON"},
    {{.yama = -1, .paranoid = 4, .caps = PERFMON, .bound = PERFMON, .seccomp = 2},
     PERF,
     0,
     true,
     "refuses perf_event_open",
     "start it outside of that filter"},
    {{.uid = USER, PLAIN}, PERF, OTHER, false, "it belongs to eve", "sudo cairn attach 7"},
    {{.yama = -1, .paranoid = -2}, PERF, 0, true, "no perf events", ""},
    /* A filter that lets it through refuses nothing. */
    {{.uid = USER, PLAIN, .seccomp = 2, .reads = true},
     READ,
     USER,
     false,
     "has changed its user",
     "sudo cairn attach 7"},
};

/* Of a process that has CAP_SYS_PTRACE itself. */
static const struct refusal of_capable[] = {
    {{.uid = USER, PLAIN, .seccomp = 2, .reads = true},
     READ,
     USER,
     false,
     "has capabilities that are not given here",
     "sudo cairn attach 7"},
    {{PLAIN, .seccomp = 2, .reads = true, DOCKER},
     READ,
     0,
     false,
     "has capabilities that are not given here",
     "docker run --cap-add=SYS_PTRACE"},
    {{PLAIN}, READ, 0, false, "has capabilities that are not given here", ""},
};

static void check_refusal(const struct refusal *refusal, uint64_t caps)
{
    struct cairn_rights_whom whom = {
        .pid = 7, .uid = refusal->whose, .user = "eve", .child = refusal->child, .caps = caps};
    struct cairn_buf why, allow;
    unsigned needs;

    cairn_buf_init(&why, 1024);
    cairn_buf_init(&allow, 1024);
    needs = cairn_rights_explain(&refusal->rights, refusal->act, &whom, &why);
    cairn_rights_allow(&refusal->rights, needs, "attach 7", &allow);
    assert_non_null(strstr(cairn_buf_cstr(&why), refusal->why));
    assert_string_equal(cairn_buf_cstr(&allow), refusal->allow);
    cairn_buf_release(&why);
    cairn_buf_release(&allow);
}

static void test_every_refusal_has_its_reason_and_its_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        check_refusal(&refusals[i], 0);
    for (size_t i = 0; i < sizeof(of_capable) / sizeof(of_capable[0]); i++)
        check_refusal(&of_capable[i], PTRACE);
}

static void check_allow(enum cairn_container container, unsigned needs, const char *expected)
{
    const struct cairn_rights rights = {.container = container};
    struct cairn_buf out;

    cairn_buf_init(&out, 1024);
    cairn_rights_allow(&rights, needs, "run", &out);
    assert_string_equal(cairn_buf_cstr(&out), expected);
    cairn_buf_release(&out);
}

static void test_several_needs_are_one_command(void **state)
{
    const unsigned both = CAIRN_NEED_PTRACE | CAIRN_NEED_PERFMON;

    (void)state;
    check_allow(CAIRN_CONTAINER_NONE, CAIRN_NEED_YAMA | CAIRN_NEED_PARANOID,
                "sudo sysctl kernel.yama.ptrace_scope=0 kernel.perf_event_paranoid=2");
    check_allow(CAIRN_CONTAINER_NONE, CAIRN_NEED_ROOT | CAIRN_NEED_PARANOID, "sudo cairn run");
    check_allow(CAIRN_CONTAINER_DOCKER, both | CAIRN_NEED_UNFILTERED,
                "docker run --cap-add=SYS_PTRACE --cap-add=PERFMON "
                "--security-opt seccomp=unconfined");
    check_allow(CAIRN_CONTAINER_KUBERNETES, both | CAIRN_NEED_UNFILTERED,
                "securityContext: {capabilities: {add: [SYS_PTRACE, PERFMON]}, "
                "seccompProfile: {type: Unconfined}}");
    check_allow(CAIRN_CONTAINER_DOCKER, 0, "");
}

static void test_facts_are_those_of_this_process(void **state)
{
    struct cairn_rights rights;
    struct cairn_rights_whom whom;

    (void)state;
    cairn_rights_read(&rights);
    assert_int_equal(rights.uid, geteuid());
    assert_int_equal(rights.caps & ~rights.bound, 0);
    assert_in_range(rights.yama + 1, 0, 4);
    assert_int_equal(cairn_rights_whom(getpid(), &whom), 0);
    assert_int_equal(whom.uid, geteuid());
    assert_true(strlen(whom.user) > 0);
    assert_int_equal(cairn_rights_whom(0x7fffffff, &whom), -CAIRN_EGONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_refusal_has_its_reason_and_its_remedy),
        cmocka_unit_test(test_several_needs_are_one_command),
        cmocka_unit_test(test_facts_are_those_of_this_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
