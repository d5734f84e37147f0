/* test_target.c: what is run, and where its recording goes; in a folder of its own. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "findexec.h"
#include "output.h"
#include "pidword.h"
#include "place.h"
#include "target.h"

static char top[] = "/tmp/cairn-test-XXXXXX";
static char *before, *path_before;

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int enter(void **state)
{
    char path[256];

    (void)state;
    before = getcwd(NULL, 0);
    path_before = strdup(getenv("PATH"));
    if (mkdtemp(top) == NULL || chdir(top) < 0)
        return -1;
    snprintf(path, sizeof(path), "/nosuch:%s/bin", top);
    setenv("PATH", path, 1);
    unsetenv("VIRTUAL_ENV");
    mkdir("bin", 0755);
    mkdir("bin/folder", 0755);
    mkdir("venv", 0755);
    mkdir("venv/bin", 0755);
    mkdir("package", 0755);
    mkdir("empty", 0755);
    write_file("bin/python3", "", 0755);
    write_file("bin/python3.11", "", 0755);
    write_file("bin/command", "", 0755);
    write_file("venv/bin/python3", "", 0755);
    write_file("package/__main__.py", "", 0644);
    write_file("script.py", "", 0644);
    write_file("app.pyz", "", 0644);
    write_file("by_env", "#!/usr/bin/env -S python3 -u\n", 0755);
    write_file("by_version", "#!/usr/bin/env python3.11\n", 0644);
    write_file("by_path", "#!/bin/sh\n", 0755);
    write_file("plain", "text", 0644);
    write_file("ruby", "#!/usr/bin/env ruby\n", 0755);
    snprintf(path, sizeof(path), "#!%s/bin/python3 -E\n", top);
    write_file("by_path", path, 0755);
    write_file("by_path_only_read", path, 0644);
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    setenv("PATH", path_before, 1);
    if (chdir(before) < 0)
        return -1;
    free(before);
    free(path_before);
    return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Resolves up to two words; the answer as "name: argv[0] argv[1] …" or "code". `{}` is the folder
 * for PATH. */
static void check_target(const char *first, const char *second, const char *python,
                         const char *expected)
{
    char *items[] = {(char *)first, (char *)second, NULL};
    struct cairn_words words = {items, second != NULL ? 2 : 1};
    struct cairn_target target;
    struct cairn_err err = {0};
    char got[1024], want[1024];
    size_t used;
    int code = cairn_target_resolve(&words, python, &target, &err);

    used = (size_t)snprintf(got, sizeof(got), "%d", cairn_err_status(code));
    if (code == 0) {
        used = (size_t)snprintf(got, sizeof(got), "%s:", cairn_buf_cstr(&target.name));
        for (char **word = target.argv; *word != NULL; word++)
            used += (size_t)snprintf(got + used, sizeof(got) - used, " %s", *word);
    }
    cairn_target_release(&target);
    snprintf(want, sizeof(want), "%s", expected);
    if (strstr(expected, "{}") != NULL)
        snprintf(want, sizeof(want), "%.*s%s/bin%s", (int)(strstr(expected, "{}") - expected),
                 expected, top, strstr(expected, "{}") + 2);
    assert_string_equal(got, want);
}

static void test_what_is_run(void **state)
{
    (void)state;
    check_target("script.py", "-o", NULL, "script: {}/python3 script.py -o");
    check_target("./script.py", NULL, NULL, "script: {}/python3 ./script.py");
    check_target("app.pyz", NULL, NULL, "app: {}/python3 app.pyz");
    check_target("package/", NULL, NULL, "package: {}/python3 package/");
    check_target("by_env", NULL, NULL, "by_env: {}/python3 by_env");
    check_target("by_version", NULL, NULL, "by_version: {}/python3.11 by_version");
    /* Its first line names a Python by path: the kernel starts it, with the options given there. */
    check_target("by_path", NULL, NULL, "by_path: ./by_path");
    check_target("by_path_only_read", NULL, NULL,
                 "by_path_only_read: {}/python3 by_path_only_read");
    check_target("by_path", NULL, "python3.11", "by_path: {}/python3.11 by_path");
    check_target("-m", "a.b", NULL, "a.b: {}/python3 -m a.b");
    check_target("-c", "print()", NULL, "code: {}/python3 -c print()");
    check_target("command", "x.py", NULL, "command: command x.py");
    check_target("./ruby", NULL, NULL, "ruby: ./ruby");
    check_target("script.py", NULL, "bin/python3", "script: bin/python3 script.py");
}

static void test_what_cannot_be_run(void **state)
{
    (void)state;
    check_target("nosuch", NULL, NULL, "127");
    check_target("nosuch.py", NULL, NULL, "127");
    check_target("./nosuch", NULL, NULL, "127");
    check_target("./plain", NULL, NULL, "126");
    check_target("./empty", NULL, NULL, "126");
    check_target("plain", NULL, NULL, "127"); /* here, but not in PATH */
    check_target("folder", NULL, NULL, "127");
    check_target("script.py/x", NULL, NULL, "127");
    check_target("-m", NULL, NULL, "122");
    check_target("", NULL, NULL, "127");
    check_target("script.py", NULL, "/nosuch/python", "127");
    check_target("script.py", NULL, "./plain", "126");
}

