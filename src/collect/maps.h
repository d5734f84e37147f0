/* maps.h: the lines of /proc/PID/maps, one at a time, out of bytes that nobody vouches for.
 *
 * Owner: the caller keeps the bytes; a path handed out borrows them. Threads: one per walk.
 */
#ifndef CAIRN_MAPS_H
#define CAIRN_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"

struct cairn_map_range {
    uint64_t start, end, offset; /* start < end; `offset` into the file */
    bool readable, writable, executable;
    uint32_t major, minor;  /* of the device */
    uint64_t inode;         /* 0: no file */
    struct cairn_span path; /* as the kernel prints it: "\n" as \012; may be empty, "[heap]" */
    bool deleted;           /* " (deleted)" stood behind it and is not part of `path` */
};

/* Reads the next line: 0; -CAIRN_EEND; -CAIRN_EDAMAGED for a line that is none: it was consumed,
 * the next call goes on behind it. */
int cairn_maps_next(struct cairn_cursor *cur, struct cairn_map_range *ret_range);

#endif
