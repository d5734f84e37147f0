#include <limits.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "text.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define REFUSED UINT64_MAX /* in the tables below: the parser must say no */

struct parsed {
    const char *text;
    uint64_t value;
};

static void check_parser(int (*parse)(const char *, uint64_t *), const struct parsed *cases,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 77;
        int code = parse(cases[i].text, &value);

        if (cases[i].value == REFUSED) {
            if (code != -CAIRN_EUSAGE || value != 77)
                fail_msg("'%s' was not refused", cases[i].text);
        } else if (code != 0 || value != cases[i].value) {
            fail_msg("'%s' gave %d and %llu", cases[i].text, code, (unsigned long long)value);
        }
    }
}

static void test_times_are_read_exactly(void **state)
{
    static const struct parsed cases[] = {
        {"0", 0},
        {"3", 3000000000u},
        {"3s", 3000000000u},
        {"1.5", 1500000000u},
        {".5s", 500000000u},
        {"2.s", 2000000000u},
        {"250us", 250000},
        {"10ms", 10000000},
        {"7ns", 7},
        {"2m", 120000000000u},
        {"1h", 3600000000000u},
        {"10MS", 10000000},
        {"0.1s", 100000000},
        {"0.000000001", 1},
        {"0.0000000019", 1},
        {"0.1234567899999999999999999999999", 123456789},
        {"18446744073.709551614", UINT64_MAX - 1},
        {"18446744073.709551616", REFUSED},
        {"18446744074", REFUSED},
        {"99999999999999999999ns", REFUSED},
        {"", REFUSED},
        {"s", REFUSED},
        {".", REFUSED},
        {"1.2.3", REFUSED},
        {"-1", REFUSED},
        {"+1", REFUSED},
        {" 1", REFUSED},
        {"1 s", REFUSED},
        {"1s ", REFUSED},
        {"1e3", REFUSED},
        {"1d", REFUSED},
        {"0x10", REFUSED},
        {"nan", REFUSED},
    };

    (void)state;
    check_parser(cairn_text_parse_time, cases, COUNT_OF(cases));
}

static void test_sizes_are_powers_of_1024(void **state)
{
    static const struct parsed cases[] = {
        {"0", 0},
        {"512", 512},
        {"512b", 512},
        {"64k", 65536},
        {"64K", 65536},
        {"64kB", 65536},
        {"64KiB", 65536},
        {"10m", 10485760},
        {"2g", 2147483648u},
        {"1.5k", 1536},
        {"16383t", (uint64_t)16383 << 40},
        {"16777216t", REFUSED},
        {"64ib", REFUSED},
        {"64kk", REFUSED},
        {"k", REFUSED},
    };

    (void)state;
    check_parser(cairn_text_parse_size, cases, COUNT_OF(cases));
}

static void test_rates_become_intervals(void **state)
{
    static const struct parsed cases[] = {
        {"max", 0},
        {"MAX", 0},
        {"100hz", 10000000},
        {"1khz", 1000000},
        {"1000", 1000000},
        {"10kHz", 100000},
        {"3hz", 333333333},
        {"7hz", 142857143}, /* to the nearest */
        {"0.5hz", 2000000000u},
        {"1mhz", 1000},
        {"1000mhz", 1},
        {"0", REFUSED},
        {"0.0000001hz", REFUSED},
        {"2001mhz", REFUSED}, /* would be no interval at all, which means "max" */
        {"maximum", REFUSED},
        {"", REFUSED},
        {"hz", REFUSED},
        {"1ms", REFUSED},
    };

    (void)state;
    check_parser(cairn_text_parse_rate, cases, COUNT_OF(cases));
}

static void test_whole_numbers_are_decimal_or_hex(void **state)
{
    static const struct parsed cases[] = {
        {"0", 0},
        {"010", 10},
        {"0x10", 16},
        {"0XfF", 255},
        {"18446744073709551614", UINT64_MAX - 1},
        {"0xfffffffffffffffe", UINT64_MAX - 1},
        {"18446744073709551616", REFUSED},
        {"0x10000000000000000", REFUSED},
        {"", REFUSED},
        {"0x", REFUSED},
        {"x1", REFUSED},
        {"1a", REFUSED},
        {"0x1g", REFUSED},
        {"-1", REFUSED},
        {"1 ", REFUSED},
    };
    uint64_t value;

    (void)state;
    check_parser(cairn_text_parse_u64, cases, COUNT_OF(cases));
    assert_int_equal(cairn_text_parse_u64("18446744073709551615", &value), 0);
    assert_int_equal(value, UINT64_MAX);
}

struct printed {
    uint64_t value;
    const char *text;
};

static void check_printer(void (*print)(struct cairn_buf *, uint64_t), const struct printed *cases,
                          size_t count)
{
    struct cairn_buf buf;

    cairn_buf_init(&buf, 100);
    for (size_t i = 0; i < count; i++) {
        cairn_buf_clear(&buf);
        print(&buf, cases[i].value);
        assert_string_equal(cairn_buf_cstr(&buf), cases[i].text);
    }
    cairn_buf_release(&buf);
}

