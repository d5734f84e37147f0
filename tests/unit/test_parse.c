#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nearest.h"
#include "parse.h"

#define WORDS_MAX 12

struct line { /* a command line and what was read from it */
    char *argv[WORDS_MAX];
    struct cairn_call call;
    struct cairn_err err;
    int code;
};

/* Reads words that are separated by one blank each. */
static void read_line(struct line *line, char *text)
{
    int count = 0;
    char *left = NULL;

    memset(line, 0, sizeof(*line));
    line->call.command = cairn_command_find(strtok_r(text, " ", &left));
    assert_non_null(line->call.command);
    for (char *word; (word = strtok_r(NULL, " ", &left)) != NULL;)
        line->argv[count++] = word;
    cairn_settings_init(&line->call.settings);
    line->code = cairn_parse(&line->call, count, line->argv, &line->err);
}

#define READ(name, words)                                                                          \
    char words_of_##name[] = words;                                                                \
    struct line name;                                                                              \
    read_line(&name, words_of_##name)

static void test_options_end_where_a_program_begins(void **state)
{
    READ(script, "run -r 10khz --sync x.py -o y --json");
    READ(dashes, "run -o f -- -c code");
    READ(module, "run --seed=7 -m json.tool -r");
    READ(plain, "run -- --strange");

    (void)state;
    assert_int_equal(script.code, 0);
    assert_int_equal(script.call.settings.interval_ns, 100000);
    assert_true(script.call.settings.sync);
    assert_null(script.call.settings.output);
    assert_int_equal(script.call.words.count, 4);
    assert_string_equal(script.call.words.items[0], "x.py");
    assert_null(script.call.words.items[4]);

    assert_int_equal(dashes.code, 0);
    assert_string_equal(dashes.call.settings.output, "f");
    assert_int_equal(dashes.call.words.count, 2);
    assert_string_equal(dashes.call.words.items[0], "-c");

    assert_int_equal(module.call.settings.seed, 7);
    assert_int_equal(module.call.words.count, 3);
    assert_string_equal(module.call.words.items[2], "-r");

    assert_int_equal(plain.call.words.count, 1);
    assert_string_equal(plain.call.words.items[0], "--strange");
}

static void test_words_and_options_mix_where_nothing_is_run(void **state)
{
    READ(mixed, "report a.cairn --by line b.cairn -n3 - --json -- --c");

    (void)state;
    assert_int_equal(mixed.code, 0);
    assert_int_equal(mixed.call.settings.limit, 3);
    assert_true(mixed.call.settings.json);
    assert_int_equal(mixed.call.words.count, 4);
    assert_string_equal(mixed.call.words.items[0], "a.cairn");
    assert_string_equal(mixed.call.words.items[1], "b.cairn");
    assert_string_equal(mixed.call.words.items[2], "-");
    assert_string_equal(mixed.call.words.items[3], "--c");
    assert_null(mixed.call.words.items[4]);
}

static void test_the_last_one_counts(void **state)
{
    READ(twice, "attach -r1khz --rate=max --sync --sync=no 7");

    (void)state;
    assert_int_equal(twice.code, 0);
    assert_int_equal(twice.call.settings.interval_ns, 0);
    assert_false(twice.call.settings.sync);
}

static void test_bad_lines_are_refused_with_a_hint(void **state)
{
    static const struct {
        const char *words, *said;
    } cases[] = {
        {"run --jsn x.py", "--jsn"},
        {"run --json x.py", "`cairn dump`, `cairn report`"},
        {"run --forc x.py", "Did you mean --force?"},
        {"report --metirc cpu", "Did you mean --metric?"},
        {"run -o", "-o needs a value"},
        {"run --rate", "--rate needs a value"},
        {"run -r 0 x.py", "1hz to 1mhz"},
        {"run -Z x.py", "-Z"},
        {"report -f x", "`cairn export`"},
        {"attach", "cairn attach"},
        {"attach 1 2", "'2'"},
        {"dump --limit 3 7", "--limit"},
        {"run --=x y", "--=x"},
        {"run --output= x.py", "--output"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char words[64];
        struct line line;

        snprintf(words, sizeof(words), "%s", cases[i].words);
        read_line(&line, words);
        assert_int_equal(line.code, -CAIRN_EUSAGE);
        assert_int_equal(line.err.code, -CAIRN_EUSAGE);
        if (strstr(line.err.text, cases[i].said) == NULL)
            fail_msg("'%s' was answered with '%s'", cases[i].words, line.err.text);
    }
}

static void test_help_asks_for_no_words(void **state)
{
    READ(help, "attach -h");

    (void)state;
    assert_int_equal(help.code, 0);
    assert_true(help.call.settings.help);
}

static const char *nearest(const char *word, const char *const *candidates)
{
    static struct cairn_nearest found;

    cairn_nearest_init(&found, word);
    for (; *candidates != NULL; candidates++)
        cairn_nearest_try(&found, *candidates);
    return cairn_nearest_best(&found);
}

static void test_nearest_word(void **state)
{
    static const char *const words[] = {"run", "report", "export", "attach", "dump", NULL};

    (void)state;
    assert_string_equal(nearest("repotr", words), "report");
    assert_string_equal(nearest("rep", words), "report"); /* not typed to its end */
    assert_string_equal(nearest("attatch", words), "attach");
    assert_string_equal(nearest("rum", words), "run");
    assert_null(nearest("zebra", words));
    assert_null(nearest("x", words));
    assert_null(nearest("", words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_end_where_a_program_begins),
        cmocka_unit_test(test_words_and_options_mix_where_nothing_is_run),
        cmocka_unit_test(test_the_last_one_counts),
        cmocka_unit_test(test_bad_lines_are_refused_with_a_hint),
        cmocka_unit_test(test_help_asks_for_no_words),
        cmocka_unit_test(test_nearest_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
