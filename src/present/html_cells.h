/* html_cells.h: the cells of a tally as columns of a page, since those of one kind compress well:
 * thread, node (what lies between it and the one before), phase, slice, each state, waiting for
 * work, time that the GIL was held. Every metric is in them: wall time is all states, and of it and
 * of what was blocked so much was waiting for work.
 */
#ifndef CAIRN_HTML_CELLS_H
#define CAIRN_HTML_CELLS_H

#include "html_columns.h"
#include "html_data.h"
#include "html_tree.h"

struct cairn_html_cells { /* where they go, and what they are numbered by; all borrowed */
    const struct cairn_html_tree *tree;
    const uint32_t *thread_of;
    struct cairn_html_columns *columns;
    struct cairn_html_sink *sink;
};

/* Where a value of the JSON may stand. `gil`: the same of the metric, unknown where it is not told.
 * 0 or a negative code. */
int cairn_html_cells_put(const struct cairn_html_cells *out, const struct cairn_tally *sliced,
                         const struct cairn_tally *gil);

#endif
