/* spill.h: room on disk for what has none in memory while a foreign file is read.
 *
 * Made before the cage is entered, where no file can be opened; has no name, so that it goes with
 * the last process that holds it. What is read back was written by the process that reads, which
 * may hold it for true no more than the file that it reads.
 * Owner: whoever opened it. Threads: one at a time.
 */
#ifndef CAIRN_SPILL_H
#define CAIRN_SPILL_H

#include <stdint.h>

struct cairn_spill {
    int fd; /* -1: there is none */
    uint64_t size_bytes;
};

/* In the folder that TMPDIR names, else in /tmp. Where none can be had, there is none. */
void cairn_spill_open(struct cairn_spill *spill);
void cairn_spill_close(struct cairn_spill *spill);

#endif
