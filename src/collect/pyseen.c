#include "pyseen.h"

#include "err.h"

#define TIMES 3 /* so often at least, of three moments */
/* A value: up to three places, one more than the unit each (0: none), and how often. */
#define PLACES 3
#define PLACE_BITS 16
#define PLACE_MASK UINT64_C(0xffff)
#define PLACES_MASK ((UINT64_C(1) << PLACES * PLACE_BITS) - 1)
#define COUNT_SHIFT (PLACES * PLACE_BITS)
#define ANYWHERE PLACES_MASK /* a fourth place was met */

static bool has_place(uint64_t known, uint64_t place)
{
    if ((known & PLACES_MASK) == ANYWHERE)
        return true;
    for (int i = 0; i < PLACES; i++)
        if ((known >> i * PLACE_BITS & PLACE_MASK) == place)
            return true;
    return false;
}

static bool is_usual(const struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                     const struct cairn_pycode_entry *callee, uint64_t *ret_known)
{
    return cairn_map_get(&codes->seen, caller->code.number, callee->code.number, ret_known) &&
           *ret_known >> COUNT_SHIFT >= TIMES;
}

int cairn_pyseen_note(struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                      uint32_t unit, const struct cairn_pycode_entry *callee)
{
    uint64_t place = (uint64_t)unit + 1, known = 0, count;
    bool usual = is_usual(codes, caller, callee, &known);
    int code;

    if (place >= PLACE_MASK || (usual && has_place(known, place)))
        return 0;
    count = (known >> COUNT_SHIFT) + !usual;
    if (!has_place(known, place))
        known = has_place(known, 0) ? known << PLACE_BITS | place : ANYWHERE;
    code = cairn_map_put(&codes->seen, caller->code.number, callee->code.number,
                         (known & PLACES_MASK) | count << COUNT_SHIFT);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

bool cairn_pyseen_at(const struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                     uint32_t unit, const struct cairn_pycode_entry *callee)
{
    uint64_t known;

    return is_usual(codes, caller, callee, &known) && has_place(known, (uint64_t)unit + 1);
}

bool cairn_pyseen_before(const struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                         uint32_t unit, const struct cairn_pycode_entry *callee, uint32_t *ret_unit)
{
    uint64_t known, latest = 0;

    if (!is_usual(codes, caller, callee, &known) || (known & PLACES_MASK) == ANYWHERE)
        return false;
    for (int i = 0; i < PLACES; i++) {
        uint64_t place = known >> i * PLACE_BITS & PLACE_MASK;

        if (place <= unit && place > latest)
            latest = place;
    }
    *ret_unit = (uint32_t)latest - 1;
    return latest > 0;
}
