/* mapped.h: the programs and libraries in which a profile's addresses lie, open to be read.
 *
 * Which ones, the profile says: its words are taken in a cage, and what they name is opened only
 * where it is a plain file, which begins as an ELF file does. What is in it is read in a cage, too.
 */
#ifndef CAIRN_MAPPED_H
#define CAIRN_MAPPED_H

#include "buf.h"
#include "guest.h"
#include "option.h"

struct cairn_mapped {
    struct cairn_object items[CAIRN_OBJECTS_MAX];
    size_t count;
    struct cairn_buf paths;
};

/* Of the profile that is open in `fd`; none where names are not asked for. Release in any case. */
void cairn_mapped_open(struct cairn_mapped *mapped, int fd, const char *path,
                       const struct cairn_reading *reading);
void cairn_mapped_release(struct cairn_mapped *mapped);

#endif
