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
#include "html_columns.h"
#include "html_inside.h"
#include "html_parts.h"
#include "profile.h"
#include "recording.h"
#include "scratch.h"
#include "story.h"
#include "tallied.h"

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

/* Of the page's cells: thread, node, phase, slice, the states, waiting for work, the GIL held. */
static json_int_t sum_of(const json_t *data, size_t column)
{
    const json_t *row, *rows = json_array_get(json_object_get(data, "cells"), column);
    json_int_t sum = 0;
    size_t index;

    assert_true(json_array_size(rows) > 0);
    json_array_foreach(rows, index, row) sum += json_integer_value(row);
    return sum;
}

static json_int_t metric_sum(const json_t *data, enum cairn_metric metric)
{
    static const enum cairn_state states[CAIRN_METRIC_SAMPLED] = {
        [CAIRN_METRIC_CPU] = CAIRN_STATE_RUNNING,
        [CAIRN_METRIC_GIL_WAIT] = CAIRN_STATE_GIL_WAIT,
        [CAIRN_METRIC_RUNQ] = CAIRN_STATE_RUNNABLE,
        [CAIRN_METRIC_BLOCKED] = CAIRN_STATE_BLOCKED,
    };
    json_int_t sum = 0;

    if (metric == CAIRN_METRIC_GIL)
        return sum_of(data, 4 + CAIRN_STATE_COUNT + 1);
    if (metric != CAIRN_METRIC_WALL)
        return sum_of(data, 4 + states[metric]);
    for (size_t i = 0; i < CAIRN_STATE_COUNT; i++)
        sum += sum_of(data, 4 + i);
    return sum;
}

static void test_sums_and_tree_are_those_of_the_tally(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_filter filter;
    struct cairn_tally tally;
    struct cairn_outlet out;
    json_t *data, *metric, *nodes;
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
        assert_int_equal(metric_sum(data, filter.metric), tally.known ? tally.total.value_ns : 0);
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

/* A number of a column that lies apart, as the page's script reads it. */
static double number_at(const struct cairn_buf *bytes, const json_t *column, size_t index)
{
    size_t at = (size_t)json_integer_value(json_object_get(column, "at"));
    json_int_t width = (json_int_t)json_number_value(json_object_get(column, "bytes"));
    size_t step = (size_t)(width < 0 ? -width : width);
    uint64_t bits = 0;
    double number;

    assert_true(at % 8 == 0 && at + (index + 1) * step <= bytes->size_bytes);
    for (size_t i = step; i-- > 0;)
        bits = bits << 8 | bytes->data[at + index * step + i];
    if (width == 8) {
        memcpy(&number, &bits, sizeof(number));
        return number;
    }
    return width < 0 ? (double)(int32_t)(uint32_t)bits : (double)bits;
}

static void test_columns_hold_every_number(void **state)
{
    static const struct {
        int64_t numbers[4];
        int bytes;
    } cases[] = {
        {{0, 0, 0, 0}, 1},
        {{0, 1, 255, 7}, 1},
        {{0, 256, 65535, 7}, 2},
        {{65536, 0, UINT32_MAX, 7}, 4},
        {{(int64_t)UINT32_MAX + 1, 0, (int64_t)1 << 53, 7}, 8},
        {{-1, 0, INT32_MAX, INT32_MIN}, -4},
        {{-1, 0, (int64_t)INT32_MAX + 1, 7}, 8},
    };
    struct cairn_html_columns columns;
    struct cairn_outlet text;
    struct cairn_json json;
    struct cairn_buf bytes;
    json_t *told;

    (void)state;
    cairn_outlet_init(&text, -1, "memory");
    cairn_buf_init(&bytes, 1 << 16);
    cairn_json_init(&json, &text.buf, 0);
    cairn_html_columns_init(&columns, &json, &bytes);
    cairn_json_array(&json);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cairn_html_columns_begin(&columns);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(cairn_html_columns_put(&columns, cases[i].numbers[j]), 0);
        assert_int_equal(cairn_html_columns_end(&columns), 0);
    }
    cairn_json_close(&json);
    assert_int_equal(cairn_json_end(&json), 0);
    told = json_loads(cairn_buf_cstr(&text.buf), 0, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const json_t *column = json_array_get(told, i);

        assert_int_equal((int)json_number_value(json_object_get(column, "bytes")), cases[i].bytes);
        assert_int_equal(json_integer_value(json_object_get(column, "count")), 4);
        for (size_t j = 0; j < 4; j++)
            assert_true(number_at(&bytes, column, j) == (double)cases[i].numbers[j]);
    }
    json_decref(told);
    cairn_html_columns_release(&columns);
    cairn_outlet_release(&text);
    cairn_buf_release(&bytes);
}

