#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "err.h"
#include "escape.h"
#include "json_out.h"

static void test_values_and_nesting(void **state)
{
    struct cairn_json json;
    struct cairn_buf out;

    (void)state;
    cairn_buf_init(&out, 4096);
    cairn_json_init(&json, &out, 1);
    cairn_json_object(&json);
    cairn_json_put_str(&json, "te\"xt", "a\nb");
    cairn_json_put_u64(&json, "most", UINT64_MAX);
    cairn_json_put_seconds(&json, "s", 1000000001);
    cairn_json_put_seconds(&json, "far", UINT64_MAX);
    cairn_json_put_u64(&json, "no", 0);
    cairn_json_key(&json, cairn_span_of("least"));
    cairn_json_i64(&json, INT64_MIN);
    cairn_json_key(&json, cairn_span_of("ms, us"));
    cairn_json_array(&json);
    cairn_json_millis(&json, 1000001);
    cairn_json_micros(&json, 999);
    cairn_json_close(&json);
    cairn_json_put_number(&json, "third", 1 / 3.0);
    cairn_json_put_number(&json, "none", INFINITY);
    cairn_json_put_bool(&json, "yes", true);
    cairn_json_key(&json, cairn_span_of("list"));
    cairn_json_array(&json);
    cairn_json_u64(&json, 1);
    cairn_json_array(&json);
    cairn_json_close(&json);
    cairn_json_null(&json);
    cairn_json_close(&json);
    cairn_json_close(&json);
    assert_int_equal(cairn_json_end(&json), 0);
    assert_string_equal(
        cairn_buf_cstr(&out),
        "{\n \"te\\\"xt\": \"a\\u000ab\",\n \"most\": 18446744073709551615,\n"
        " \"s\": 1.000000001,\n \"far\": 18446744073.709551615,\n"
        " \"no\": 0,\n \"least\": -9223372036854775808,\n"
        " \"ms, us\": [1.000001, 0.999],\n \"third\": 0.333333333,\n \"none\": null,\n"
        " \"yes\": true,\n \"list\": [1, [], null]\n}\n");
    cairn_buf_release(&out);
}

static void value_without_key(struct cairn_json *json)
{
    cairn_json_object(json);
    cairn_json_u64(json, 1);
    cairn_json_close(json);
}

static void key_without_value(struct cairn_json *json)
{
    cairn_json_object(json);
    cairn_json_key(json, cairn_span_of("k"));
    cairn_json_close(json);
}

static void key_in_array(struct cairn_json *json)
{
    cairn_json_array(json);
    cairn_json_key(json, cairn_span_of("k"));
    cairn_json_u64(json, 1);
    cairn_json_close(json);
}

static void left_open(struct cairn_json *json)
{
    cairn_json_array(json);
}

static void closed_twice(struct cairn_json *json)
{
    cairn_json_array(json);
    cairn_json_close(json);
    cairn_json_close(json);
}

static void two_documents(struct cairn_json *json)
{
    cairn_json_u64(json, 1);
    cairn_json_u64(json, 2);
}

static void nothing(struct cairn_json *json)
{
    (void)json;
}

static void too_deep(struct cairn_json *json)
{
    for (int i = 0; i <= CAIRN_JSON_DEPTH_MAX; i++)
        cairn_json_array(json);
    for (int i = 0; i <= CAIRN_JSON_DEPTH_MAX; i++)
        cairn_json_close(json);
}

static void test_what_is_no_json_does_not_pass(void **state)
{
    static void (*const mistakes[])(struct cairn_json *) = {
        value_without_key, key_without_value, key_in_array, left_open,
        closed_twice,      two_documents,     nothing,      too_deep,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        struct cairn_json json;
        struct cairn_buf out;

        cairn_buf_init(&out, 4096);
        cairn_json_init(&json, &out, 0);
        mistakes[i](&json);
        assert_int_equal(cairn_json_end(&json), -CAIRN_EINTERNAL);
        cairn_buf_release(&out);
    }
}

static void test_a_full_buffer_is_told(void **state)
{
    struct cairn_json json;
    struct cairn_buf out;

    (void)state;
    cairn_buf_init(&out, 8);
    cairn_json_init(&json, &out, 0);
    cairn_json_text(&json, cairn_span_of("longer than that"));
    assert_int_equal(cairn_json_end(&json), -CAIRN_ELIMIT);
    cairn_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_nesting),
        cmocka_unit_test(test_what_is_no_json_does_not_pass),
        cmocka_unit_test(test_a_full_buffer_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
