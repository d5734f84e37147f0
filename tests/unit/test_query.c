#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "alloc.h"
#include "golden.h"
#include "handle.h"
#include "profile.h"
#include "query.h"
#include "tallied.h"

static int ask(const struct cairn_tally *tally, const struct cairn_query *query,
               struct cairn_outlet *out)
{
    cairn_outlet_init(out, -1, "memory");
    return cairn_query_json(tally, query, out, NULL);
}

static json_t *ask_json(const struct cairn_tally *tally, const struct cairn_query *query)
{
    struct cairn_outlet out;
    json_error_t error;
    json_t *answer;

    assert_int_equal(ask(tally, query, &out), 0);
    answer =
        json_loadb((const char *)out.buf.data, out.buf.size_bytes, JSON_REJECT_DUPLICATES, &error);
    if (answer == NULL)
        fail_msg("%s at %d", error.text, error.position);
    cairn_outlet_release(&out);
    return answer;
}

static struct cairn_query query_of(enum cairn_query_kind kind)
{
    struct cairn_query query = {.kind = kind};

    cairn_report_options_init(&query.report);
    query.report.file = "x.cairn";
    return query;
}

/* How well zstd did is no business of a picture. */
static void mask(struct cairn_buf *text, const char *before, const char *behind)
{
    char *start = (char *)(uintptr_t)cairn_buf_cstr(text), *end;

    while ((start = strstr(start, before)) != NULL) {
        start += strlen(before);
        end = strpbrk(start, behind);
        assert_non_null(end);
        *start++ = '?';
        memmove(start, end, text->size_bytes - (size_t)(end - (char *)text->data));
        text->size_bytes -= (size_t)(end - start);
        (void)cairn_buf_cstr(text);
    }
}

static void test_golden_answers(void **state)
{
    static const struct {
        const char *file;
        enum cairn_query_kind kind;
        const char *of;
        int by;
        size_t limit, depth;
        double least;
        enum cairn_metric metric;
    } answers[] = {
        {"query_overview.json", CAIRN_QUERY_OVERVIEW, NULL, -1, 3, 0, 0, CAIRN_METRIC_WALL},
        {"query_table.json", CAIRN_QUERY_TABLE, NULL, -1, 5, 0, 0, CAIRN_METRIC_WALL},
        {"query_thread.json", CAIRN_QUERY_TABLE, NULL, CAIRN_BY_THREAD, 0, 0, 0, CAIRN_METRIC_CPU},
        {"query_unknown.json", CAIRN_QUERY_TABLE, NULL, -1, 0, 0, 0, CAIRN_METRIC_GIL},
        {"query_function.json", CAIRN_QUERY_FUNCTION, "main", -1, 0, 0, 0, CAIRN_METRIC_WALL},
        {"query_flame.json", CAIRN_QUERY_FLAME, NULL, -1, 0, 3, 0.01, CAIRN_METRIC_WALL},
        {"query_graph.json", CAIRN_QUERY_GRAPH, NULL, -1, 4, 0, 0.01, CAIRN_METRIC_WALL},
        {"query_timeline.json", CAIRN_QUERY_TIMELINE, NULL, -1, 0, 0, 0, CAIRN_METRIC_WALL},
        {"query_flame_line.json", CAIRN_QUERY_FLAME, NULL, CAIRN_BY_LINE, 6, 0, 0,
         CAIRN_METRIC_CPU},
    };
    struct cairn_model *model = profile_load();

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct cairn_query query = query_of(answers[i].kind);
        struct cairn_filter filter;
        struct cairn_tally tally;
        struct cairn_outlet out;

        cairn_filter_init(&filter);
        filter.metric = answers[i].metric;
        filter.slices = answers[i].kind == CAIRN_QUERY_TIMELINE ? 4 : 0;
        tally = tally_of(model, &filter);

        query.report.of = answers[i].of;
        query.report.by = answers[i].by;
        query.report.limit = answers[i].limit;
        query.depth_max = answers[i].depth;
        query.least = answers[i].least;
        assert_int_equal(ask(&tally, &query, &out), 0);
        mask(&out.buf, "\"bytes\": ", ",");
        mask(&out.buf, "a core, ", "d"); /* "9.8 KiB on disk", in words */
        mask(&out.buf, "us each, ", "d");
        golden_assert(answers[i].file, &out.buf);
        cairn_outlet_release(&out);
        cairn_tally_release(&tally);
    }
    cairn_model_free(model);
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key)); /* NULL for null */
}

static json_t *find_row(json_t *rows, const char *stack)
{
    size_t at;
    json_t *row;

    json_array_foreach(rows, at, row) if (strcmp(text(row, "stack"), stack) == 0) return row;
    return NULL;
}

