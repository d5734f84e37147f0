#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <zlib.h>

#include "alloc.h"
#include "base64_out.h"
#include "html.h"
#include "profile.h"
#include "tally.h"

static void encode(const char *text, size_t piece_bytes, const char *wanted)
{
    struct cairn_outlet out;
    struct cairn_base64 base64 = {.out = &out};
    size_t size_bytes = strlen(text);

    cairn_outlet_init(&out, -1, "memory");
    for (size_t at = 0; at < size_bytes; at += piece_bytes) {
        size_t left_bytes = size_bytes - at;

        assert_int_equal(cairn_base64_add(&base64, text + at,
                                          left_bytes < piece_bytes ? left_bytes : piece_bytes),
                         0);
    }
    assert_int_equal(cairn_base64_end(&base64), 0);
    assert_string_equal(cairn_buf_cstr(&out.buf), wanted);
    cairn_outlet_release(&out);
}

/* The vectors of RFC 4648, in pieces of every size. */
static void test_base64_is_that_of_the_rfc(void **state)
{
    static const char *const vectors[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        for (size_t piece_bytes = 1; piece_bytes <= 6; piece_bytes++)
            encode(vectors[i][0], piece_bytes, vectors[i][1]);
}

static void make_page(const struct cairn_model *model, struct cairn_outlet *out, int *ret_code)
{
    struct cairn_html_options options = {.source = false};

    cairn_filter_init(&options.filter);
    cairn_outlet_init(out, -1, "memory");
    *ret_code = cairn_html(model, &options, out, NULL);
}

static unsigned value_of(char letter)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = strchr(letters, letter);

    assert_true(letter && found);
    return (unsigned)(found - letters);
}

/* The JSON in a page, read back with zlib and jansson. */
static json_t *read_data(const char *page)
{
    static const char start[] = "id=\"data\">";
    const char *at = strstr(page, start) + sizeof(start) - 1, *end = strstr(at, "</script>");
    size_t size_bytes = (size_t)(end - at) / 4 * 3, text_bytes = (size_t)16 << 20, count = 0;
    uint8_t *packed = malloc(size_bytes), *text = malloc(text_bytes);
    z_stream stream = {.next_in = packed, .next_out = text, .avail_out = (uInt)text_bytes};
    json_t *data;

    for (; at < end && at[3] != '='; at += 4) {
        unsigned bits =
            value_of(at[0]) << 18 | value_of(at[1]) << 12 | value_of(at[2]) << 6 | value_of(at[3]);

        packed[count++] = (uint8_t)(bits >> 16);
        packed[count++] = (uint8_t)(bits >> 8);
        packed[count++] = (uint8_t)bits;
    }
    if (at < end) {
        packed[count++] = (uint8_t)(value_of(at[0]) << 2 | value_of(at[1]) >> 4);
        if (at[2] != '=')
            packed[count++] = (uint8_t)(value_of(at[1]) << 4 | value_of(at[2]) >> 2);
    }
    stream.avail_in = (uInt)count;
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(inflateEnd(&stream), Z_OK);
    data = json_loadb((const char *)text, stream.total_out, 0, NULL);
    free(packed);
    free(text);
    return data;
}

static void test_sums_and_tree_are_those_of_the_tally(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_filter filter;
    struct cairn_tally tally;
    struct cairn_outlet out;
    json_t *data, *metric, *nodes, *row;
    json_int_t sum = 0;
    size_t index;
    int code;

    (void)state;
    make_page(model, &out, &code);
    assert_int_equal(code, 0);
    data = read_data(cairn_buf_cstr(&out.buf));
    assert_non_null(data);
    for (int i = 0; i < CAIRN_METRIC_SAMPLED; i++) {
        cairn_filter_init(&filter);
        filter.metric = (enum cairn_metric)i;
        assert_int_equal(cairn_tally_make(model, &filter, &tally, NULL), 0);
        metric = json_array_get(json_object_get(data, "metrics"), (size_t)i);
        assert_string_equal(json_string_value(json_object_get(metric, "name")),
                            cairn_metric_name(filter.metric));
        sum = 0;
        json_array_foreach(json_array_get(json_object_get(metric, "cells"), 3), index, row) sum +=
            json_integer_value(row);
        assert_int_equal(sum, tally.known ? tally.total.value_ns : 0);
        cairn_tally_release(&tally);
    }
    nodes = json_object_get(data, "nodes");
    assert_true(json_array_size(nodes) > 20);
    for (index = 2; index < json_array_size(nodes); index += 2)
        assert_true(json_integer_value(json_array_get(nodes, index)) < (json_int_t)(index / 2));
    json_decref(data);
    cairn_outlet_release(&out);
    cairn_model_free(model);
}

#define STEP 17 /* of the requests that fail in turn: all of them take half a minute */

/* A tally can do without some of what it asks for: then the page is the same. */
static void test_memory_that_runs_out_is_an_answer(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_outlet whole;
    bool failed = true;
    int whole_code;
    long n = 0, told = 0;

    (void)state;
    make_page(model, &whole, &whole_code);
    assert_int_equal(whole_code, 0);
    for (; failed; n += STEP) {
        struct cairn_outlet out;
        int code;

        cairn_alloc_fail_after(n);
        make_page(model, &out, &code);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_true(code == 0 || (failed && code == -CAIRN_ENOMEM));
        if (code == 0)
            assert_string_equal(cairn_buf_cstr(&out.buf), cairn_buf_cstr(&whole.buf));
        told += code < 0;
        cairn_outlet_release(&out);
    }
    assert_true(told > 20);
    cairn_outlet_release(&whole);
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64_is_that_of_the_rfc),
        cmocka_unit_test(test_sums_and_tree_are_those_of_the_tally),
        cmocka_unit_test(test_memory_that_runs_out_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
