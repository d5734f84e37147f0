/* interval.h: how sure a share is. */
#ifndef CAIRN_INTERVAL_H
#define CAIRN_INTERVAL_H

#include <stdint.h>

/* 95 % Wilson interval for `hits` of `count` independent draws; count 0 gives [0, 1]. */
void cairn_interval_wilson(uint64_t hits, uint64_t count, double *ret_low, double *ret_high);

/* The same for a share of 0..1 that rests on `count` draws, which need not be a whole number. */
void cairn_interval_share(double share, double count, double *ret_low, double *ret_high);

/* The same with another confidence (0..1) than 0.95. */
void cairn_interval_share_at(double share, double count, double confidence, double *ret_low,
                             double *ret_high);

/* How many draws make a share of 0..1 vary by `variance`, itself estimated with `freedom` degrees
 * of freedom, for which the count is lowered. */
double cairn_interval_draws(double share, double variance, double freedom);

/* Draws after which the interval of `share` is no wider than `width` (0..1), roughly. */
double cairn_interval_wanted(double share, double width);

#endif
