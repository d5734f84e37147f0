/* pysites.h: which names a code object calls, and where (3.8 to 3.10).
 *
 * A call of a function by its name, global or of something, tells where its frame was called from
 * even when that is over. What is called otherwise (from a variable, by an operator, by C) is not
 * found. Pure; threads: no shared state.
 */
#ifndef CAIRN_PYSITES_H
#define CAIRN_PYSITES_H

#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

struct cairn_pycallsite {
    uint32_t unit; /* of the call: an instruction and its argument are one unit, 2 bytes */
    uint32_t name; /* index into co_names */
};

/* Finds up to `max` sites in the instructions of a code object, which are not believed; in order.
 * Returns how many. */
size_t cairn_pysites_find(struct cairn_span text, struct cairn_pycallsite *ret_sites, size_t max);

#endif
