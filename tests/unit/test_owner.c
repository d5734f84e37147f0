#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "owner.h"

#define NOBODY 65534

static void set_sudo(const char *uid, const char *gid)
{
    unsetenv("SUDO_UID");
    unsetenv("SUDO_GID");
    if (uid != NULL)
        setenv("SUDO_UID", uid, 1);
    if (gid != NULL)
        setenv("SUDO_GID", gid, 1);
}

static void need_root(void)
{
    if (geteuid() != 0) {
        printf("# skip: root alone acts for somebody else\n");
        skip();
    }
}

static void test_only_sudo_names_an_owner(void **state)
{
    static const struct {
        const char *uid, *gid;
        bool found;
    } cases[] = {
        {NULL, NULL, false},    {"65534", NULL, false},     {NULL, "65534", false},
        {"0", "0", false},      {"nobody", "65534", false}, {"-1", "65534", false},
        {"65534", "", false},   {"4294967295", "1", false}, {"65534", "4294967296", false},
        {"65534x", "1", false}, {"65534", "65534", true},   {"123456", "0", true},
    };
    struct cairn_owner owner;

    (void)state;
    need_root();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_sudo(cases[i].uid, cases[i].gid);
        assert_int_equal(cairn_owner_find(&owner), cases[i].found);
    }
    assert_int_equal(owner.uid, 123456);
    assert_string_equal(owner.name, "#123456");
    assert_string_equal(owner.home, "/");
    set_sudo(NULL, NULL);
}

static void test_what_is_made_in_between_is_the_owners(void **state)
{
    char folder[] = "/tmp/cairn-test-XXXXXX", path[64];
    gid_t before[64], after[64];
    int count = getgroups(64, before), fd;
    struct cairn_owner_saved saved;
    struct cairn_owner owner;
    struct stat info;

    (void)state;
    need_root();
    set_sudo("65534", "65534");
    assert_true(cairn_owner_find(&owner));
    set_sudo(NULL, NULL);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    assert_int_equal(cairn_owner_enter(&owner, &saved), 0);
    /* The folder is root's alone: the owner's rights are what counts. */
    assert_true(open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) < 0);
    assert_int_equal(errno, EACCES);
    cairn_owner_leave(&saved);
    assert_int_equal(geteuid(), 0);
    assert_int_equal(getegid(), 0);
    assert_int_equal(getgroups(64, after), count);
    assert_memory_equal(before, after, (size_t)count * sizeof(*before));

    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(cairn_owner_enter(&owner, &saved), 0);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    cairn_owner_leave(&saved);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_uid, NOBODY);
    assert_int_equal(info.st_gid, NOBODY);
    close(fd);
    unlink(path);
    rmdir(folder);
    assert_int_equal(cairn_owner_enter(NULL, &saved), 0);
    cairn_owner_leave(&saved);
}

static void test_becoming_the_owner_is_for_good(void **state)
{
    struct cairn_owner owner = {.uid = NOBODY, .gid = NOBODY, .groups = {NOBODY}, .group_count = 1};
    int status;
    pid_t pid;

    (void)state;
    need_root();
    pid = fork();
    if (pid == 0) {
        bool gone = cairn_owner_become(&owner) == 0 && getuid() == NOBODY && getgid() == NOBODY &&
                    setuid(0) < 0 && setgid(0) < 0 && setgroups(0, NULL) < 0;

        _exit(gone ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_the_environment_is_the_owners(void **state)
{
    static char lang[] = "LANG=C", home[] = "HOME=/root", sudo[] = "SUDO_UID=5", odd[] = "HOMEX=1";
    char *const env[] = {lang, home, sudo, odd, NULL};
    struct cairn_owner owner = {.name = "eve", .home = "/home/eve", .shell = "/bin/zsh"};
    static const char *const expected[] = {
        "LANG=C",      "HOMEX=1",        "HOME=/home/eve",    "USER=eve",
        "LOGNAME=eve", "SHELL=/bin/zsh", "MAIL=/var/mail/eve"};
    char **got;

    (void)state;
    memset(owner.name, 'n', sizeof(owner.name) - 1); /* the longest there can be */
    memset(owner.home, 'h', sizeof(owner.home) - 1);
    memset(owner.shell, 's', sizeof(owner.shell) - 1);
    got = cairn_owner_environment(&owner, env);
    assert_non_null(got);
    assert_int_equal(strlen(got[2]), strlen("HOME=") + sizeof(owner.home) - 1);
    assert_int_equal(strlen(got[6]), strlen("MAIL=/var/mail/") + sizeof(owner.name) - 1);
    free(got);
    snprintf(owner.name, sizeof(owner.name), "eve");
    snprintf(owner.home, sizeof(owner.home), "/home/eve");
    snprintf(owner.shell, sizeof(owner.shell), "/bin/zsh");
    got = cairn_owner_environment(&owner, env);
    assert_non_null(got);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_string_equal(got[i], expected[i]);
    assert_null(got[sizeof(expected) / sizeof(expected[0])]);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_sudo_names_an_owner),
        cmocka_unit_test(test_what_is_made_in_between_is_the_owners),
        cmocka_unit_test(test_becoming_the_owner_is_for_good),
        cmocka_unit_test(test_the_environment_is_the_owners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
