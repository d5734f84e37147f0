/* gperfmaps.h: the lines of /proc/PID/maps that a profile ends with: in which file an address lies.
 *
 * Owner: owns its table and the paths in it. Threads: one at a time.
 */
#ifndef CAIRN_GPERFMAPS_H
#define CAIRN_GPERFMAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"
#include "intern.h"
#include "vec.h"

struct cairn_gperfmap {
    uint64_t start, end, offset;
    struct cairn_span path;
    bool code;     /* it may be run */
    uint32_t file; /* id of its path */
};

struct cairn_gperfmaps {
    CAIRN_VEC(struct cairn_gperfmap) items; /* by address */
    struct cairn_intern files;              /* their paths; id 0 is none */
};

/* Release in any case. */
int cairn_gperfmaps_init(struct cairn_gperfmaps *maps);

/* 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT. Lines that are none are passed over. */
int cairn_gperfmaps_read(struct cairn_gperfmaps *maps, struct cairn_span text);
void cairn_gperfmaps_release(struct cairn_gperfmaps *maps);

/* Index of the map in which an address lies; UINT32_MAX: in none. */
uint32_t cairn_gperfmaps_find(const struct cairn_gperfmaps *maps, uint64_t address);

/* The path of the program itself: the first file with code that is no library. Empty: none is. */
struct cairn_span cairn_gperfmaps_main(const struct cairn_gperfmaps *maps);

#endif
