/* pyseen.h: calls of one Python function by another, without C, that were seen while they lasted,
 * and from where (3.11 to 3.13).
 *
 * While a stack is copied the program goes on, and calls that last for less than that are over when
 * their frames are copied. That one was made then is believed where such calls were seen three
 * times: once may have been two copies that do not belong together. It is believed for good then.
 * Threads: as the code cache.
 */
#ifndef CAIRN_PYSEEN_H
#define CAIRN_PYSEEN_H

#include "pycode.h"

/* Notes that `caller` called `callee` from the unit of its code. 0 or -CAIRN_ENOMEM; what does not
 * fit is left out. */
int cairn_pyseen_note(struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                      uint32_t unit, const struct cairn_pycode_entry *callee);

/* Whether it does so again and again, and did from there, or from more places than are kept. */
bool cairn_pyseen_at(const struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                     uint32_t unit, const struct cairn_pycode_entry *callee);

/* Whether it does so again and again; *ret_unit: from where, the last place in front of `unit` of
 * those that are known. False: there is none, or there are more places than are kept. */
bool cairn_pyseen_before(const struct cairn_pycodes *codes, const struct cairn_pycode_entry *caller,
                         uint32_t unit, const struct cairn_pycode_entry *callee,
                         uint32_t *ret_unit);

#endif