static void test_times_have_three_digits_and_one_unit(void **state)
{
    static const struct printed cases[] = {
        {0, "0 s"},
        {1, "1 ns"},
        {999, "999 ns"},
        {1000, "1 us"},
        {8100, "8.1 us"},
        {8123, "8.12 us"},
        {8125, "8.13 us"},
        {9996, "10 us"},
        {99960, "100 us"},
        {412345678, "412 ms"},
        {999499999, "999 ms"},
        {999500000, "1 s"}, /* rounding reaches the next unit */
        {1005000000, "1.01 s"},
        {1370000000, "1.37 s"},
        {119000000000u, "119 s"},
        {120000000000u, "2 min"},
        {4567000000000u, "76.1 min"},
        {7200000000000u, "2 h"},
        {UINT64_MAX, "5124096 h"},
    };

    (void)state;
    check_printer(cairn_text_time, cases, COUNT_OF(cases));
}

static void print_thousands(struct cairn_buf *out, uint64_t value)
{
    cairn_text_amount(out, value, 1000);
}

static void test_amounts_are_numbers_of_what_is_no_time(void **state)
{
    static const struct printed cases[] = {
        {0, "0"},
        {1, "0.001"},
        {333, "0.333"},
        {1000, "1"},
        {999000, "999"},
        {999600, "1 k"},
        {1234567, "1.23 k"},
        {412345678000u, "412 M"},
        {5000000000000u, "5 G"},
        {UINT64_MAX, "18447 T"},
    };
    struct cairn_buf buf;

    (void)state;
    check_printer(print_thousands, cases, COUNT_OF(cases));
    cairn_buf_init(&buf, 100);
    cairn_text_amount(&buf, 1370000000, 0); /* they are times */
    assert_string_equal(cairn_buf_cstr(&buf), "1.37 s");
    cairn_buf_release(&buf);
}

static void test_sizes_have_three_digits_and_one_unit(void **state)
{
    static const struct printed cases[] = {
        {0, "0 B"},
        {999, "999 B"},
        {1000, "0.977 KiB"},
        {1024, "1 KiB"},
        {1536, "1.5 KiB"},
        {999 * 1024, "999 KiB"},
        {(uint64_t)312 << 20, "312 MiB"},
        {(uint64_t)3 << 29, "1.5 GiB"},
        {UINT64_MAX, "16 EiB"},
    };

    (void)state;
    check_printer(cairn_text_size, cases, COUNT_OF(cases));
}

static void test_counts_are_grouped(void **state)
{
    static const struct printed cases[] = {
        {0, "0"},        {999, "999"},           {1000, "1,000"},
        {1366, "1,366"}, {1000005, "1,000,005"}, {UINT64_MAX, "18,446,744,073,709,551,615"},
    };

    (void)state;
    check_printer(cairn_text_count, cases, COUNT_OF(cases));
}