static void test_an_active_venv_counts(void **state)
{
    char venv[256], expected[512];

    (void)state;
    snprintf(venv, sizeof(venv), "%s/venv", top);
    snprintf(expected, sizeof(expected), "script: %s/bin/python3 script.py", venv);
    setenv("VIRTUAL_ENV", venv, 1);
    check_target("script.py", NULL, NULL, expected);
    setenv("VIRTUAL_ENV", "/nosuch", 1);
    check_target("script.py", NULL, NULL, "script: {}/python3 script.py");
    unsetenv("VIRTUAL_ENV");
}

static void test_hint_names_the_file_that_was_meant(void **state)
{
    struct cairn_err err = {0};

    (void)state;
    cairn_err_set(&err, -CAIRN_ENOTFOUND, 0, "x", "no");
    cairn_target_hint("./scirpt.py", &err);
    assert_non_null(strstr(err.text, "Did you mean ./script.py?"));
    cairn_err_set(&err, -CAIRN_ENOTFOUND, 0, "x", "no");
    cairn_target_hint("zebra.py", &err);
    cairn_target_hint("/nosuch/folder/x", &err);
    assert_string_equal(err.text, "no");
}

static void test_shown_words_can_be_typed_again(void **state)
{
    char text[] = "command\0a b\0it's\0\0x=1";
    char *items[] = {text, text + 8, text + 12, text + 17, text + 18, NULL};
    struct cairn_words words = {items, 5};
    struct cairn_target target;

    (void)state;
    assert_int_equal(cairn_target_resolve(&words, NULL, &target, NULL), 0);
    assert_string_equal(cairn_buf_cstr(&target.shown), "command 'a b' 'it'\\''s' '' x=1");
    cairn_target_release(&target);
}

/* Each request for memory fails in turn: the answer is that, or a whole target. */
static void test_short_memory_is_told_and_nothing_leaks(void **state)
{
    char text[] = "script.py\0a b";
    char *items[] = {text, text + 10, NULL};
    struct cairn_words words = {items, 2};
    long failures = 0;

    (void)state;
    for (;;) {
        struct cairn_target target;
        struct cairn_err err = {0};
        int code;

        cairn_alloc_fail_after(failures);
        code = cairn_target_resolve(&words, NULL, &target, &err);
        cairn_target_release(&target);
        if (!cairn_alloc_has_failed()) {
            assert_int_equal(code, 0);
            break;
        }
        assert_int_equal(code, -CAIRN_ENOMEM);
        assert_int_equal(err.code, -CAIRN_ENOMEM);
        failures++;
    }
    cairn_alloc_fail_after(-1);
    assert_true(failures > 2);
}

static void test_recordings_have_harmless_names_and_are_found_again(void **state)
{
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    struct cairn_buf path, found;
    struct stat info;
    bool elsewhere;

    (void)state;
    cairn_buf_init(&path, 4096);
    cairn_buf_init(&found, 4096);
    assert_int_equal(cairn_place_newest(&found, NULL), -CAIRN_ENOTFOUND);
    assert_int_equal(access(".cairn", F_OK), -1); /* looking makes nothing */

    assert_int_equal(cairn_place_new("-../a b\x1b[", &path, &elsewhere, NULL), 0);
    assert_false(elsewhere);
    assert_int_equal(strncmp(cairn_buf_cstr(&path), ".cairn/_.._a_b__-2", 18), 0);
    assert_int_equal(stat(".cairn/.gitignore", &info), 0);
    assert_int_equal(cairn_place_newest(&found, NULL), -CAIRN_ENOTFOUND);

    cairn_place_tidy(); /* nothing came of it */
    assert_int_equal(access(".cairn", F_OK), -1);
    assert_int_equal(cairn_place_new("x", &path, &elsewhere, NULL), 0);
    write_file(cairn_buf_cstr(&path), "", 0600);
    cairn_place_tidy();
    assert_int_equal(access(".cairn/.gitignore", F_OK), 0);
    write_file(".cairn/older.cairn", "", 0600);
    write_file(".cairn/newest.txt", "", 0600);
    mkdir(".cairn/folder.cairn", 0755);
    assert_int_equal(utimensat(AT_FDCWD, ".cairn/older.cairn", times, 0), 0);
    assert_int_equal(cairn_place_newest(&found, NULL), 0);
    assert_string_equal(cairn_buf_cstr(&found), cairn_buf_cstr(&path));
    cairn_buf_release(&path);
    cairn_buf_release(&found);
}

