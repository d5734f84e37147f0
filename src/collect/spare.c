#include "spare.h"

#include <string.h>

#include "clock.h"

#define LEAST_NS UINT64_C(250000)
#define PART 4 /* one such part of the interval */

void cairn_spare_init(struct cairn_spare *spare, uint64_t interval_ns)
{
    *spare = (struct cairn_spare){.most_ns = interval_ns / PART > LEAST_NS ? interval_ns / PART
                                                                           : LEAST_NS};
}

void cairn_spare_begin(struct cairn_spare *spare, uint64_t now_ns)
{
    spare->begun_ns = now_ns;
    memset(spare->had, 0, sizeof(spare->had));
}

bool cairn_spare_has(struct cairn_spare *spare, enum cairn_spare_kind kind)
{
    bool first = !spare->had[kind];

    spare->had[kind] = true;
    return first || cairn_clock_mono_ns() - spare->begun_ns < spare->most_ns;
}
