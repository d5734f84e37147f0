#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command.h"
#include "export.h"
#include "help.h"
#include "table.h"

static void test_every_option_is_whole(void **state)
{
    (void)state;
    assert_true(cairn_option_count > 20);
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];
        unsigned known = 0;

        assert_ptr_equal(cairn_option_find(option->name, strlen(option->name), option->commands),
                         option);
        assert_non_null(option->brief);
        assert_non_null(option->detail);
        /* A sentence in the manual, a line in the help. */
        assert_true(strlen(option->brief) > 5);
        assert_int_equal(option->detail[strlen(option->detail) - 1], '.');
        assert_true(strlen(option->name) + 10 < 64);
        assert_int_equal(option->value == NULL, option->kind == CAIRN_VALUE_FLAG);
        assert_int_equal(option->choice == NULL, option->kind != CAIRN_VALUE_CHOICE);
        assert_true(option->group < CAIRN_GROUP_COUNT);
        assert_true(option->offset < sizeof(struct cairn_settings));
        /* Completions put it between quotes, zsh between brackets. */
        assert_null(strpbrk(option->brief, "'\"\\[]$"));
        if (option->sources & CAIRN_FROM_PROJECT)
            assert_true(option->kind != CAIRN_VALUE_FILE);
        for (size_t c = 0; c < cairn_command_count; c++)
            known |= cairn_commands[c].bit;
        assert_true(option->commands != 0);
        assert_int_equal(option->commands & ~known, 0);
    }
}

static void test_help_names_every_word_of_a_choice(void **state)
{
    const char *word;

    (void)state;
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];

        for (size_t k = 0; option->choice != NULL && (word = option->choice(k)) != NULL; k++)
            assert_true(strstr(option->brief, word) != NULL);
    }
}

static void test_letters_mean_one_thing_in_a_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < cairn_option_count; i++)
        for (size_t j = 0; j < i; j++) {
            if (strcmp(cairn_options[i].name, cairn_options[j].name) == 0)
                assert_int_equal(cairn_options[i].commands & cairn_options[j].commands, 0);
            if (cairn_options[i].letter != '\0' &&
                cairn_options[i].letter == cairn_options[j].letter)
                assert_int_equal(cairn_options[i].commands & cairn_options[j].commands, 0);
        }
}

static void test_every_command_is_whole(void **state)
{
    unsigned bits = 0, shown = 0;

    (void)state;
    for (size_t i = 0; i < cairn_command_count; i++) {
        const struct cairn_command *command = &cairn_commands[i];

        assert_ptr_equal(cairn_command_find(command->name), command);
        assert_int_equal(bits & command->bit, 0);
        bits |= command->bit;
        shown += command->shown;
        assert_int_equal(command->detail[strlen(command->detail) - 1], '.');
        assert_null(strpbrk(command->brief, "'\"\\[]$:"));
        assert_int_equal(strncmp(command->example, "cairn ", 6), 0);
        assert_true(command->min_words <= command->max_words);
        assert_non_null(command->run);
    }
    assert_int_equal(shown, 6); /* those that people need */
    assert_null(cairn_command_find("nosuch"));
}

static void test_defaults_are_valid_values(void **state)
{
    struct cairn_settings settings;
    struct cairn_err err;

    (void)state;
    cairn_settings_init(&settings);
    for (size_t i = 0; i < cairn_option_count; i++)
        if (cairn_options[i].fallback != NULL)
            assert_int_equal(cairn_option_set(&cairn_options[i], cairn_options[i].fallback, "x",
                                              &settings, &err),
                             0);
    assert_int_equal(settings.interval_ns, 1000000);
    assert_int_equal(settings.flush_ns, 1000000000);
    assert_int_equal(settings.node_least_ppm, 5000);
    assert_int_equal(settings.edge_least_ppm, 1000);
    assert_int_equal(settings.metric, CAIRN_METRIC_WALL);
    assert_int_equal(settings.sort, CAIRN_SORT_SELF);
    assert_true(settings.format == CAIRN_CHOICE_NONE && settings.by == CAIRN_CHOICE_NONE);
    assert_false(settings.force || settings.sync || settings.json || settings.idle);
}

static int set(const char *name, const char *text, struct cairn_settings *settings,
               struct cairn_err *err)
{
    const struct cairn_option *option = cairn_option_find(name, strlen(name), ~0u);

    assert_non_null(option);
    return cairn_option_set(option, text, name, settings, err);
}

