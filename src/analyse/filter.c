#include "filter.h"

void cairn_filter_init(struct cairn_filter *filter)
{
    *filter = (struct cairn_filter){.metric = CAIRN_METRIC_WALL, .to_ns = UINT64_MAX};
}