/* Self, what is hidden and the boxes above are all of a box, whatever is left out. */
static void check_sums(json_t *answer)
{
    json_t *rows = json_object_get(answer, "rows"), *row;
    double ground = number(answer, "hidden_s");
    size_t at;

    json_array_foreach(rows, at, row)
    {
        const char *parent = text(row, "parent");
        double sum = number(row, "self_s") + number(row, "hidden_s");
        json_t *other;
        size_t k;

        json_array_foreach(rows, k, other)
        {
            const char *below = text(other, "parent");

            if (below && strcmp(below, text(row, "stack")) == 0) {
                assert_true(k > at);
                assert_int_equal(number(other, "depth"), number(row, "depth") + 1);
                sum += number(other, "total_s");
            }
            assert_true(k == at || strcmp(text(other, "stack"), text(row, "stack")) != 0);
        }
        assert_float_equal(sum, number(row, "total_s"), 1e-8);
        if (parent == NULL)
            ground += number(row, "total_s");
        else
            assert_non_null(find_row(rows, parent));
    }
    assert_float_equal(ground, number(answer, "base_s"), 1e-8);
}

static void test_whatever_is_left_out_is_told(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_query query = query_of(CAIRN_QUERY_FLAME);
    json_t *answer = ask_json(&tally, &query);
    size_t all = json_array_size(json_object_get(answer, "rows")), fewer = 0;

    (void)state;
    check_sums(answer);
    assert_true(all > 10);
    assert_int_equal(number(answer, "left_out"), 0);
    assert_true(number(answer, "hidden_s") == 0);
    json_decref(answer);
    for (size_t i = 0; i < 60; i++) {
        size_t count;

        query.report.by = i % 2 ? CAIRN_BY_LINE : -1;
        query.report.with_idle = i / 2 % 2;
        query.depth_max = i % 5;
        query.least = (double)(i % 3) / 20;
        query.report.limit = i % 7;
        answer = ask_json(&tally, &query);
        check_sums(answer);
        count = json_array_size(json_object_get(answer, "rows"));
        assert_true(query.report.limit == 0 || count <= query.report.limit);
        if (query.report.by < 0 && query.report.with_idle == 0)
            assert_int_equal(count + (size_t)number(answer, "left_out"), all);
        fewer += count < all;
        json_decref(answer);
    }
    assert_true(fewer > 20);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

/* The boxes on a stack are those that all of them have there. */
static void test_a_stack_is_asked_for_by_its_handle(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_query query = query_of(CAIRN_QUERY_FLAME);
    json_t *all = ask_json(&tally, &query), *rows = json_object_get(all, "rows"), *row;
    struct cairn_outlet out;
    size_t at;

    (void)state;
    json_array_foreach(rows, at, row)
    {
        size_t count = 1, depth = (size_t)number(row, "depth"), k;
        json_t *answer, *found, *part;

        while (at + count < json_array_size(rows) &&
               number(json_array_get(rows, at + count), "depth") > (double)depth)
            count++;
        query.root = text(row, "stack");
        answer = ask_json(&tally, &query);
        found = json_object_get(answer, "rows");
        assert_int_equal(json_array_size(found), count);
        json_array_foreach(found, k, part)
        {
            json_t *same = json_deep_copy(json_array_get(rows, at + k));

            if (k == 0)
                json_object_set_new(same, "parent", json_null());
            assert_true(json_equal(part, same));
            json_decref(same);
        }
        json_decref(answer);
    }
    query.root = "s-0000000000000001";
    assert_int_equal(ask(&tally, &query, &out), -CAIRN_ENOTFOUND);
    cairn_outlet_release(&out);
    query.root = "f-0000000000000001";
    assert_int_equal(ask(&tally, &query, &out), -CAIRN_EUSAGE);
    cairn_outlet_release(&out);
    json_decref(all);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_a_function_is_asked_for_by_its_handle(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);
    struct cairn_query query = query_of(CAIRN_QUERY_TABLE);
    json_t *table = ask_json(&tally, &query), *rows = json_object_get(table, "rows"), *row;
    size_t at;

    (void)state;
    assert_true(json_array_size(rows) > 5);
    query.kind = CAIRN_QUERY_FUNCTION;
    json_array_foreach(rows, at, row)
    {
        json_t *answer, *found, *line;
        double lines_s = 0;
        size_t k;

        query.report.of = text(row, "handle");
        answer = ask_json(&tally, &query);
        found = json_object_get(answer, "rows");
        assert_int_equal(json_array_size(found), 1);
        found = json_array_get(found, 0);
        assert_string_equal(text(found, "handle"), query.report.of);
        assert_string_equal(text(found, "qualname"), text(row, "qualname"));
        json_array_foreach(json_object_get(answer, "lines"), k, line)
        {
            assert_string_equal(text(line, "handle"), query.report.of);
            lines_s += number(line, "self_s");
        }
        assert_float_equal(lines_s, number(found, "self_s"), 1e-8);
        json_decref(answer);
    }
    json_decref(table);
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

static void test_handles_are_read_as_they_are_written(void **state)
{
    static const char *const wrong[] = {"",
                                        "f-",
                                        "s-0123456789abcdef",
                                        "f-0123456789abcde",
                                        "f-0123456789abcdef0",
                                        "f-0123456789ABCDEF",
                                        "f_0123456789abcdef",
                                        "f- 123456789abcdef",
                                        "f-0x23456789abcdef"};
    char text_[CAIRN_HANDLE_CHARS + 1];
    uint64_t handle = 1;

    (void)state;
    cairn_handle_text(CAIRN_HANDLE_FUNCTION, 0x0123456789abcdefULL, text_);
    assert_string_equal(text_, "f-0123456789abcdef");
    assert_true(cairn_handle_read(CAIRN_HANDLE_FUNCTION, text_, &handle));
    assert_true(handle == 0x0123456789abcdefULL);
    assert_false(cairn_handle_read(CAIRN_HANDLE_STACK, text_, &handle));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(cairn_handle_read(CAIRN_HANDLE_FUNCTION, wrong[i], &handle));
}

/* Each part of a function decides, and none runs into the next. */
static void test_what_differs_has_another_handle(void **state)
{
#define SPAN(literal)                                                                              \
    {                                                                                              \
        (const uint8_t *)(literal), sizeof(literal) - 1                                            \
    }
    const struct cairn_function functions[] = {
        {.qualname = SPAN("ab"), .file = SPAN("c.py"), .first_line = 1},
        {.qualname = SPAN("a"), .file = SPAN("bc.py"), .first_line = 1},
        {.qualname = SPAN("ab"), .file = SPAN("d.py"), .first_line = 1},
        {.qualname = SPAN("ab"), .file = SPAN("c.py"), .first_line = 2},
        {.qualname = SPAN("ab"), .file = SPAN(""), .first_line = 1},
        {.kind = CAIRN_FUNCTION_NATIVE, .qualname = SPAN("ab"), .module = SPAN("x.so")},
        {.kind = CAIRN_FUNCTION_NATIVE, .qualname = SPAN("ab"), .module = SPAN("y.so")},
    };
    size_t count = sizeof(functions) / sizeof(functions[0]);

    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            assert_int_equal(cairn_handle_function(&functions[i]) ==
                                 cairn_handle_function(&functions[k]),
                             i == k);
    /* As it was on the day this was written: handles are kept by others. */
    assert_true(cairn_handle_function(&functions[0]) == 0xf8d96dd796a7023dULL);
    assert_true(cairn_handle_stack(0, &functions[0], 0) != cairn_handle_stack(0, &functions[0], 1));
    assert_true(cairn_handle_stack(0, &functions[0], 0) != cairn_handle_stack(1, &functions[0], 0));
}

static void test_memory_that_runs_out_is_an_answer(void **state)
{
    struct cairn_model *model = profile_load();
    struct cairn_tally tally = tally_by(model, CAIRN_METRIC_WALL);

    (void)state;
    for (unsigned kind = 0; kind < CAIRN_QUERY_COUNT; kind++) {
        struct cairn_query query = query_of((enum cairn_query_kind)kind);
        bool failed = true;

        query.report.of = kind == CAIRN_QUERY_FUNCTION ? "main" : NULL;
        for (long i = 0; failed; i++) {
            struct cairn_outlet out;
            int code;

            cairn_alloc_fail_after(i);
            code = ask(&tally, &query, &out);
            failed = cairn_alloc_has_failed();
            cairn_alloc_fail_after(-1);
            assert_int_equal(code, failed ? -CAIRN_ENOMEM : 0);
            cairn_outlet_release(&out);
        }
    }
    cairn_tally_release(&tally);
    cairn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_answers),
        cmocka_unit_test(test_whatever_is_left_out_is_told),
        cmocka_unit_test(test_a_stack_is_asked_for_by_its_handle),
        cmocka_unit_test(test_a_function_is_asked_for_by_its_handle),
        cmocka_unit_test(test_handles_are_read_as_they_are_written),
        cmocka_unit_test(test_what_differs_has_another_handle),
        cmocka_unit_test(test_memory_that_runs_out_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
