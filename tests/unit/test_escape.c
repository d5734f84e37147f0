#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "escape.h"

typedef void escape_fn(struct cairn_buf *out, struct cairn_span text);

static void assert_escaped(escape_fn *escape, const char *text, size_t size_bytes,
                           const char *expected)
{
    uint8_t *exact = malloc(size_bytes);
    struct cairn_buf out;

    memcpy(exact, text, size_bytes);
    cairn_buf_init(&out, 4096);
    escape(&out, (struct cairn_span){exact, size_bytes});
    assert_string_equal(cairn_buf_cstr(&out), expected);
    cairn_buf_release(&out);
    free(exact);
}

#define ESCAPED(escape, text, expected) assert_escaped(escape, text, sizeof(text) - 1, expected)

static void test_a_terminal_obeys_nothing(void **state)
{
    (void)state;
    ESCAPED(cairn_escape_terminal, "plain \xc3\xb6 \xe7\xa9\xba", "plain \xc3\xb6 \xe7\xa9\xba");
    ESCAPED(cairn_escape_terminal, "a\x1b[31m\r\n\t\x7f\0z",
            "a\\x1b[31m\\x0d\\x0a\\x09\\x7f\\x00z");
    ESCAPED(cairn_escape_terminal,
            "\xc2\x9b"
            "31m",
            "\\x9b31m"); /* C1: the same as ESC [ */
    ESCAPED(cairn_escape_terminal,
            "\xe2\x80\xae"
            "abc\xe2\x81\xa9",
            "\\u202eabc\\u2069");
    ESCAPED(cairn_escape_terminal, "\xd8\x9c\xe2\x80\x8f", "\\u061c\\u200f");
    ESCAPED(cairn_escape_terminal, "\xff\xc0\xaf\xe7\xa9", /* not UTF-8, too long, cut */
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_xml_stays_text(void **state)
{
    (void)state;
    ESCAPED(cairn_escape_xml, "<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;");
    ESCAPED(cairn_escape_xml, "]]>\x01\n", "]]&gt;\\x01\\x0a");
    ESCAPED(cairn_escape_xml, "\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_json_strings_end_where_they_should(void **state)
{
    (void)state;
    ESCAPED(cairn_escape_json, "a\"b\\c\n\0", "a\\\"b\\\\c\\u000a\\u0000");
    ESCAPED(cairn_escape_json, "\xe2\x80\xa8\xff", "\\u2028\xef\xbf\xbd");
}

static void test_a_collapsed_frame_holds_no_separator(void **state)
{
    (void)state;
    ESCAPED(cairn_escape_collapsed, "a;b c\n\xc2\x85", "a\\x3bb c\\x0a\\x85");
    ESCAPED(cairn_escape_collapsed, "\xe2\x80\xa8\xe2\x80\xa9",
            "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"); /* line ends, too, to some readers */
}

static void test_utf8_is_utf8_afterwards(void **state)
{
    (void)state;
    ESCAPED(cairn_escape_utf8, "a;\n\"\xed\xa0\x80z",
            "a;\n\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"); /* a lone surrogate */
    ESCAPED(cairn_escape_utf8, "cut\0here", "cut\\x00here");
}

static void test_a_spreadsheet_computes_nothing(void **state)
{
    (void)state;
    ESCAPED(cairn_escape_csv, "a,\"b\";\xc3\xb6", "\"a,\"\"b\"\";\xc3\xb6\"");
    ESCAPED(cairn_escape_csv, "=1+1", "\"'=1+1\"");
    ESCAPED(cairn_escape_csv, "+1", "\"'+1\"");
    ESCAPED(cairn_escape_csv, "-1", "\"'-1\"");
    ESCAPED(cairn_escape_csv, "@f", "\"'@f\"");
    ESCAPED(cairn_escape_csv,
            "\xef\xbc\x9d"
            "1",
            "\"'\xef\xbc\x9d"
            "1\"");
    ESCAPED(cairn_escape_csv, "\t=1\r\n\0", "\"\\x09=1\\x0d\\x0a\\x00\"");
    ESCAPED(cairn_escape_csv, "\xe2\x80\xa8\xe2\x80\xa9\xff", "\"\\u2028\\u2029\xef\xbf\xbd\"");
    ESCAPED(cairn_escape_csv, "a=b", "\"a=b\"");
}

static void test_markdown_marks_nothing_up(void **state)
{
    (void)state;
    ESCAPED(cairn_escape_markdown, "a/b-c 1\xc3\xb6", "a/b-c 1\xc3\xb6");
    ESCAPED(cairn_escape_markdown, "<b>|`@x_*", "&#60;b&#62;&#124;&#96;&#64;x&#95;&#42;");
    ESCAPED(cairn_escape_markdown, "\n\xe2\x80\xae", "&#92;x0a&#92;u202e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_terminal_obeys_nothing),
        cmocka_unit_test(test_xml_stays_text),
        cmocka_unit_test(test_json_strings_end_where_they_should),
        cmocka_unit_test(test_a_collapsed_frame_holds_no_separator),
        cmocka_unit_test(test_utf8_is_utf8_afterwards),
        cmocka_unit_test(test_a_spreadsheet_computes_nothing),
        cmocka_unit_test(test_markdown_marks_nothing_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
