#include "pyframe.h"

#include <string.h>

#include "err.h"

#define STATE_UNWINDING 2 /* 3.10: an exception goes through it; clearing its stack can call */

static uint64_t u64_at(const uint8_t *data, uint32_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

static int refuse(enum cairn_pycheck check, enum cairn_pycheck *ret_check)
{
    *ret_check = check;
    return -CAIRN_EDAMAGED;
}

int cairn_pyframe_decode(const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                         uint64_t address, const uint8_t *data, uint64_t type,
                         struct cairn_pyraw *ret_raw, enum cairn_pycheck *ret_check)
{
    struct cairn_pyraw raw = {
        .address = address, .stacktop = INT32_MIN, .chunk = -1, .entered = true};
    int32_t last;

    if (address % 8 != 0)
        return refuse(CAIRN_PYCHECK_ALIGN, ret_check);
    if (type && u64_at(data, layout->object_type) != type)
        return refuse(CAIRN_PYCHECK_OWNER, ret_check);
    raw.previous = u64_at(data, layout->frame_previous);
    raw.code = u64_at(data, layout->frame_code);
    raw.generator = u64_at(data, layout->frame_generator) != 0;
    raw.state = (int8_t)data[layout->frame_state];
    memcpy(&last, data + layout->frame_last, sizeof(last));
    /* From here on as in later versions: bytes, and one unit in front of the first. */
    if (last < 0)
        raw.instr = (uint64_t)-2;
    else
        raw.instr = table->minor >= 10 ? 2 * (uint64_t)last : (uint64_t)last;
    *ret_raw = raw;
    return 0;
}

bool cairn_pyframe_runs(const struct cairn_pytable *table, const struct cairn_pyraw *raw)
{
    return raw->state == table->executing || (table->minor >= 10 && raw->state == STATE_UNWINDING);
}
