#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"

static void test_the_chosen_request_fails_once(void **state)
{
    void *first, *second, *third, *grown;

    (void)state;
    cairn_alloc_fail_after(2);
    first = cairn_malloc(10);
    second = cairn_calloc(3, 4);
    assert_non_null(first);
    assert_non_null(second);
    assert_false(cairn_alloc_has_failed());

    errno = 0;
    grown = cairn_realloc(first, 100);
    assert_null(grown);
    assert_int_equal(errno, ENOMEM);
    assert_true(cairn_alloc_has_failed());
    memset(first, 1, 10); /* still ours: a failed realloc frees nothing */

    third = cairn_malloc(1);
    assert_non_null(third);
    cairn_alloc_fail_after(-1);
    assert_false(cairn_alloc_has_failed());
    free(first);
    free(second);
    free(third);
}

static void test_calloc_gives_zeroes(void **state)
{
    uint8_t *bytes = cairn_calloc(5, 3);

    (void)state;
    assert_non_null(bytes);
    for (int i = 0; i < 15; i++)
        assert_int_equal(bytes[i], 0);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_chosen_request_fails_once),
        cmocka_unit_test(test_calloc_gives_zeroes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