static void test_utf8_is_whole_or_one_bad_byte(void **state)
{
    static const struct {
        const char *bytes;
        size_t size_bytes, length;
        uint32_t character;
    } cases[] = {
        {"a", 1, 1, 'a'},
        {"\0", 1, 1, 0},
        {"\xc2\x80", 2, 2, 0x80},
        {"\xdf\xbf", 2, 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 3, 0x800},
        {"\xef\xbf\xbf", 3, 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
        {"\xf4\x90\x80\x80", 4, 1, 0xfffd}, /* past the last character */
        {"\xf5\x80\x80\x80", 4, 1, 0xfffd},
        {"\xff", 1, 1, 0xfffd},
        {"\x80", 1, 1, 0xfffd},
        {"\xc1\xbf", 2, 1, 0xfffd}, /* a longer form than needed */
        {"\xe0\x9f\xbf", 3, 1, 0xfffd},
        {"\xf0\x8f\xbf\xbf", 4, 1, 0xfffd},
        {"\xed\xa0\x80", 3, 1, 0xfffd}, /* surrogates */
        {"\xed\xbf\xbf", 3, 1, 0xfffd},
        {"\xc3", 1, 1, 0xfffd}, /* cut short */
        {"\xe2\x82", 2, 1, 0xfffd},
        {"\xf0\x9f\x98", 3, 1, 0xfffd},
        {"\xc3(", 2, 1, 0xfffd},
        {"\xe2\x82(", 3, 1, 0xfffd},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *exact = malloc(cases[i].size_bytes);
        uint32_t character = 77;

        assert_non_null(exact);
        memcpy(exact, cases[i].bytes, cases[i].size_bytes);
        assert_int_equal(cairn_text_utf8_next(exact, cases[i].size_bytes, &character),
                         cases[i].length);
        assert_int_equal(character, cases[i].character);
        free(exact);
    }
}

static void test_every_character_comes_back(void **state)
{
    struct cairn_buf buf;

    (void)state;
    cairn_buf_init(&buf, 8);
    for (uint32_t character = 0; character <= 0x110000; character++) {
        bool is_valid = character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
        uint32_t back;

        cairn_buf_clear(&buf);
        cairn_text_utf8_add(&buf, character);
        if (cairn_text_utf8_next(buf.data, buf.size_bytes, &back) != buf.size_bytes)
            fail_msg("U+%04X has another length", character);
        if (back != (is_valid ? character : 0xfffd))
            fail_msg("U+%04X came back as U+%04X", character, back);
    }
    cairn_buf_release(&buf);
}

static void test_widths_are_those_of_a_terminal(void **state)
{
    static const struct {
        uint32_t character;
        int width;
    } cases[] = {
        {0, 0},       {0x1b, 0},    {' ', 1},    {'~', 1},      {0x7f, 0},       {0x9f, 0},
        {0xa0, 1},    {0xad, 1},    {0xe9, 1},   {0x300, 0},    {0x36f, 0},      {0x370, 1},
        {0x1100, 2},  {0x1161, 0},  {0x200b, 0}, {0x202e, 0},   {0x2588, 1},     {0x3042, 2},
        {0x4e2d, 2},  {0xac00, 2},  {0xff21, 2}, {0xff71, 1},   {0x1f600, 2},    {0x20000, 2},
        {0x2fffd, 2}, {0xe0100, 0}, {0xfffd, 1}, {0x10ffff, 1}, {UINT32_MAX, 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (cairn_text_width(cases[i].character) != cases[i].width)
            fail_msg("U+%04X is %d wide", cases[i].character, cairn_text_width(cases[i].character));
}

static void test_columns_add_up(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"e\xcc\x81", 1},
        {"\xe4\xb8\xad\xe6\x96\x87", 4},
        {"a\xff"
         "b",
         3},
        {"\xe4\xb8", 2}, /* two bad bytes, each shown as U+FFFD */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cairn_span span = {(const uint8_t *)cases[i].text, strlen(cases[i].text)};

        assert_int_equal(cairn_text_columns(span), cases[i].columns);
    }
    assert_int_equal(cairn_text_columns((struct cairn_span){NULL, 0}), 0);
}

static void test_distance_counts_edits(void **state)
{
    static const struct {
        const char *a, *b;
        unsigned distance;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"report", "report", 0},
        {"report", "reprot", 2},
        {"kitten", "sitting", 3},
        {"run", "rnu", 2},
        {"a", "b", 1},
        {"attach", "atach", 1},
    };
    char most[66], none[66];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(cairn_text_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(cairn_text_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
    memset(most, 'm', 65);
    memset(none, 'n', 65);
    most[65] = none[65] = '\0';
    assert_int_equal(cairn_text_distance(most, "m"), UINT_MAX);
    assert_int_equal(cairn_text_distance("m", most), UINT_MAX);
    assert_int_equal(cairn_text_distance(most + 1, none + 1), 64);
}

static void test_a_shell_sees_one_word(void **state)
{
    static const struct {
        const char *word, *shown;
    } cases[] = {
        {"./a-b_c.py:1,2=3+4%@", "./a-b_c.py:1,2=3+4%@"},
        {"", "''"},
        {"two words", "'two words'"},
        {"it's $HOME `x` \\ \xff", "'it'\\''s $HOME `x` \\ \xff'"},
        {"a~", "'a~'"},
    };
    struct cairn_buf out;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        cairn_buf_init(&out, 1024);
        cairn_text_shell_word(
            &out, (struct cairn_span){(const uint8_t *)cases[i].word, strlen(cases[i].word)});
        assert_string_equal(cairn_buf_cstr(&out), cases[i].shown);
        cairn_buf_release(&out);
    }
}

static void test_lines_are_taken_one_by_one(void **state)
{
    static const char text[] = "one\n\n three\nlast";
    static const char *const wanted[] = {"one", "", " three", "last"};
    struct cairn_span rest = {(const uint8_t *)text, sizeof(text) - 1}, line;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_true(cairn_text_line(&rest, &line));
        assert_int_equal(line.size_bytes, strlen(wanted[i]));
        assert_memory_equal(line.data, wanted[i], line.size_bytes);
    }
    assert_false(cairn_text_line(&rest, &line));
    rest = (struct cairn_span){(const uint8_t *)"a\n", 2}; /* its end is no line */
    assert_true(cairn_text_line(&rest, &line));
    assert_false(cairn_text_line(&rest, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_are_read_exactly),
        cmocka_unit_test(test_sizes_are_powers_of_1024),
        cmocka_unit_test(test_rates_become_intervals),
        cmocka_unit_test(test_whole_numbers_are_decimal_or_hex),
        cmocka_unit_test(test_times_have_three_digits_and_one_unit),
        cmocka_unit_test(test_amounts_are_numbers_of_what_is_no_time),
        cmocka_unit_test(test_sizes_have_three_digits_and_one_unit),
        cmocka_unit_test(test_counts_are_grouped),
        cmocka_unit_test(test_utf8_is_whole_or_one_bad_byte),
        cmocka_unit_test(test_every_character_comes_back),
        cmocka_unit_test(test_widths_are_those_of_a_terminal),
        cmocka_unit_test(test_columns_add_up),
        cmocka_unit_test(test_distance_counts_edits),
        cmocka_unit_test(test_a_shell_sees_one_word),
        cmocka_unit_test(test_lines_are_taken_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
