#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "samples.h"
#include "toml.h"

static int read_text(const char *text, struct cairn_settings *settings, struct cairn_err *err)
{
    /* Exactly as large as the text: valgrind and ASan then see a read past its end. The settings
     * borrow from it, so it is not freed before they are looked at. */
    static char *copy;

    free(copy);
    copy = strdup(text);
    cairn_settings_init(settings);
    return cairn_config_text(copy, "p.toml", settings, err);
}

static void test_settings_of_the_table_count(void **state)
{
    struct cairn_settings settings;
    struct cairn_err err;

    (void)state;
    assert_int_equal(read_text("\xef\xbb\xbf# a project\n"
                               "[project]\n"
                               "name = 'x'\n"
                               "rate = 'nonsense of another table'\n"
                               "text = \"\"\"\n"
                               "[tool.cairn]\n"
                               "rate = 'inside a string'\n"
                               "\"\"\"\n"
                               "list = [\n"
                               "    \"a\",\n"
                               "]\r\n"
                               "[ tool . cairn ]\r\n"
                               "rate = \"10khz\"  # faster\r\n"
                               "  focus= 'a\\d'\n"
                               "ignore =\"a\\\"b\\\\\"\n"
                               "limit = 7\n"
                               "\n"
                               "only-my-code = true\n"
                               "[tool.cairn.more]\n"
                               "rate = 'also of another table'",
                               &settings, &err),
                     0);
    assert_int_equal(settings.interval_ns, 100000);
    assert_int_equal(settings.focus.count, 1);
    assert_string_equal(settings.focus.items[0], "a\\d");
    assert_int_equal(settings.ignore.count, 1);
    assert_string_equal(settings.ignore.items[0], "a\"b\\");
    assert_int_equal(settings.limit, 7);
    assert_true(settings.only_my_code);
}

static void test_bad_settings_are_named_with_their_line(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"[tool.cairn]\nrate = 'fast'\n", "p.toml:2: rate"},
        {"[tool.cairn]\n\nrat = '1khz'\n", "p.toml:3: rat"},
        {"[tool.cairn]\nrat = '1khz'\n", "Did you mean rate?"},
        {"[tool.cairn]\nrate\n", "p.toml:2: a line is"},
        {"[tool.cairn]\nrate =", "p.toml:2: a value is"},
        {"[tool.cairn]\nrate = '1khz", "p.toml:2: a value is"},
        {"[tool.cairn]\nrate = \"1\\q\"", "p.toml:2: a value is"},
        {"[tool.cairn]\nrate = ['1khz']", "p.toml:2: a value is"},
        {"[tool.cairn]\nrate = '1khz' x", "p.toml:2: something stands"},
        {"[tool.cairn]\nrate = '''1khz'''", "p.toml:2: a value is"},
        /* A checkout may neither choose what is run nor what is written. */
        {"[tool.cairn]\npython = './evil'\n", "only for the command line and the environment"},
        {"[tool.cairn]\nreport = '/home/x/.profile'\n", "only for the command line"},
        {"[tool.cairn]\noutput = 'x'\n", "only for the command line"},
        {"[tool.cairn]\nforce = true\n", "only for the command line"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_settings settings;
        struct cairn_err err = {0};

        assert_int_equal(read_text(cases[i].text, &settings, &err), -CAIRN_EUSAGE);
        if (strstr(err.text, cases[i].said) == NULL)
            fail_msg("'%s' was answered with '%s'", cases[i].text, err.text);
    }
}

static void test_broken_text_never_runs_over_its_end(void **state)
{
    static const char whole[] =
        "[tool.cairn]\nrate = \"1\\\\khz\" # x\n[a]\nb = \"\"\"c\n\\\"\"\"\"\n";

    (void)state;
    for (size_t size_bytes = 0; size_bytes < sizeof(whole); size_bytes++) {
        struct cairn_settings settings;
        char text[sizeof(whole)] = "";

        memcpy(text, whole, size_bytes);
        text[size_bytes] = '\0';
        read_text(text, &settings, NULL);
    }
}

static void test_environment_comes_after_the_file(void **state)
{
    char folder[] = "/tmp/cairn-test-XXXXXX";
    struct cairn_settings settings;
    struct cairn_err err;
    struct cairn_buf text;
    char *before = getcwd(NULL, 0);
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    file = fopen("pyproject.toml", "w");
    assert_non_null(file);
    fputs("[tool.cairn]\nrate = '100hz'\nmetric = 'cpu'\nfocus = 'a'\nignore = 'c'\n", file);
    assert_int_equal(fclose(file), 0);

    setenv("CAIRN_RATE", "200hz", 1);
    setenv("CAIRN_ONLY_MY_CODE", "1", 1);
    setenv("CAIRN_FOCUS", "b", 1);
    setenv("CAIRN_METRIC", "", 1); /* empty is not there */
    cairn_settings_init(&settings);
    assert_int_equal(cairn_config_read(&settings, &text, &err), 0);
    assert_int_equal(settings.interval_ns, 5000000);
    assert_true(settings.only_my_code);
    assert_int_equal(settings.metric, CAIRN_METRIC_CPU);
    /* Of what may be given several times, what counts more takes the place of all of the file's. */
    assert_int_equal(settings.focus.count, 1);
    assert_string_equal(settings.focus.items[0], "b");
    assert_int_equal(settings.ignore.count, 1);
    assert_string_equal(settings.ignore.items[0], "c");
    for (int i = 0; i < 2; i++)
        assert_int_equal(cairn_option_set(cairn_option_find("ignore", 6, CAIRN_FOR_REPORT),
                                          i ? "e" : "d", "--ignore", &settings, &err),
                         0);
    assert_int_equal(settings.ignore.count, 2);
    assert_string_equal(settings.ignore.items[0], "d");
    assert_string_equal(settings.ignore.items[1], "e");
    cairn_buf_release(&text);

    setenv("CAIRN_RATE", "fast", 1);
    assert_int_equal(cairn_config_read(&settings, &text, &err), -CAIRN_EUSAGE);
    assert_non_null(strstr(err.text, "CAIRN_RATE"));
    cairn_buf_release(&text);

    unsetenv("CAIRN_RATE");
    unsetenv("CAIRN_ONLY_MY_CODE");
    unsetenv("CAIRN_FOCUS");
    unsetenv("CAIRN_METRIC");
    assert_int_equal(unlink("pyproject.toml"), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(folder), 0);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_of_the_table_count),
        cmocka_unit_test(test_bad_settings_are_named_with_their_line),
        cmocka_unit_test(test_broken_text_never_runs_over_its_end),
        cmocka_unit_test(test_environment_comes_after_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
