#include "filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

void cairn_filter_init(struct cairn_filter *filter)
{
    *filter = (struct cairn_filter){.metric = CAIRN_METRIC_WALL, .to_ns = UINT64_MAX};
}

bool cairn_filter_is_of_all_time(const struct cairn_filter *filter)
{
    return filter->from_ns == 0 && filter->to_ns == UINT64_MAX && filter->overlays == 0 &&
           !filter->region;
}

bool cairn_filter_is_of_sums(const struct cairn_filter *filter)
{
    return filter->metric == CAIRN_METRIC_COUNTED || filter->task;
}

bool cairn_filter_keeps_task(const struct cairn_filter *filter, struct cairn_span name,
                             struct cairn_span coroutine)
{
    if (!filter->task)
        return true;
    return (name.size_bytes > 0 && !fnmatch(filter->task, (const char *)name.data, 0)) ||
           (coroutine.size_bytes > 0 && !fnmatch(filter->task, (const char *)coroutine.data, 0));
}

bool cairn_filter_matches(const char *pattern, uint64_t number, struct cairn_span name)
{
    char digits[24];

    if (!pattern)
        return true;
    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
    if (!strcmp(pattern, digits))
        return true;
    return name.data && fnmatch(pattern, (const char *)name.data, 0) == 0;
}
