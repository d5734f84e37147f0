/* merge.h: several recordings as one set, whatever order they are named in.
 *
 * The files are copied as they are, damage included; what changes is in the headers of their
 * chunks: writers get numbers that are unique in the new set, and each file begins with a chunk
 * that says its place in it. Recordings stand in an order of their own, by file id, those that were
 * not closed last. So merging in another order, or merging what was merged before, gives the same
 * bytes. One that comes twice is in it once: the longer copy. Clocks are joined by whoever reads,
 * from the anchors in each file.
 */
#ifndef CAIRN_MERGE_H
#define CAIRN_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct cairn_merged { /* what came of it */
    size_t recordings, files;
    size_t again; /* recordings that were there more than once: copies left out */
};

/* Merges `count` recordings (each a file or the first of a set) into PATH, PATH.1, …; files that
 * exist are refused without `force`. What was made is removed when it fails. */
int cairn_merge(const char *const *paths, size_t count, const char *path, bool force,
                struct cairn_merged *ret_merged, struct cairn_err *err);

#endif
