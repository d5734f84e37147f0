/* cycles.h: who of those that call each other may be below itself by way of another.
 *
 * Threads: any.
 */
#ifndef CAIRN_CYCLES_H
#define CAIRN_CYCLES_H

#include <stdbool.h>
#include <stddef.h>

#include "inferred.h"

/* `calls` are in order of their callers, those of function i from first_call[i] up to
 * first_call[i + 1]. `ret_in_cycle`, one for each function and all false, becomes true of those in
 * a cycle of two or more. 0 or -CAIRN_ENOMEM. */
int cairn_cycles_find(const struct cairn_inferred_call *calls, const size_t *first_call,
                      size_t function_count, bool *ret_in_cycle);

#endif
