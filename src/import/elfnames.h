/* elfnames.h: which function of an ELF file lies where: names for addresses.
 *
 * The file may be anything: what is damaged has no names, or some. A name is given where a symbol
 * says that it covers the place, or says no length and another follows in the same section.
 * Owner: releases its table; what reads the file is borrowed. Threads: one at a time.
 */
#ifndef CAIRN_ELFNAMES_H
#define CAIRN_ELFNAMES_H

#include <stdbool.h>

#include "elffile.h"
#include "vec.h"

#define CAIRN_ELFNAME_MAX_BYTES 4096 /* longer ones are cut */

struct cairn_elfnames {
    struct cairn_elffile file;
    CAIRN_VEC(struct cairn_elffunction) functions; /* by address, one for each */
    size_t max_count;
};

/* `names->file` with `read` and `ctx`, and `max_count` set. 0, also of what is no ELF file, or
 * -CAIRN_ENOMEM. Release in any case. */
int cairn_elfnames_open(struct cairn_elfnames *names);
void cairn_elfnames_release(struct cairn_elfnames *names);

/* The function in which the byte at `offset` of the file lies; false: none says so. */
bool cairn_elfnames_find(struct cairn_elfnames *names, uint64_t offset,
                         char ret_name[CAIRN_ELFNAME_MAX_BYTES]);

#endif
