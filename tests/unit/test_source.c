#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "escape.h"
#include "profile.h"
#include "source.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000u)

static const char program[] = "import time\n"
                              "\n"
                              "@cached\n"
                              "def work(n):\n"
                              "    total = 0\n"
                              "\t return total  \r\n"
                              "work(3)";

struct fixture {
    char folder[32], path[64];
    struct cairn_source source;
    struct cairn_model *model;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    FILE *file;

    snprintf(f->folder, sizeof(f->folder), "/tmp/cairn-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/work.py", f->folder);
    file = fopen(f->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(program, 1, sizeof(program) - 1, file), sizeof(program) - 1);
    fclose(file);
    f->model = profile_load();
    cairn_source_init(&f->source, f->model);
    /* The recording is of another boot, and believes nothing. */
    assert_int_equal(f->source.newest_real_ns, 0);
    f->source.newest_real_ns = cairn_clock_real_ns() + HOUR_NS;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cairn_source_release(&f->source);
    cairn_model_free(f->model);
    unlink(f->path);
    rmdir(f->folder);
    free(f);
    return 0;
}

static void assert_line(struct fixture *f, const char *path, const char *name, uint32_t first_line,
                        uint32_t line, const char *expected)
{
    struct cairn_span text =
        cairn_source_line(&f->source, cairn_span_of(path), cairn_span_of(name), first_line, line);

    assert_int_equal(text.size_bytes, strlen(expected));
    if (text.size_bytes > 0)
        assert_memory_equal(text.data, expected, text.size_bytes);
}

static void test_lines_come_without_their_blanks(void **state)
{
    struct fixture *f = *state;

    assert_line(f, f->path, "<module>", 1, 1, "import time");
    assert_line(f, f->path, "<module>", 1, 2, "");
    assert_line(f, f->path, "work", 4, 5, "total = 0");
    assert_line(f, f->path, "work", 3, 6, "return total"); /* it begins with its decorator */
    assert_line(f, f->path, "<module>", 1, 7, "work(3)");  /* no newline at the end */
    assert_line(f, f->path, "<module>", 1, 8, "");
    assert_line(f, f->path, "<module>", 1, UINT32_MAX, "");
    assert_line(f, f->path, "<module>", 1, 0, "");
}

static void test_what_may_have_changed_is_not_shown(void **state)
{
    struct fixture *f = *state;

    assert_line(f, f->path, "work", 5, 5, ""); /* is defined elsewhere by now */
    assert_line(f, f->path, "other", 4, 5, "");
    assert_line(f, f->path, "work", 99, 5, "");
    cairn_source_release(&f->source);
    cairn_source_init(&f->source, f->model);
    f->source.newest_real_ns = cairn_clock_real_ns() - HOUR_NS; /* written after the recording */
    assert_line(f, f->path, "work", 4, 5, "");
}

static void test_only_files_are_read(void **state)
{
    struct fixture *f = *state;
    char fifo[80];

    assert_line(f, f->folder, "work", 4, 5, "");
    assert_line(f, "/dev/zero", "<module>", 1, 1, "");
    assert_line(f, "", "<module>", 1, 1, "");
    assert_line(f, "<string>", "<module>", 1, 1, "");
    assert_line(f, "/no/such/file.py", "<module>", 1, 1, "");
    snprintf(fifo, sizeof(fifo), "%s/fifo", f->folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_line(f, fifo, "<module>", 1, 1, ""); /* and nobody waits for a writer */
    unlink(fifo);
    assert_line(f, f->path, "work", 4, 5, "total = 0");
}

/* What a recording names as a file of a function, and whether it may be shown. */
static void test_what_is_no_source_is_shown_only_from_here(void **state)
{
    static const struct {
        const char *folder, *name;
        bool allowed;
    } cases[] = {
        {"", "id_ed25519", false},
        {"", "script", false},
        {"", "other.py", true},
        {"", "fast.pyx", true},
        {"", "not.py.key", false},
        {"/lib/python3.12", "tool", true},
        {"/site-packages", "tool.in", true},
        {"/lib/python3x", "tool", false},
    };
    struct fixture *f = *state;
    char here[4096], folder[64], path[128], link[128];

    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(folder, sizeof(folder), "%s/lib", f->folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(folder, sizeof(folder), "%s%s", f->folder, cases[i].folder);
        assert_true(!cases[i].folder[0] || mkdir(folder, 0700) == 0);
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].name);
        assert_int_equal(rename(f->path, path), 0);
        assert_line(f, path, "<module>", 1, 1, cases[i].allowed ? "import time" : "");
        /* By another name it is what it is. */
        snprintf(link, sizeof(link), "%s/named%zu.py", f->folder, i);
        assert_int_equal(symlink(path, link), 0);
        assert_line(f, link, "<module>", 1, 1, cases[i].allowed ? "import time" : "");
        unlink(link);
        /* From its folder, and from one beside it. */
        assert_int_equal(chdir(folder), 0);
        snprintf(link, sizeof(link), "%s/./%s", folder, cases[i].name);
        assert_line(f, link, "<module>", 1, 1, "import time");
        assert_int_equal(chdir(here), 0);
        assert_int_equal(rename(path, f->path), 0);
        if (cases[i].folder[0])
            assert_int_equal(rmdir(folder), 0);
    }
    snprintf(folder, sizeof(folder), "%s/lib", f->folder);
    assert_int_equal(rmdir(folder), 0);
    /* Of the current folder, too, what begins with a dot is nobody's business. */
    snprintf(folder, sizeof(folder), "%s/.ssh", f->folder);
    snprintf(path, sizeof(path), "%s/key", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(rename(f->path, path), 0);
    assert_int_equal(chdir(f->folder), 0);
    assert_line(f, path, "<module>", 1, 1, "");
    assert_int_equal(chdir(folder), 0);
    snprintf(link, sizeof(link), "%s/./key", folder);
    assert_line(f, link, "<module>", 1, 1, "import time");
    assert_int_equal(chdir(here), 0);
    assert_int_equal(rename(path, f->path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_come_without_their_blanks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_may_have_changed_is_not_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_files_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_source_is_shown_only_from_here, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
