/* What tests/compat/test_pstats.py asks of the real tool is asked of the translation alone, with
 * what a shell's line cannot hold. The expected answers are those of Python 3.11's re.search(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "pyregex.h"

enum { NO, YES, BAD };

static struct cairn_span span(const char *text)
{
    return (struct cairn_span){(const uint8_t *)text, strlen(text)};
}

static int search_with(enum cairn_pyregex_signs signs, struct cairn_span pattern,
                       struct cairn_span text)
{
    struct cairn_pyregex *regex;
    bool found;
    int code = cairn_pyregex_make(pattern, signs, &regex);

    if (code == -CAIRN_EUSAGE)
        return BAD;
    assert_int_equal(code, 0);
    code = cairn_pyregex_search(regex, text, &found);
    cairn_pyregex_free(regex);
    assert_int_equal(code, 0);
    return found ? YES : NO;
}

static int search(struct cairn_span pattern, struct cairn_span text)
{
    return search_with(CAIRN_PYREGEX_PYTHON, pattern, text);
}

static const struct {
    const char *pattern, *text;
    int found;
} cases[] = {
    {"", "abc", YES},
    {"a b", "a b", YES},
    {"b$", "ab\n", YES},
    {"b\\Z", "ab\n", NO},
    {"a.b", "a\rb", YES},
    {"a.b", "a\nb", NO},
    {"\\v", "\n", NO},
    {"\\v", "\v", YES},
    {"[\\v]", "\v", YES},
    {"[\\b]", "\b", YES},
    {"\\a\\f", "\a\f", YES},
    {"\\w+", "größe", YES},
    {"^\\w+$", "größe", YES},
    {"(?a)^\\w+$", "größe", NO},
    {"(?u)^\\w+$", "größe", YES},
    {"^[\\w]+$", "日本語", YES},
    {"(?i)GRÖSSE|GRÖßE", "größe", YES},
    {"\\d", "٣", YES},
    {"^.$", "語", YES},
    {"\\0", "x", NO},
    {"\\101", "A", YES},
    {"\\777", "x", BAD},
    {"[\\101]", "A", YES},
    {"[\\8]", "8", BAD},
    {"(a)\\1", "aa", YES},
    {"(a)\\10", "aa", BAD},
    {"\\1", "a", BAD},
    {"\\u00e9", "é", YES},
    {"\\U0001f600", "\xf0\x9f\x98\x80", YES},
    {"\\u00e", "é", BAD},
    {"\\N{DASH}", "-", BAD},
    {"a{2}", "aa", YES},
    {"a{,2}b", "aab", YES},
    {"^a{,2}b", "aaab", NO},
    {"a{2", "a{2", YES},
    {"a{}", "a{}", YES},
    {"a{x}", "a{x}", YES},
    {"{a}", "{a}", YES},
    {"a{1}{2}", "aaa", BAD},
    {"a*?b", "aab", YES},
    {"a**", "a", BAD},
    {"a{2}*", "a", BAD},
    {"+", "a", BAD},
    {"[a", "a", BAD},
    {"a\\", "a", BAD},
    {"(a", "a", BAD},
    {"a)", "a", BAD},
    {"[]]", "]", YES},
    {"[^]]", "]", NO},
    {"[[:alpha:]]", ":]", YES},
    {"[[:alpha:]]", "x", NO},
    {"[[a-c]", "[", YES},
    {"[&&a]", "&", YES},
    {"[z-a]", "x", BAD},
    {"(?P<n>a)(?P=n)", "aa", YES},
    {"(?<n>a)", "a", BAD},
    {"(?P>n)", "a", BAD},
    {"(?'n'a)", "a", BAD},
    {"(a)?(?(1)b|c)", "c", YES},
    {"(?-i:a)", "A", NO},
    {"(?L)a", "a", BAD},
    {"(?s).", "\n", YES},
    {"(?m)^b", "a\nb", YES},
    {"(?<=a+)b", "ab", BAD},
    {"(*ACCEPT)", "a", BAD},
    {"\\G", "a", BAD},
    {"\\K", "a", BAD},
    {"\\R", "\n", BAD},
    {"\\X", "a", BAD},
    {"\\C", "a", BAD},
    {"\\-\\_\\/\\é", "-_/é", YES},
};

static void test_as_python_has_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int found = search(span(cases[i].pattern), span(cases[i].text));

        if (found != cases[i].found)
            fail_msg("%s in %s: %d", cases[i].pattern, cases[i].text, found);
    }
}

static void test_names_that_are_no_utf8(void **state)
{
    (void)state;
    assert_int_equal(search(span("b"), span("\xff\xed\xb3\xbf"
                                            "b")),
                     YES);
    assert_int_equal(search(span("c"), span("\xff\xed\xb3\xbf"
                                            "b")),
                     NO);
    assert_int_equal(search(span("\xff"), span("b")), BAD);
}

static void test_an_endless_search_ends(void **state)
{
    struct cairn_pyregex *regex;
    char text[64];
    bool found;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(cairn_pyregex_make(span("(a|aa|aaa)+$(?<!a)"), CAIRN_PYREGEX_PYTHON, &regex),
                     0);
    assert_int_equal(
        cairn_pyregex_search(regex, (struct cairn_span){(uint8_t *)text, sizeof(text)}, &found),
        -CAIRN_ELIMIT);
    cairn_pyregex_free(regex);
}

static void test_short_of_memory(void **state)
{
    struct cairn_pyregex *regex;
    long n = 0;
    int code;

    (void)state;
    do {
        cairn_alloc_fail_after(n++);
        code = cairn_pyregex_make(span("[a-z]+\\v{,3}"), CAIRN_PYREGEX_PYTHON, &regex);
        assert_int_equal(code, cairn_alloc_has_failed() ? -CAIRN_ENOMEM : 0);
        if (code == 0)
            cairn_pyregex_free(regex);
    } while (cairn_alloc_has_failed());
    cairn_alloc_fail_after(-1);
    assert_true(n >= 3);
}

/* What grep has besides, which Python reads as something else. */
static void test_what_grep_has_besides(void **state)
{
    static const struct {
        const char *pattern, *text;
        int found, python;
    } besides[] = {
        {"\\<run\\>", "a.run b", YES, NO},  {"\\<run\\>", "a.rerun b", NO, NO},
        {"\\<run\\>", "runs", NO, NO},      {"run\\>$", "a.run", YES, NO},
        {"\\<run\\>", "<run>", YES, YES},   {"^[[:alpha:]]+$", "walk", YES, NO},
        {"^[[:alpha:]]+$", "w4lk", NO, NO}, {"^[^[:digit:]_]+$", "a-b", YES, NO},
        {"[\\<]", "<", YES, YES},           {"[[:nothing:]]", "a", BAD, NO},
        {"[[:]x]", "[x]", YES, YES},        {"[a[:alpha:]-]x", "-x", YES, NO},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(besides) / sizeof(besides[0]); i++) {
        struct cairn_span pattern = span(besides[i].pattern), text = span(besides[i].text);

        assert_int_equal(search_with(CAIRN_PYREGEX_AND_GREP, pattern, text), besides[i].found);
        assert_int_equal(search(pattern, text), besides[i].python);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_python_has_it),
        cmocka_unit_test(test_what_grep_has_besides),
        cmocka_unit_test(test_names_that_are_no_utf8),
        cmocka_unit_test(test_an_endless_search_ends),
        cmocka_unit_test(test_short_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
