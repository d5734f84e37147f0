#include "filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

void cairn_filter_init(struct cairn_filter *filter)
{
    *filter = (struct cairn_filter){.metric = CAIRN_METRIC_WALL, .to_ns = UINT64_MAX};
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
