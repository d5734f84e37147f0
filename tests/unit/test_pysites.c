/* Where bytecode of 3.8 to 3.10 calls what by name; as `dis` prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pysites.h"
#include "pyunits.h"
#include "rng.h"

#define SITES_MAX 8

static struct cairn_pycallsite sites[SITES_MAX];

static size_t find(const uint8_t *code, size_t size_bytes)
{
    return cairn_pysites_find((struct cairn_span){code, size_bytes}, sites, SITES_MAX);
}

static void check_site(size_t index, uint32_t unit, uint32_t name)
{
    assert_int_equal(sites[index].unit, unit);
    assert_int_equal(sites[index].name, name);
}

/* x = outer(a, inner(b=a)); self.method(x, []) */
static void test_each_call_has_the_name_that_it_was_loaded_by(void **state)
{
    static const uint8_t code[] = {
        116, 0, /* LOAD_GLOBAL outer */
        124, 1, /* LOAD_FAST a */
        116, 1, /* LOAD_GLOBAL inner */
        124, 1, /* LOAD_FAST a */
        100, 1, /* LOAD_CONST ('b',) */
        141, 1, /* CALL_FUNCTION_KW */
        131, 2, /* CALL_FUNCTION */
        125, 2, /* STORE_FAST x */
        124, 0, /* LOAD_FAST self */
        160, 2, /* LOAD_METHOD method */
        124, 2, /* LOAD_FAST x */
        103, 0, /* BUILD_LIST */
        161, 2, /* CALL_METHOD */
        1,   0, /* POP_TOP */
    };

    (void)state;
    assert_int_equal(find(code, sizeof(code)), 3);
    check_site(0, 5, 1);
    check_site(1, 6, 0);
    check_site(2, 12, 2);
}

/* f.g(*args, **more)(h[0] + 1): what a call gave is called without a name. */
static void test_what_a_call_gave_has_no_name(void **state)
{
    static const uint8_t code[] = {
        116, 0, /* LOAD_GLOBAL f */
        106, 1, /* LOAD_ATTR g */
        124, 0, /* LOAD_FAST args */
        124, 1, /* LOAD_FAST more */
        142, 1, /* CALL_FUNCTION_EX */
        116, 2, /* LOAD_GLOBAL h */
        100, 1, /* LOAD_CONST 0 */
        25,  0, /* BINARY_SUBSCR */
        100, 2, /* LOAD_CONST 1 */
        23,  0, /* BINARY_ADD */
        131, 1, /* CALL_FUNCTION */
        83,  0, /* RETURN_VALUE */
    };

    (void)state;
    assert_int_equal(find(code, sizeof(code)), 1);
    check_site(0, 4, 1);
}

/* f(a if b else c): what lies below a jump is not known behind it. */
static void test_nothing_is_known_across_a_jump(void **state)
{
    static const uint8_t code[] = {
        116, 0, /* LOAD_GLOBAL f */
        124, 1, /* LOAD_FAST b */
        114, 5, /* POP_JUMP_IF_FALSE */
        124, 0, /* LOAD_FAST a */
        110, 1, /* JUMP_FORWARD */
        124, 2, /* LOAD_FAST c */
        131, 1, /* CALL_FUNCTION */
    };

    (void)state;
    assert_int_equal(find(code, sizeof(code)), 0);
}

static void test_a_long_argument_is_put_together(void **state)
{
    static const uint8_t code[] = {144, 1, 144, 2, 116, 3, 131, 0};

    (void)state;
    assert_int_equal(find(code, sizeof(code)), 1);
    check_site(0, 3, 0x010203);
}

static void test_any_bytes_are_gone_through(void **state)
{
    uint8_t code[512];

    (void)state;
    for (uint64_t round = 0; round < 2000; round++) {
        size_t count;

        for (size_t i = 0; i < sizeof(code); i++)
            code[i] = (uint8_t)cairn_rng_at(round, i);
        count = find(code, sizeof(code) - round % 2);
        assert_true(count <= SITES_MAX);
        for (size_t i = 0; i < count; i++)
            assert_true(sites[i].unit < sizeof(code) / 2 &&
                        (i == 0 || sites[i].unit > sites[i - 1].unit));
    }
}

static void test_what_yields_is_a_generators(void **state)
{
    /* yield x; yield from x; what awaits; and an argument that looks like one of them. */
    static const uint8_t yields[] = {124, 0, 86, 0, 1, 0, 100, 0, 83, 0};
    static const uint8_t from[] = {124, 0, 69, 0, 100, 0, 72, 0, 1, 0, 100, 0, 83, 0};
    static const uint8_t start[] = {129, 1, 100, 0, 83, 0};
    static const uint8_t none[] = {124, 86, 1, 72, 100, 129, 83, 0};

    (void)state;
    assert_true(cairn_pyunits_yield((struct cairn_span){yields, sizeof(yields)}));
    assert_true(cairn_pyunits_yield((struct cairn_span){from, sizeof(from)}));
    assert_true(cairn_pyunits_yield((struct cairn_span){start, sizeof(start)}));
    assert_false(cairn_pyunits_yield((struct cairn_span){none, sizeof(none)}));
    assert_false(cairn_pyunits_yield((struct cairn_span){yields, 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_has_the_name_that_it_was_loaded_by),
        cmocka_unit_test(test_what_a_call_gave_has_no_name),
        cmocka_unit_test(test_nothing_is_known_across_a_jump),
        cmocka_unit_test(test_a_long_argument_is_put_together),
        cmocka_unit_test(test_any_bytes_are_gone_through),
        cmocka_unit_test(test_what_yields_is_a_generators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
