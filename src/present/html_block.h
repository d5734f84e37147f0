/* html_block.h: what cells have in some columns, as bytes that a browser looks at as they lie.
 *
 * Little-endian: u32 entries, u32 numbers that are too far for one; those numbers, as doubles; of
 * each entry its value, as u32; of each entry a byte, the column in its lowest three bits, above
 * them how many cells it is behind the entry before (the first: behind cell 0). What does not fit,
 * and the largest that does, is CAIRN_HTML_BLOCK_FAR_* there, and the next of the numbers apart: of
 * an entry first the step, then the value. Entries stand by cell, then by column; none is 0.
 * Threads: any.
 */
#ifndef CAIRN_HTML_BLOCK_H
#define CAIRN_HTML_BLOCK_H

#include <stdbool.h>

#include "buf.h"

#define CAIRN_HTML_BLOCK_COLUMNS 8
#define CAIRN_HTML_BLOCK_FAR_STEP 31
#define CAIRN_HTML_BLOCK_FAR_VALUE UINT32_MAX

struct cairn_html_table { /* [cell][column], of the columns that are there */
    uint64_t *values;     /* at most 2^53 each */
    size_t cell_count;
    unsigned column_count;
    uint8_t numbers[CAIRN_HTML_BLOCK_COLUMNS]; /* of each column: what it is called in a block */
};

/* Appends the block of a table; it is aligned where `out` is empty. 0, -CAIRN_ENOMEM or
 * -CAIRN_ELIMIT. */
int cairn_html_block_put(const struct cairn_html_table *table, struct cairn_buf *out);

/* Adds the values of a block, or takes them off: sums may wrap meanwhile. `block`: aligned as a u64
 * is. 0, or -CAIRN_EDAMAGED for what is no block of such a table. */
int cairn_html_block_add(const uint8_t *block, size_t size_bytes, bool off,
                         struct cairn_html_table *table);

#endif
