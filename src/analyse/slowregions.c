#include "slowregions.h"

#define LEAST 4 /* the middle of fewer is hardly one */

static int make_part(const struct cairn_tally *tally, enum cairn_region_length length,
                     struct cairn_tally *ret_part, struct cairn_err *err)
{
    struct cairn_filter filter = tally->filter;

    filter.region_length = length;
    return cairn_tally_make(cairn_model_whole(tally->model), &filter, ret_part, err);
}

int cairn_slow_regions_make(const struct cairn_tally *tally, struct cairn_slow_regions *ret_slow,
                            struct cairn_err *err)
{
    const struct cairn_diff_options options = {
        .rows = {.by = CAIRN_BY_FUNCTION, .with_idle = true},
        .scale = CAIRN_DIFF_REGION,
    };
    struct cairn_slow_regions *slow = ret_slow;

    *slow = (struct cairn_slow_regions){0};
    if (tally->regions_whole < LEAST)
        return 0;
    slow->made = true;
    CAIRN_TRY(make_part(tally, CAIRN_REGION_LENGTH_SLOW, &slow->slow, err));
    CAIRN_TRY(make_part(tally, CAIRN_REGION_LENGTH_MIDDLE, &slow->middle, err));
    return cairn_diff_make(&slow->middle, &slow->slow, &options, &slow->diff, err);
}

void cairn_slow_regions_release(struct cairn_slow_regions *slow)
{
    cairn_diff_release(&slow->diff);
    cairn_tally_release(&slow->slow);
    cairn_tally_release(&slow->middle);
}
