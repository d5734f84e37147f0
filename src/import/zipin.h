/* zipin.h: the files within a zip archive that is held whole: stored or deflated, neither encrypted
 * nor in several parts. All is borrowed from the archive. Threads: one at a time.
 */
#ifndef CAIRN_ZIPIN_H
#define CAIRN_ZIPIN_H

#include <stdbool.h>

#include "cursor.h"

struct cairn_zipin_file {
    struct cairn_span packed;
    bool is_deflated;
    uint32_t crc;
};

/* Finds a file by its name, upper or lower case. 1, 0 when there is none, -CAIRN_EDAMAGED,
 * -CAIRN_EFOREIGN when it is there in a way that is not read. */
int cairn_zipin_find(struct cairn_span archive, const char *name,
                     struct cairn_zipin_file *ret_file);

/* Hands over its lines, without their ends, one by one. 0, what `take` failed with, -CAIRN_ENOMEM,
 * -CAIRN_EDAMAGED, or -CAIRN_ELIMIT for what unpacks to more than any file of use. */
int cairn_zipin_lines(const struct cairn_zipin_file *file,
                      int (*take)(void *context, struct cairn_span line), void *context);

#endif
