/* blocks.h: where in the sections of a chunk another sort of bytes begins.
 *
 * A column of stack ids and one of CPU times have little in common; zstd, given a block of each,
 * fits its codes to both and saves a tenth of the file.
 * Threads: no shared state.
 */
#ifndef CAIRN_BLOCKS_H
#define CAIRN_BLOCKS_H

#include "cursor.h"

#define CAIRN_BLOCKS_MAX 256

/* Fills `ret_ends` with the ends of the blocks, ascending; the last is the end of `sections`.
 * Returns how many there are, at least 1. What it cannot read is left in one block. */
size_t cairn_blocks_find(struct cairn_span sections, size_t ret_ends[CAIRN_BLOCKS_MAX]);

#endif
