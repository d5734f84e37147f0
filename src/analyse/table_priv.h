/* table_priv.h: what the makers of rows share. */
#ifndef CAIRN_TABLE_PRIV_H
#define CAIRN_TABLE_PRIV_H

#include "table.h"

/* What a cell counts for under the options: {0, 0} when it is left out. */
struct cairn_weight cairn_cell_weight(const struct cairn_cell *cell,
                                      const struct cairn_rows_options *options);

/* Sets `base` from the tally, room for `max_count` rows, none yet. 0 or -CAIRN_ENOMEM. */
int cairn_rows_begin(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                     size_t max_count, struct cairn_rows *rows);

/* Shares, intervals and bounds of all rows from their weights and `base`; sorts; judges whether
 * they can be ranked. */
void cairn_rows_finish(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                       struct cairn_rows *rows);

/* Rows by thread, process or state. */
int cairn_rows_flat(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                    struct cairn_rows *rows);

/* What stands in a row about a function, whatever its weights. */
void cairn_row_function(const struct cairn_model *model, uint32_t function, struct cairn_row *row);

/* Weights of each node of the tally's model under the options; free() them. NULL: no memory. */
struct cairn_weight *cairn_node_weights(const struct cairn_tally *tally,
                                        const struct cairn_rows_options *options);

#endif
