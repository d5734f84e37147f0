#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "alloc.h"
#include "golden.h"
#include "profile.h"
#include "report_json.h"
#include "report_text.h"
#include "tallied.h"
#include "text.h"

#define TEXT_MAX_BYTES (1 << 20)

/* How well zstd did is no business of a picture: " 9.8 KiB on disk" reads "? on disk". */
static void mask_size(struct cairn_buf *text)
{
    char *end = (char *)(uintptr_t)cairn_buf_cstr(text), *start;
    unsigned masked = 0;

    for (; (end = strstr(end, " on disk")) != NULL; end = start + 1, masked++) {
        start = end;
        for (int blanks = 0; blanks < 2; start--)
            blanks += start[-1] == ' ';
        start++;
        *start++ = '?';
        memmove(start, end, text->size_bytes - (size_t)(end - (char *)text->data));
        text->size_bytes -= (size_t)(end - start);
        (void)cairn_buf_cstr(text);
    }
    assert_true(masked > 0);
}

static void assert_golden(const char *name, struct cairn_buf *text)
{
    char file[128];

    mask_size(text);
    snprintf(file, sizeof(file), "%s.txt", name);
    golden_assert(file, text);
}

static void make_report(const struct cairn_tally *tally, const struct cairn_report_options *options,
                        struct cairn_outlet *out)
{
    cairn_outlet_init(out, -1, "memory");
    assert_int_equal(cairn_report_text(tally, options, out, NULL), 0);
}

static void test_golden_pictures(void **state)
{
    static const struct {
        const char *name;
        unsigned width;
        int by;
        const char *of;
        enum cairn_metric metric;
        bool with_idle, is_short, with_source;
    } pictures[] = {
        {"report_80", 80, -1, NULL, CAIRN_METRIC_WALL, false, false, false},
        {"report_120", 120, -1, NULL, CAIRN_METRIC_WALL, false, false, false},
        {"report_line", 80, CAIRN_BY_LINE, NULL, CAIRN_METRIC_WALL, false, false, false},
        {"report_thread", 80, CAIRN_BY_THREAD, NULL, CAIRN_METRIC_WALL, true, false, false},
        {"report_state", 80, CAIRN_BY_STATE, NULL, CAIRN_METRIC_WALL, false, false, false},
        {"report_of", 80, -1, "main", CAIRN_METRIC_WALL, false, false, false},
        {"report_cpu", 80, -1, NULL, CAIRN_METRIC_CPU, false, false, false},
        {"report_gil", 80, -1, NULL, CAIRN_METRIC_GIL, false, false, false},
        {"report_short", 80, -1, NULL, CAIRN_METRIC_WALL, false, true, false},
        {"report_source_80", 80, -1, NULL, CAIRN_METRIC_WALL, false, false, true},
        {"report_source_120", 120, CAIRN_BY_LINE, NULL, CAIRN_METRIC_WALL, false, false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
        struct cairn_model *model = pictures[i].is_short ? profile_load_short() : profile_load();
        struct cairn_tally tally = tally_by(model, pictures[i].metric);
        struct cairn_report_options options;
        struct cairn_source source;
        struct cairn_outlet out;

        cairn_source_init(&source, model);
        source.newest_real_ns = UINT64_MAX;
        cairn_report_options_init(&options);
        options.source = pictures[i].with_source ? &source : NULL;
        options.width = pictures[i].width;
        options.by = pictures[i].by;
        options.of = pictures[i].of;
        options.with_idle = pictures[i].with_idle;
        make_report(&tally, &options, &out);
        assert_golden(pictures[i].name, &out.buf);
        cairn_outlet_release(&out);
        cairn_source_release(&source);
        cairn_tally_release(&tally);
        cairn_model_free(model);
    }
}

static void assert_lines_fit(const struct cairn_buf *text, unsigned width)
{
    const uint8_t *at = text->data, *end = text->data + text->size_bytes;

    while (at < end) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        struct cairn_span line = {at, (size_t)(newline - at)};

        assert_non_null(newline);
        if (cairn_text_columns(line) > width)
            fail_msg("%u columns: %.*s", width, (int)line.size_bytes, (const char *)line.data);
        if (line.size_bytes > 0)
            assert_int_not_equal(line.data[line.size_bytes - 1], ' ');
        at = newline + 1;
    }
}

