#include "pyunits.h"

#include <string.h>

#define EXTENDED_ARG 144 /* until 3.10, … */
#define YIELD_FROM 72    /* … as these are; … */
#define YIELD_VALUE 86
#define GEN_START 129 /* … new in 3.10, unused before */

/* Marks every unit with its distance to the start of its instruction, and the places of calls. */
static void mark_units(const struct cairn_pytable *table, struct cairn_span text, uint8_t *units,
                       uint32_t count)
{
    uint32_t at = 0;

    while (at < count) {
        uint8_t flags = table->opcodes[text.data[(size_t)at * 2]];
        uint32_t caches = flags & CAIRN_PYOP_CACHES;

        if (flags & CAIRN_PYOP_MASK) {
            /* How many caches follow what it hides is not known here: from now on anything may
             * be a call. */
            memset(units + at, CAIRN_PYUNIT_CALLER, count - at);
            return;
        }
        for (uint32_t back = 0; back <= caches && at < count; back++, at++)
            units[at] = (uint8_t)(back | (flags & CAIRN_PYOP_CALLER ? CAIRN_PYUNIT_CALLER : 0) |
                                  (flags & CAIRN_PYOP_RESUMES ? CAIRN_PYUNIT_RESUMES : 0));
    }
}

/* Until 3.10: no caches, but where jumps lead. */
static void mark_old_units(const struct cairn_pytable *table, struct cairn_span text,
                           uint8_t *units, uint32_t count)
{
    uint32_t shift = table->minor >= 10 ? 0 : 1, prefix = 0;

    memset(units, 0, count);
    for (uint32_t at = 0; at < count; at++) {
        uint8_t op = text.data[(size_t)at * 2], flags = table->opcodes[op];
        uint32_t argument = prefix << 8 | text.data[(size_t)at * 2 + 1], target = UINT32_MAX;

        prefix = op == EXTENDED_ARG ? argument : 0;
        if (flags & CAIRN_PYOP_CALLER)
            units[at] |= CAIRN_PYUNIT_CALLER;
        if (flags & CAIRN_PYOP_CALL)
            units[at] |= CAIRN_PYUNIT_CALL;
        if (flags & CAIRN_PYOP_TO)
            target = argument >> shift;
        else if (flags & CAIRN_PYOP_OVER && (argument >> shift) < count)
            target = at + 1 + (argument >> shift);
        if (target < count)
            units[target] |= CAIRN_PYUNIT_TARGET;
    }
}

void cairn_pyunits_mark(const struct cairn_pytable *table, struct cairn_span text, uint8_t *units,
                        uint32_t count)
{
    if (table->minor >= 11)
        mark_units(table, text, units, count);
    else
        mark_old_units(table, text, units, count);
}

bool cairn_pyunits_yield(struct cairn_span text)
{
    for (size_t at = 0; at + 1 < text.size_bytes; at += 2) {
        if (text.data[at] == YIELD_FROM || text.data[at] == YIELD_VALUE ||
            text.data[at] == GEN_START)
            return true;
    }
    return false;
}
