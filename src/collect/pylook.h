/* pylook.h: whether code that was known to lie at an address still does, or what is left of it.
 *
 * Threads: as the code cache.
 */
#ifndef CAIRN_PYLOOK_H
#define CAIRN_PYLOOK_H

#include "pyarrival.h"

#define CAIRN_PYLOOK_BATCH 64 /* code objects that are looked at in one go */
#define CAIRN_PYLOOK_TEXTS 4  /* texts of each whose beginnings are looked at … */
#define CAIRN_PYLOOK_BYTES 96 /* … and how much of them */

struct cairn_pylook {
    uint8_t heads[CAIRN_PYLOOK_TEXTS][CAIRN_PYLOOK_BYTES];
    bool ok[1 + CAIRN_PYLOOK_TEXTS]; /* of the fixed part; of each head, where names are known */
};

/* Reads the fixed parts of so many, and notes when: of what is made and freed all the time it
 * counts how soon they were seen. 0, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pylook_at(struct cairn_pycodes *codes, struct cairn_pyarrival *batch, size_t count,
                    struct cairn_pylook *ret_looks);

/* Then the beginnings of the texts of what was known at these addresses. As above. */
int cairn_pylook_closer(struct cairn_pycodes *codes, const struct cairn_pyarrival *batch,
                        size_t count, struct cairn_pylook *ret_looks);

/* Whether it has the same addresses and sizes as the entry's code had. */
bool cairn_pylook_has_print(const struct cairn_pylayout *layout, const struct cairn_pyarrival *from,
                            const struct cairn_pycode_entry *entry);

/* Whether texts say the same as well. False for an entry without a name. */
bool cairn_pylook_holds(const struct cairn_pylayout *layout, const struct cairn_pyarrival *from,
                        const struct cairn_pycode_entry *entry, const struct cairn_pylook *look);

#endif
