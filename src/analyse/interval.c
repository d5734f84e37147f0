#include "interval.h"

#include <math.h>

#define Z 1.959963984540054 /* of the normal distribution, two-sided 95 % */

/* What a normal variable stays within, either way, with that probability. */
static double quantile(double confidence)
{
    double low = 0, high = 40;

    /* The tail falls with it; what is left halves until no double lies between. */
    for (int i = 0; i < 64; i++) {
        double middle = (low + high) / 2;

        if (erfc(middle * M_SQRT1_2) > 1 - confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void wilson(double share, double count, double z, double *ret_low, double *ret_high)
{
    double middle, half;

    if (!(count > 0)) {
        *ret_low = 0;
        *ret_high = 1;
        return;
    }
    middle = (share + z * z / (2 * count)) / (1 + z * z / count);
    half =
        z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count));
    /* At the edges the formula is exact and the arithmetic is not. */
    *ret_low = share <= 0 ? 0 : fmin(fmax(middle - half, 0), share);
    *ret_high = share >= 1 ? 1 : fmax(fmin(middle + half, 1), share);
}

void cairn_interval_share(double share, double count, double *ret_low, double *ret_high)
{
    wilson(share, count, Z, ret_low, ret_high);
}

void cairn_interval_share_at(double share, double count, double confidence, double *ret_low,
                             double *ret_high)
{
    wilson(share, count, quantile(confidence), ret_low, ret_high);
}

void cairn_interval_wilson(uint64_t hits, uint64_t count, double *ret_low, double *ret_high)
{
    cairn_interval_share(count ? (double)hits / (double)count : 0, (double)count, ret_low,
                         ret_high);
}

double cairn_interval_draws(double share, double variance, double freedom)
{
    /* Student's quantile over that of the normal distribution, by the first term of its series. */
    double widening = 1 + (Z * Z + 1) / (4 * freedom);

    return share * (1 - share) / (variance * widening * widening);
}

double cairn_interval_wanted(double share, double width)
{
    double low_count = 1, high_count = 1e12;

    /* The width falls with the count; it halves some forty times. */
    while (high_count / low_count > 1.01) {
        double count = sqrt(low_count * high_count), low, high;

        cairn_interval_share(share, count, &low, &high);
        if (high - low > width)
            low_count = count;
        else
            high_count = count;
    }
    return ceil(high_count);
}
