#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "escape.h"
#include "page.h"

#define WIDE "\xe7\xa9\xba" /* a character of two columns */
#define DOTS "\xe2\x80\xa6"

static void assert_fits(const char *text, unsigned columns, enum cairn_cut cut,
                        const char *expected)
{
    struct cairn_buf out;
    struct cairn_page page;

    cairn_buf_init(&out, 4096);
    cairn_page_init(&page, &out, 80, false);
    cairn_page_fit(&page, cairn_span_of(text), columns, cut);
    assert_string_equal(cairn_buf_cstr(&out), expected);
    assert_true(page.column <= columns);
    cairn_buf_release(&out);
}

static void test_names_are_cut_by_columns(void **state)
{
    (void)state;
    assert_fits("abcdef", 6, CAIRN_CUT_END, "abcdef");
    assert_fits("abcdef", 5, CAIRN_CUT_END, "abcd" DOTS);
    assert_fits("abcdef", 5, CAIRN_CUT_START, DOTS "cdef");
    assert_fits("abcdef", 1, CAIRN_CUT_END, DOTS);
    assert_fits("abcdef", 0, CAIRN_CUT_END, "");
    assert_fits(WIDE WIDE WIDE, 6, CAIRN_CUT_END, WIDE WIDE WIDE);
    assert_fits(WIDE WIDE WIDE, 5, CAIRN_CUT_END, WIDE WIDE DOTS);
    assert_fits(WIDE WIDE WIDE, 4, CAIRN_CUT_END, WIDE DOTS); /* half of one is not shown */
    assert_fits(WIDE WIDE WIDE, 4, CAIRN_CUT_START, DOTS WIDE);
    assert_fits("e\xcc\x81"
                "bc",
                3, CAIRN_CUT_END,
                "e\xcc\x81"
                "bc");                                /* combining: no column */
    assert_fits("a\nb", 6, CAIRN_CUT_END, "a\\x0ab"); /* counted as it is shown */
    assert_fits("a\nb", 5, CAIRN_CUT_END, "a\\x0" DOTS);
}

static void test_columns_line_up_and_lines_end_clean(void **state)
{
    struct cairn_buf out;
    struct cairn_page page;

    (void)state;
    cairn_buf_init(&out, 4096);
    cairn_page_init(&page, &out, 80, false);
    cairn_page_str(&page, WIDE);
    cairn_page_to(&page, 4);
    cairn_page_str(&page, "a");
    cairn_page_to(&page, 3); /* there already: one blank */
    cairn_page_str(&page, "b  ");
    cairn_page_end(&page);
    cairn_page_to(&page, 7);
    cairn_page_end(&page);
    assert_string_equal(cairn_buf_cstr(&out), WIDE "  a b\n\n");
    cairn_buf_release(&out);
}

static void test_prose_and_items_wrap(void **state)
{
    struct cairn_buf out;
    struct cairn_page page;

    (void)state;
    cairn_buf_init(&out, 4096);
    cairn_page_init(&page, &out, 40, false);
    cairn_page_prose(&page, 2, cairn_span_of("the quick brown fox jumps over the lazy dog"));
    cairn_page_label(&page, "label");
    for (int i = 0; i < 3; i++)
        cairn_page_item(&page, ", ", cairn_span_of("twelve chars"));
    cairn_page_end(&page);
    cairn_page_label(&page, "long");
    cairn_page_item(&page, ", ", cairn_span_of("this item alone is longer than a line"));
    cairn_page_end(&page);
    assert_string_equal(cairn_buf_cstr(&out), "  the quick brown fox jumps over the\n"
                                              "  lazy dog\n"
                                              "label    twelve chars, twelve chars\n"
                                              "         twelve chars\n"
                                              "long     this item alone is longer than" DOTS "\n");
    cairn_buf_release(&out);
}

static void test_colours_end_with_the_line(void **state)
{
    struct cairn_buf out;
    struct cairn_page page;

    (void)state;
    cairn_buf_init(&out, 4096);
    cairn_page_init(&page, &out, 40, true);
    cairn_page_style(&page, CAIRN_STYLE_STRONG);
    cairn_page_str(&page, "a ");
    cairn_page_style(&page, CAIRN_STYLE_PLAIN);
    cairn_page_style(&page, CAIRN_STYLE_STRONG);
    cairn_page_end(&page);
    assert_string_equal(cairn_buf_cstr(&out), "\x1b[0;1ma\x1b[0m\n");
    cairn_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_cut_by_columns),
        cmocka_unit_test(test_columns_line_up_and_lines_end_clean),
        cmocka_unit_test(test_prose_and_items_wrap),
        cmocka_unit_test(test_colours_end_with_the_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