static void check_column(const struct cairn_buf *bytes, const json_t *apart, const json_t *whole)
{
    assert_int_equal(json_integer_value(json_object_get(apart, "count")), json_array_size(whole));
    for (size_t i = 0; i < json_array_size(whole); i++)
        assert_true(number_at(bytes, apart, i) == json_number_value(json_array_get(whole, i)));
}

static void test_what_lies_apart_is_what_the_page_holds(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_html_options options = {.version = 7};
    struct cairn_outlet whole, apart;
    json_t *data[2], *cells;
    struct cairn_buf bytes;
    int code;

    (void)state;
    make_page(model, &whole, &code);
    cairn_filter_init(&options.filter);
    cairn_buf_init(&bytes, 1 << 24);
    options.columns = &bytes;
    cairn_outlet_init(&apart, -1, "memory");
    assert_int_equal(cairn_html(model, &options, &apart, NULL), 0);
    assert_non_null(strstr(cairn_buf_cstr(&apart.buf), "data-version=\"7\" data-columns>"));
    assert_non_null(strstr(cairn_buf_cstr(&apart.buf), "; connect-src 'self'\""));
    assert_null(strstr(cairn_buf_cstr(&whole.buf), "connect-src 'self'\""));
    data[0] = read_data(cairn_buf_cstr(&whole.buf));
    data[1] = read_data(cairn_buf_cstr(&apart.buf));
    check_column(&bytes, json_object_get(data[1], "frames"), json_object_get(data[0], "frames"));
    check_column(&bytes, json_object_get(data[1], "nodes"), json_object_get(data[0], "nodes"));
    cells = json_object_get(data[0], "cells");
    assert_true(json_array_size(cells) > 8);
    for (size_t i = 0; i < json_array_size(cells); i++)
        check_column(&bytes, json_array_get(json_object_get(data[1], "cells"), i),
                     json_array_get(cells, i));
    json_decref(data[0]);
    json_decref(data[1]);
    cairn_outlet_release(&whole);
    cairn_outlet_release(&apart);
    cairn_buf_release(&bytes);
    cairn_model_free(model);
}

#define MOST_BYTES ((size_t)64 << 20)

