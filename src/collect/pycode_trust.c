/* When what speaks against an entry is believed. */
#include "err.h"
#include "pycode.h"

#define CONFIRMED_TIMES 3
#define CONFIRMED_APART_NS UINT64_C(10000000)
#define CONFIRMED_MASK UINT64_C(7) /* of a time, where the count is kept */

int cairn_pycodes_confirm(struct cairn_pycodes *codes, const struct cairn_pycode_entry *entry,
                          uint32_t place, uint64_t now_ns, bool *ret_often)
{
    uint64_t known = 0, count, since_ns;

    cairn_map_get(&codes->doubts, entry->code.number, place, &known);
    count = known & CONFIRMED_MASK;
    since_ns = known & ~CONFIRMED_MASK;
    *ret_often = count >= CONFIRMED_TIMES;
    if (*ret_often || (count && now_ns - since_ns < CONFIRMED_APART_NS))
        return 0;
    *ret_often = ++count == CONFIRMED_TIMES;
    return cairn_map_put(&codes->doubts, entry->code.number, place,
                         (now_ns & ~CONFIRMED_MASK) | count);
}