static void test_every_width_fits(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_report_options options;
    struct cairn_source source;

    (void)state;
    cairn_source_init(&source, model);
    source.newest_real_ns = UINT64_MAX;
    cairn_report_options_init(&options);
    options.limit = 1000;
    options.file = "a folder/with a name that is long enough to be cut somewhere/recording.cairn";
    for (options.width = 40; options.width <= 200; options.width++)
        for (options.by = -1; options.by < CAIRN_BY_COUNT; options.by++) {
            struct cairn_outlet out;

            options.source = options.width % 2 ? &source : NULL;
            make_report(&tally, &options, &out);
            assert_lines_fit(&out.buf, options.width);
            cairn_outlet_release(&out);
        }
    cairn_source_release(&source);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_nothing_left_is_said(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_report_options options;
    struct cairn_filter filter;
    struct cairn_tally tally;
    struct cairn_outlet out;

    (void)state;
    cairn_filter_init(&filter);
    filter.focus = (struct cairn_patterns){(const char *const[]){"nowhere"}, 1};
    assert_int_equal(cairn_tally_make(model, &filter, &tally, NULL), 0);
    cairn_report_options_init(&options);
    make_report(&tally, &options, &out);
    assert_non_null(strstr(cairn_buf_cstr(&out.buf), "\nNo sample is left: none fits"));
    assert_null(strstr(cairn_buf_cstr(&out.buf), "took"));
    cairn_outlet_release(&out);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void strip_colours(struct cairn_buf *text)
{
    size_t to = 0;

    for (size_t from = 0; from < text->size_bytes; from++) {
        if (text->data[from] == '\x1b')
            while (text->data[from] != 'm')
                from++;
        else
            text->data[to++] = text->data[from];
    }
    text->size_bytes = to;
}

static void test_colours_change_nothing_else(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_report_options options;
    struct cairn_outlet plain, coloured;

    (void)state;
    cairn_report_options_init(&options);
    make_report(&tally, &options, &plain);
    options.colour = true;
    make_report(&tally, &options, &coloured);
    assert_true(coloured.buf.size_bytes > plain.buf.size_bytes);
    strip_colours(&coloured.buf);
    assert_string_equal(cairn_buf_cstr(&coloured.buf), cairn_buf_cstr(&plain.buf));
    assert_null(memchr(plain.buf.data, '\x1b', plain.buf.size_bytes));
    cairn_outlet_release(&plain);
    cairn_outlet_release(&coloured);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_json_is_what_jansson_reads(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_report_options options;
    struct cairn_outlet out;
    json_t *document, *row;
    double self_s = 0;
    bool hard_name = false;
    size_t i;

    (void)state;
    cairn_report_options_init(&options);
    options.with_idle = true;
    cairn_outlet_init(&out, -1, "memory");
    assert_int_equal(cairn_report_json(&tally, &options, &out, NULL), 0);
    document = json_loadb((const char *)out.buf.data, out.buf.size_bytes, 0, NULL);
    assert_non_null(document);
    assert_int_equal(json_integer_value(json_object_get(document, "schema")), CAIRN_JSON_SCHEMA);
    json_array_foreach(json_object_get(document, "rows"), i, row)
    {
        self_s += json_number_value(json_object_get(row, "self_s"));
        hard_name |= strncmp(json_string_value(json_object_get(row, "name")), PROFILE_HARD_NAME,
                             strlen("hard;\x1b[31m\n<b>&\"'")) == 0;
    }
    assert_true(hard_name);
    assert_true(self_s * 1e9 > (double)tally.total.value_ns - 1000 &&
                self_s * 1e9 < (double)tally.total.value_ns + 1000);
    json_decref(document);
    cairn_outlet_release(&out);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* The recording is of before there was a GIL in them. */
static void test_a_metric_that_was_not_recorded_is_not_zero(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_GIL);
    struct cairn_report_options options;
    struct cairn_outlet out;
    json_t *document;

    (void)state;
    cairn_report_options_init(&options);
    cairn_outlet_init(&out, -1, "memory");
    assert_int_equal(cairn_report_json(&tally, &options, &out, NULL), 0);
    document = json_loadb((const char *)out.buf.data, out.buf.size_bytes, 0, NULL);
    assert_true(json_is_false(json_object_get(document, "known")));
    assert_true(json_is_string(json_object_get(document, "why")));
    assert_int_equal(json_array_size(json_object_get(document, "rows")), 0);
    assert_true(json_is_null(json_object_get(json_object_get(document, "overlays"), "gil_held_s")));
    json_decref(document);
    cairn_outlet_release(&out);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_short_memory_is_an_answer(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_report_options options;
    bool failed = true, any = false;

    (void)state;
    cairn_report_options_init(&options);
    for (long n = 0; failed; n++) {
        struct cairn_outlet out;
        int code;

        cairn_outlet_init(&out, -1, "memory");
        cairn_alloc_fail_after(n);
        code = n % 2 ? cairn_report_json(&tally, &options, &out, NULL)
                     : cairn_report_text(&tally, &options, &out, NULL);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        if (failed)
            assert_int_equal(code, -CAIRN_ENOMEM);
        else
            assert_int_equal(code, 0);
        any |= failed;
        cairn_outlet_release(&out);
    }
    assert_true(any);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_pictures),
        cmocka_unit_test(test_every_width_fits),
        cmocka_unit_test(test_nothing_left_is_said),
        cmocka_unit_test(test_colours_change_nothing_else),
        cmocka_unit_test(test_json_is_what_jansson_reads),
        cmocka_unit_test(test_a_metric_that_was_not_recorded_is_not_zero),
        cmocka_unit_test(test_short_memory_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