static void test_values_at_the_edges(void **state)
{
    static const struct {
        const char *name, *text;
        bool good;
    } cases[] = {
        {"rate", "1hz", true},
        {"rate", "1mhz", true},
        {"rate", "max", true},
        {"rate", "0", false},
        {"rate", "0.5hz", false},
        {"rate", "2mhz", false},
        {"rate", "-1", false},
        {"rate", "", false},
        {"rate", "fast", false},
        {"for", "1ms", true},
        {"for", "100000h", true},
        {"for", "999us", false},
        {"for", "0", false},
        {"for", "100001h", false},
        {"for", "3 parsecs", false},
        {"rotate", "64k", true},
        {"rotate", "63k", false},
        {"rotate", "1t", true},
        {"limit", "1", true},
        {"limit", "0", false},
        {"limit", "1000001", false},
        {"seed", "0", false},
        {"seed", "18446744073709551615", true},
        {"node-thres", "0", true},
        {"node-thres", "0.5%", true},
        {"node-thres", "100", true},
        {"node-thres", "100.1", false},
        {"node-thres", "-1", false},
        {"node-thres", "1e1", false},
        {"node-thres", "inf", false},
        {"node-thres", "%", false},
        {"node-thres", ".", false},
        {"node-thres", "5%%", false},
        {"node-thres", "5 %", false},
        {"metric", "gil-wait", true},
        {"metric", "gil_wait", false},
        {"metric", "", false},
        {"by", "process", true},
        {"by", "functions", false},
        {"focus", "", false},
        {"sync", "off", true},
        {"sync", "YES", true},
        {"sync", "2", false},
        {"format", "collapsed", true},
        {"format", "jpeg", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_settings settings, before;
        struct cairn_err err = {0};
        int code;

        cairn_settings_init(&settings);
        before = settings;
        code = set(cases[i].name, cases[i].text, &settings, &err);
        assert_int_equal(code, cases[i].good ? 0 : -CAIRN_EUSAGE);
        if (cases[i].good)
            continue;
        /* What is refused is named, and changes nothing. */
        assert_memory_equal(&settings, &before, sizeof(settings));
        assert_non_null(strstr(err.text, cases[i].name));
        assert_non_null(strchr(err.text, '\n'));
        assert_int_equal(cairn_err_status(err.code), 122);
    }
}

static void test_a_slip_is_answered_with_the_right_word(void **state)
{
    struct cairn_settings settings;
    struct cairn_err err;

    (void)state;
    cairn_settings_init(&settings);
    set("metric", "gil_wait", &settings, &err);
    assert_non_null(strstr(err.text, "Did you mean gil-wait?"));
    set("by", "functions", &settings, &err);
    assert_non_null(strstr(err.text, "Did you mean function?"));
    set("by", "zebra", &settings, &err);
    assert_null(strstr(err.text, "Did you mean"));
    assert_non_null(strstr(err.text, "function line module thread process state"));
}

/* Whether every line fits, and no line ends in blanks. */
static void check_lines(struct cairn_buf *out, size_t columns)
{
    const char *text = cairn_buf_cstr(out);

    assert_int_equal(out->code, 0);
    for (size_t size_bytes; *text != '\0'; text += size_bytes + (text[size_bytes] == '\n')) {
        size_bytes = strcspn(text, "\n");
        assert_true(size_bytes <= columns);
        assert_true(size_bytes == 0 || text[size_bytes - 1] != ' ');
    }
}

/* Whether an option stands there as a whole word. */
static bool names_option(const char *help, const char *name)
{
    for (const char *at = strstr(help, name); at != NULL; at = strstr(at + 1, name))
        if (strchr(" [\n", at[strlen(name)]) != NULL)
            return true;
    return false;
}

static void test_help_names_every_option_and_fits(void **state)
{
    (void)state;
    for (size_t c = 0; c < cairn_command_count; c++)
        for (int whole = 0; whole < 2; whole++) {
            struct cairn_buf out, man;

            cairn_buf_init(&out, 1 << 20);
            cairn_buf_init(&man, 1 << 20);
            cairn_help_command(&cairn_commands[c], whole != 0, &out);
            cairn_man_page(&cairn_commands[c], &man);
            check_lines(&out, CAIRN_HELP_COLUMNS);
            assert_non_null(cairn_buf_cstr(&man));
            for (size_t i = 0; i < cairn_option_count; i++) {
                const char *called = cairn_options[i].name;
                const struct cairn_option *option =
                    cairn_option_find(called, strlen(called), cairn_commands[c].bit);
                bool expected = option != NULL; /* another command's may bear the same name */
                char name[64];

                snprintf(name, sizeof(name), "    --%s", called);
                if (expected && option->letter != '\0')
                    snprintf(name, sizeof(name), "-%c, --%s", option->letter, called);
                assert_int_equal(names_option(cairn_buf_cstr(&out), name), expected);
            }
            cairn_buf_release(&out);
            cairn_buf_release(&man);
        }
}

static void test_completions_know_every_command(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    struct cairn_buf out;

    (void)state;
    for (size_t s = 0; s < 3; s++) {
        cairn_buf_init(&out, 1 << 20);
        assert_int_equal(cairn_completions(shells[s], &out), 0);
        for (size_t i = 0; i < cairn_command_count; i++)
            assert_non_null(strstr(cairn_buf_cstr(&out), cairn_commands[i].name));
        for (size_t i = 0; i < cairn_option_count; i++)
            assert_non_null(strstr(cairn_buf_cstr(&out), cairn_options[i].name));
        for (const struct cairn_exporter *e = cairn_exporters; e->name != NULL; e++)
            assert_non_null(strstr(cairn_buf_cstr(&out), e->name));
        cairn_buf_release(&out);
    }
    cairn_buf_init(&out, 1 << 20);
    assert_int_equal(cairn_completions("tcsh", &out), -CAIRN_EUSAGE);
    cairn_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option_is_whole),
        cmocka_unit_test(test_help_names_every_word_of_a_choice),
        cmocka_unit_test(test_letters_mean_one_thing_in_a_command),
        cmocka_unit_test(test_every_command_is_whole),
        cmocka_unit_test(test_defaults_are_valid_values),
        cmocka_unit_test(test_values_at_the_edges),
        cmocka_unit_test(test_a_slip_is_answered_with_the_right_word),
        cmocka_unit_test(test_help_names_every_option_and_fits),
        cmocka_unit_test(test_completions_know_every_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
