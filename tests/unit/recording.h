/* recording.h: a recording that holds every kind of row, and what it ought to say when read.
 *
 * Both sides are text, one line a fact, so that they compare by sorting: rows first name their
 * kind and then every column, ids replaced by content; the rest is "T" tracks, "W" writers,
 * "E" environment, "C" counters, "L" line tables. What was lost reads "[unknown]".
 * A call that runs out of memory is made once more, so that a test can fail any of them.
 */
#ifndef CAIRN_RECORDING_H
#define CAIRN_RECORDING_H

#include "buf.h"
#include "reader.h"

#define RECORDING_CHUNK_PAIRS 2 /* flushes of each of the two writers, besides the ends */

/* Writes from a collector, an agent, and an agent in a process forked on the way, whose chunks the
 * collector takes over. What is in the way at `path` is replaced. Appends lines to `truth`. */
int recording_write(const char *path, uint64_t rotate_bytes, bool sync, struct cairn_buf *truth);

struct recording_tally {
    uint64_t files, chunks, rows, unknown;
    uint64_t cpu; /* sum over the samples */
    uint64_t jumped_bytes, jumped_chunks, damaged_chunks, file_bytes;
    bool ended;
};

/* Reads the set at `path` and appends its lines; 0 or what opening answered. A chunk that does not
 * load is passed over. */
int recording_dump(const char *path, struct cairn_buf *lines, struct recording_tally *ret_tally);

/* Sorts the lines and leaves one of each that is no row: in a set, every file repeats those. */
void recording_sort(struct cairn_buf *lines);

#endif
