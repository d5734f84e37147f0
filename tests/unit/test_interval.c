#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interval.h"
#include "rng.h"

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) < 5e-5))
        fail_msg("%.6f is not %.6f", got, want);
}

/* Published values of the Wilson score interval without continuity correction (Newcombe 1998,
 * "Two-sided confidence intervals for the single proportion", table I). */
static void test_wilson_is_as_published(void **state)
{
    static const struct {
        uint64_t hits, count;
        double low, high;
    } cases[] = {
        {81, 263, 0.2553, 0.3662},
        {15, 148, 0.0624, 0.1605},
        {0, 20, 0.0, 0.1611},
        {1, 29, 0.0061, 0.1718},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double low, high;

        cairn_interval_wilson(cases[i].hits, cases[i].count, &low, &high);
        assert_near(low, cases[i].low);
        assert_near(high, cases[i].high);
    }
}

static void test_it_holds_its_share_and_stays_inside(void **state)
{
    (void)state;

    for (uint64_t count = 0; count < 200; count++)
        for (uint64_t hits = 0; hits <= count; hits++) {
            double share = count ? (double)hits / (double)count : 0, low, high;

            cairn_interval_wilson(hits, count, &low, &high);
            assert_true(low >= 0 && high <= 1 && low <= share && share <= high);
            assert_true(count > 0 || (low == 0 && high == 1));
        }
}

/* Of seeded draws with a known share, about 95 in 100 intervals hold it. */
static void test_it_holds_the_truth_as_often_as_it_says(void **state)
{
    static const double shares[] = {0.5, 0.2, 0.05};
    (void)state;

    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        unsigned right = 0;

        for (uint64_t run = 0; run < 2000; run++) {
            uint64_t hits = 0;
            double low, high;

            for (uint64_t draw = 0; draw < 500; draw++)
                hits += (double)(cairn_rng_at(run, draw + 1000 * i) >> 11) * 0x1p-53 < shares[i];
            cairn_interval_wilson(hits, 500, &low, &high);
            right += low <= shares[i] && shares[i] <= high;
        }
        assert_in_range(right, 1870, 1930); /* of 2000: 93.5 % to 96.5 % */
    }
}

static void test_what_is_wanted_is_enough(void **state)
{
    (void)state;

    for (double share = 0; share <= 1; share += 0.1)
        for (double width = 0.01; width < 0.5; width *= 2) {
            double wanted = cairn_interval_wanted(share, width), low, high;

            cairn_interval_share(share, wanted, &low, &high);
            assert_true(high - low <= width);
            cairn_interval_share(share, wanted * 0.95 - 1, &low, &high);
            assert_true(wanted <= 2 || high - low > width);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wilson_is_as_published),
        cmocka_unit_test(test_it_holds_its_share_and_stays_inside),
        cmocka_unit_test(test_it_holds_the_truth_as_often_as_it_says),
        cmocka_unit_test(test_what_is_wanted_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
