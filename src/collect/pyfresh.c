#include "pyfresh.h"

/* How long an entry is believed: code objects take over addresses while others come, hardly ever
 * otherwise. An address is all that is compared at a tick. */
#define FRESH_NS UINT64_C(10000000)
#define FRESH_BUSY_NS UINT64_C(1000000)
#define BUSY_NS UINT64_C(250000000) /* so long after the last one that came */

bool cairn_pycodes_takes_over(const struct cairn_pycodes *codes, uint64_t now_ns)
{
    return now_ns - codes->taken_over_ns < BUSY_NS;
}

bool cairn_pycodes_is_busy(const struct cairn_pycodes *codes, uint64_t now_ns)
{
    return now_ns - codes->came_ns < BUSY_NS;
}

bool cairn_pycodes_moves(const struct cairn_pycodes *codes, const struct cairn_pycode_entry *entry)
{
    return entry->moved_ns && codes->looked_ns - entry->moved_ns < BUSY_NS;
}

bool cairn_pycodes_is_fresh(const struct cairn_pycodes *codes,
                            const struct cairn_pycode_entry *entry, enum cairn_pycode_place place,
                            uint64_t now_ns)
{
    bool busy = cairn_pycodes_is_busy(codes, now_ns);
    bool taken_over = cairn_pycodes_takes_over(codes, now_ns);
    uint64_t most_ns = busy ? FRESH_BUSY_NS : FRESH_NS;

    if (entry && entry->looked_ns >= codes->copied_ns)
        return true;
    if (place == CAIRN_PYCODE_OUTER)
        most_ns *= taken_over ? 1 : 10;
    else if (taken_over || (busy && place == CAIRN_PYCODE_NEW))
        return false;
    return entry && now_ns - entry->checked_ns <= most_ns;
}

bool cairn_pycodes_in_time(const struct cairn_pycodes *codes)
{
    return codes->seen_ns <= codes->copied_ns + CAIRN_PYCODE_LATE_NS;
}

bool cairn_pycodes_came_late(const struct cairn_pycodes *codes, struct cairn_pycodes_mark mark)
{
    return (codes->unsure != mark.unsure && !cairn_pycodes_in_time(codes)) ||
           codes->nameless_late != mark.nameless_late;
}