static void test_elsewhere_only_where_nobody_else_can_write(void **state)
{
    char private_folder[300], wanted[320];
    struct cairn_buf path, found;
    struct cairn_err err;
    bool elsewhere;

    (void)state;
    cairn_buf_init(&path, 4096);
    cairn_buf_init(&found, 4096);
    assert_int_equal(chdir("empty"), 0);
    write_file(".cairn", "in the way", 0644);
    setenv("TMPDIR", top, 1);
    snprintf(private_folder, sizeof(private_folder), "%s/cairn-%lu", top, (unsigned long)geteuid());
    snprintf(wanted, sizeof(wanted), "%s/x-", private_folder);
    assert_int_equal(cairn_place_new("x", &path, &elsewhere, &err), 0);
    assert_true(elsewhere);
    assert_int_equal(strncmp(cairn_buf_cstr(&path), wanted, strlen(wanted)), 0);
    write_file(cairn_buf_cstr(&path), "", 0600);
    assert_int_equal(cairn_place_newest(&found, &err), 0);
    assert_string_equal(cairn_buf_cstr(&found), cairn_buf_cstr(&path));

    /* Somebody else could have put a link, or a recording, in there. */
    assert_int_equal(chmod(private_folder, 0777), 0);
    assert_int_equal(cairn_place_new("x", &path, &elsewhere, &err), -CAIRN_EPERM);
    assert_int_equal(cairn_place_newest(&found, &err), -CAIRN_ENOTFOUND);
    assert_int_equal(rename(private_folder, "moved"), 0);
    assert_int_equal(chmod("moved", 0700), 0);
    assert_int_equal(symlink("empty/moved", private_folder), 0);
    assert_int_equal(cairn_place_new("x", &path, &elsewhere, &err), -CAIRN_EPERM);
    unsetenv("TMPDIR");
    assert_int_equal(unlink(".cairn"), 0);
    assert_int_equal(chdir(".."), 0);
    cairn_buf_release(&path);
    cairn_buf_release(&found);
}

static void test_an_output_is_never_written_over_by_chance(void **state)
{
    struct cairn_output output;
    struct cairn_err err;
    struct stat info;
    off_t whole_bytes;

    (void)state;
    assert_int_equal(cairn_output_open("script.py", false, &output, &err), -CAIRN_EEXISTS);
    assert_int_equal(cairn_output_open("nosuch/x", false, &output, &err), -CAIRN_EIO);
    assert_int_equal(cairn_output_open("/dev/null", false, &output, &err), 0);
    assert_int_equal(cairn_output_close(&output, false, NULL), 0);
    assert_int_equal(access("/dev/null", F_OK), 0);

    assert_int_equal(cairn_output_open("new", false, &output, &err), 0);
    assert_int_equal(cairn_output_close(&output, false, NULL), 0);
    assert_int_equal(access("new", F_OK), -1); /* what stays unfinished is taken away */
    assert_int_equal(cairn_output_open("new", false, &output, &err), 0);
    assert_int_equal(cairn_output_close(&output, true, NULL), 0);
    assert_int_equal(access("new", F_OK), 0);
    assert_int_equal(stat("plain", &info), 0);
    whole_bytes = info.st_size;
    assert_true(whole_bytes > 0);
    assert_int_equal(cairn_output_open("plain", true, &output, &err), 0);
    assert_int_equal(cairn_output_close(&output, false, NULL), 0);
    assert_int_equal(stat("plain", &info), 0);
    assert_int_equal(info.st_size, whole_bytes); /* nor is what was there lost */
    assert_int_equal(cairn_output_open("plain", true, &output, &err), 0);
    assert_int_equal(cairn_output_close(&output, true, NULL), 0);
    assert_int_equal(stat("plain", &info), 0);
    assert_int_equal(info.st_size, 0);
}

static void test_numbers_of_processes(void **state)
{
    struct cairn_err err;
    pid_t pid = 77;

    (void)state;
    assert_int_equal(cairn_pid_read("0", &pid, &err), -CAIRN_EUSAGE);
    assert_int_equal(cairn_pid_read("-1", &pid, &err), -CAIRN_EUSAGE);
    assert_int_equal(cairn_pid_read("2147483648", &pid, &err), -CAIRN_EUSAGE);
    assert_int_equal(cairn_pid_read("python", &pid, &err), -CAIRN_EUSAGE);
    assert_int_equal(pid, 77);
    assert_int_equal(cairn_pid_read("2147483647", &pid, &err), 0);
    assert_int_equal(pid, 2147483647);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_run),
        cmocka_unit_test(test_what_cannot_be_run),
        cmocka_unit_test(test_an_active_venv_counts),
        cmocka_unit_test(test_hint_names_the_file_that_was_meant),
        cmocka_unit_test(test_shown_words_can_be_typed_again),
        cmocka_unit_test(test_short_memory_is_told_and_nothing_leaks),
        cmocka_unit_test(test_recordings_have_harmless_names_and_are_found_again),
        cmocka_unit_test(test_elsewhere_only_where_nobody_else_can_write),
        cmocka_unit_test(test_an_output_is_never_written_over_by_chance),
        cmocka_unit_test(test_numbers_of_processes),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
