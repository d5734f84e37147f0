#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rng.h"

static void test_numbers_are_those_of_splitmix64(void **state)
{
    /* The published first numbers for this seed. */
    static const uint64_t known[] = {
        6457827717110365317u, 3203168211198807973u,  9817491932198370423u,
        4593380528125082431u, 16408922859458223821u,
    };

    (void)state;
    /* Backwards, since none may depend on those before it. */
    for (size_t k = sizeof(known) / sizeof(known[0]); k-- > 0;)
        assert_int_equal(cairn_rng_at(1234567, k), known[k]);
}

static void test_seeds_differ(void **state)
{
    (void)state;
    /* Two equal ones by chance: once in 2^64. */
    assert_int_not_equal(cairn_rng_seed(), cairn_rng_seed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_those_of_splitmix64),
        cmocka_unit_test(test_seeds_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