static double read_far(struct cairn_cursor *far)
{
    uint64_t bits;
    double number;

    assert_int_equal(cairn_cursor_u64(far, &bits), 0);
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* The states of each cell and its waiting for work, as an answer tells them. */
static void read_answer(struct cairn_span answer, uint64_t *sums, size_t count)
{
    struct cairn_cursor head, far, values, heads;
    uint32_t entries, apart, low;
    uint64_t cell = 0, value;
    uint8_t byte;

    cairn_cursor_init(&head, answer);
    assert_int_equal(cairn_cursor_u32(&head, &entries), 0);
    assert_int_equal(cairn_cursor_u32(&head, &apart), 0);
    assert_int_equal(answer.size_bytes, 8 + 8 * (size_t)apart + 5 * (size_t)entries);
    cairn_cursor_init(&far, (struct cairn_span){answer.data + 8, 8 * (size_t)apart});
    cairn_cursor_init(
        &values, (struct cairn_span){answer.data + 8 + 8 * (size_t)apart, 4 * (size_t)entries});
    cairn_cursor_init(&heads, (struct cairn_span){values.end, entries});
    for (uint32_t i = 0; i < entries; i++) {
        assert_int_equal(cairn_cursor_u32(&values, &low), 0);
        assert_int_equal(cairn_cursor_u8(&heads, &byte), 0);
        cell += byte >> 3 == 31 ? (uint64_t)read_far(&far) : byte >> 3;
        value = low == UINT32_MAX ? (uint64_t)read_far(&far) : low;
        assert_true(cell < count && value > 0);
        sums[cell] += value;
    }
    assert_int_equal(cairn_cursor_left_bytes(&far), 0);
}

/* The sum of a part of the time as a tally of that part has it, cell by cell. */
static void check_part(const struct cairn_model *model, const struct cairn_tally *whole,
                       struct cairn_html_parts *parts, unsigned from, unsigned to, bool states)
{
    struct cairn_filter filter = whole->filter;
    uint64_t first_ns, last_ns, width_ns = cairn_html_parts_width_ns(parts), *sums;
    struct cairn_tally tally;
    struct cairn_buf answer;
    size_t met = 0, at = 0;

    cairn_model_span(model, &first_ns, &last_ns);
    filter.from_ns = whole->first_ns - first_ns + from * width_ns;
    filter.to_ns = whole->first_ns - first_ns + to * width_ns;
    assert_int_equal(cairn_tally_make(model, &filter, &tally, NULL), 0);
    cairn_buf_init(&answer, MOST_BYTES);
    assert_int_equal(cairn_html_parts_ask(parts, from, to, states, &answer), 0);
    sums = calloc(whole->cell_count, sizeof(*sums));
    assert_non_null(sums);
    read_answer(cairn_buf_span(&answer), sums, whole->cell_count);
    for (size_t i = 0; i < whole->cell_count; i++) {
        uint64_t wanted = 0;

        if (whole->cells[i].weight.value_ns == 0)
            continue;
        while (met < tally.cell_count &&
               cairn_cell_compare(&tally.cells[met], &whole->cells[i]) < 0)
            met++;
        if (met < tally.cell_count && cairn_cell_compare(&tally.cells[met], &whole->cells[i]) == 0)
            wanted = tally.cells[met].weight.value_ns + tally.cells[met].idle_blocked_ns;
        assert_true(sums[at++] == wanted); /* the states, and waiting for work beside them */
    }
    free(sums);
    cairn_buf_release(&answer);
    cairn_tally_release(&tally);
}

/* Those are sums of every part of the time, by slices near both ends and what lies between. */
static void check_parts(const struct cairn_model *model, const struct cairn_filter *filter)
{
    struct cairn_html_parts *parts;
    struct cairn_tally whole;
    struct cairn_buf none;

    cairn_buf_init(&none, MOST_BYTES);
    assert_int_equal(cairn_tally_make(model, filter, &whole, NULL), 0);
    assert_true(whole.cell_count > 1);
    assert_int_equal(cairn_html_parts_make(model, &whole, false, &parts, NULL), 0);
    for (unsigned from = 0; from < CAIRN_HTML_PARTS; from += 3)
        for (unsigned to = from + 1; to <= CAIRN_HTML_PARTS; to += 1 + to % 4)
            check_part(model, &whole, parts, from, to, (from + to) % 2);
    check_part(model, &whole, parts, 0, CAIRN_HTML_PARTS, true);
    check_part(model, &whole, parts, 0, CAIRN_HTML_PARTS, false);
    assert_int_equal(cairn_html_parts_ask(parts, 5, 5, true, &none), -CAIRN_EUSAGE);
    assert_int_equal(cairn_html_parts_ask(parts, 0, CAIRN_HTML_PARTS + 1, true, &none),
                     -CAIRN_EUSAGE);
    assert_int_equal(none.size_bytes, 0);
    cairn_html_parts_free(parts);
    cairn_tally_release(&whole);
}

static void test_a_part_of_the_time_is_what_its_tally_has(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_filter filter;
    uint64_t first_ns, last_ns;

    (void)state;
    cairn_filter_init(&filter);
    check_parts(model, &filter);
    filter.threads_joined = true;
    check_parts(model, &filter);
    filter.only_my_code = true;
    check_parts(model, &filter);
    cairn_model_span(model, &first_ns, &last_ns);
    filter.from_ns = (last_ns - first_ns) / 5;
    filter.to_ns = (last_ns - first_ns) / 5 * 4;
    check_parts(model, &filter);
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

/* The answer as it was, or none. */
static void check_asked(struct cairn_html_parts *parts, const struct cairn_buf *wanted)
{
    struct cairn_buf answer;
    long n = 0;

    cairn_buf_init(&answer, MOST_BYTES);
    for (bool failed = true; failed; n++) {
        int code;

        cairn_buf_release(&answer);
        cairn_alloc_fail_after(n);
        code = cairn_html_parts_ask(parts, 3, 41, true, &answer);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_int_equal(code, failed ? -CAIRN_ENOMEM : 0);
    }
    assert_true(n > 1);
    assert_int_equal(answer.size_bytes, wanted->size_bytes);
    assert_memory_equal(answer.data, wanted->data, wanted->size_bytes);
    cairn_buf_release(&answer);
}

#define PARTS_STEP 131 /* likewise: there are thousands */

static void test_memory_that_runs_out_leaves_no_parts(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_html_parts *parts;
    struct cairn_filter filter;
    struct cairn_tally whole;
    struct cairn_buf answer;
    bool failed = true;
    size_t told = 0;

    (void)state;
    cairn_filter_init(&filter);
    assert_int_equal(cairn_tally_make(model, &filter, &whole, NULL), 0);
    assert_int_equal(cairn_html_parts_make(model, &whole, true, &parts, NULL), 0);
    cairn_buf_init(&answer, MOST_BYTES);
    assert_int_equal(cairn_html_parts_ask(parts, 3, 41, true, &answer), 0);
    check_asked(parts, &answer);
    cairn_html_parts_free(parts);
    for (long n = 0; failed; n += n < 20 ? 1 : PARTS_STEP) {
        struct cairn_err err = {0};
        int code;

        cairn_alloc_fail_after(n);
        code = cairn_html_parts_make(model, &whole, true, &parts, &err);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_true(code == 0 || (failed && code == -CAIRN_ENOMEM && parts == NULL));
        told += code < 0;
        if (code == 0)
            check_asked(parts, &answer);
        cairn_html_parts_free(parts);
    }
    assert_true(told > 20);
    cairn_buf_release(&answer);
    cairn_tally_release(&whole);
    cairn_model_free(model);
}

/* --- regions --- */

#define MS 1000000u

/* Two threads over 20 ms: one in a region for some of it, within another, the other in none. */
static struct cairn_model *regions_story(void)
{
    struct story story;
    unsigned a, b;

    story_begin(&story, NULL, 1);
    a = story_thread(&story, 10, 10, "a");
    b = story_thread(&story, 10, 11, "b");
    for (int i = 0; i < 20; i++) {
        story_tick(&story, MS);
        story_sample(&story, a, i % 2 ? "f /u/a.py:1" : "f /u/a.py:1;g /u/a.py:9", 1, MS);
        story_sample(&story, b, "h /u/a.py:20", 1, MS / 2);
    }
    story_flush(&story);
    story_region(&story, a, "[load]", 2 * MS, 12 * MS);
    story_region(&story, a, "[par*se?]", 4 * MS, 8 * MS);
    story_flush(&story);
    assert_int_equal(cairn_writer_counter(story.writer, "regions_processes", 1), 0);
    return story_end(&story);
}

/* The sums of each name, as `--region` has them: how many names there were. */
static int count_inside(const struct cairn_tally *sliced, bool tasks, uint64_t *ret_sum,
                        size_t *ret_names)
{
    struct cairn_tally tally, gil;
    struct cairn_html_inside inside;
    struct cairn_err err = {0};
    int code;

    *ret_sum = *ret_names = 0;
    CAIRN_TRY(cairn_html_inside_make(sliced, tasks, &inside));
    while ((code = cairn_html_inside_next(&inside, true, &tally, &gil, &err)) > 0) {
        assert_true(cairn_html_inside_name(&inside)->text.size_bytes > 0);
        *ret_sum += tally.total.value_ns;
        ++*ret_names;
        cairn_tally_release(&tally);
        cairn_tally_release(&gil);
    }
    cairn_html_inside_release(&inside);
    return code;
}

static void test_memory_that_runs_out_in_regions_is_an_answer(void **state)
{
    struct cairn_model *model = regions_story();
    struct cairn_tally sliced = tally_of(model, NULL);
    uint64_t sum, told = 0;
    bool failed = true;
    size_t names;

    (void)state;
    assert_int_equal(count_inside(&sliced, true, &sum, &names), 0);
    assert_int_equal(names, 2);
    assert_int_equal(sum, (10 + 4) * MS);
    for (long n = 0; failed; n++) {
        int code;

        cairn_alloc_fail_after(n);
        code = count_inside(&sliced, true, &sum, &names);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_true(code == 0 || (failed && code == -CAIRN_ENOMEM));
        if (code == 0)
            assert_int_equal(sum, (10 + 4) * MS);
        told += code < 0;
    }
    assert_true(told > 20);
    cairn_tally_release(&sliced);
    cairn_model_free(model);
}

/* By its name, which is all that a page can choose it by. */
static void test_memory_that_runs_out_in_tasks_is_an_answer(void **state)
{
    const uint64_t task_ns = (40 * 12 + 10) * RECORDING_CHUNK_PAIRS;
    struct cairn_model *model;
    struct cairn_tally sliced;
    struct scratch scratch;
    struct cairn_buf truth;
    const char *paths[1];
    uint64_t sum, told = 0;
    bool failed = true;
    size_t names;

    (void)state;
    cairn_buf_init(&truth, 1 << 20);
    scratch_make(&scratch);
    paths[0] = scratch.path;
    assert_int_equal(recording_write(scratch.path, 0, false, &truth), 0);
    assert_int_equal(cairn_model_load(paths, 1, &model, NULL), 0);
    sliced = tally_of(model, NULL);
    assert_int_equal(count_inside(&sliced, false, &sum, &names), 0);
    assert_int_equal(names, 0);
    assert_int_equal(count_inside(&sliced, true, &sum, &names), 0);
    assert_int_equal(names, 1);
    assert_int_equal(sum, task_ns);
    for (long n = 0; failed; n++) {
        struct cairn_tally tasks;
        int code;

        cairn_alloc_fail_after(n);
        code = count_inside(&sliced, true, &sum, &names);
        if (code == 0)
            code = cairn_html_inside_tasks(&sliced, &tasks, NULL);
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_true(code == 0 || (failed && code == -CAIRN_ENOMEM));
        told += code < 0;
        if (code < 0)
            continue;
        assert_int_equal(sum, task_ns);
        assert_int_equal(tasks.total.value_ns, task_ns);
        cairn_tally_release(&tasks);
    }
    assert_true(told > 20);
    cairn_tally_release(&sliced);
    cairn_model_free(model);
    cairn_buf_release(&truth);
    scratch_remove(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64_is_that_of_the_rfc),
        cmocka_unit_test(test_sums_and_tree_are_those_of_the_tally),
        cmocka_unit_test(test_columns_hold_every_number),
        cmocka_unit_test(test_what_lies_apart_is_what_the_page_holds),
        cmocka_unit_test(test_a_part_of_the_time_is_what_its_tally_has),
        cmocka_unit_test(test_memory_that_runs_out_is_an_answer),
        cmocka_unit_test(test_memory_that_runs_out_leaves_no_parts),
        cmocka_unit_test(test_memory_that_runs_out_in_regions_is_an_answer),
        cmocka_unit_test(test_memory_that_runs_out_in_tasks_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
