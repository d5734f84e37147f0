/* html_inside.h: what of a page's sums was spent within regions of each name: what `--region` would
 * keep, for the names with most time, as far as there is room and time for it: each is a pass over
 * the samples, two where the recording tells who held the GIL.
 *
 *     CAIRN_TRY(cairn_html_inside_make(sliced, &inside));
 *     while ((code = cairn_html_inside_next(&inside, gil, &tally, &gil_tally, err)) > 0)
 *         ... cairn_html_inside_name(&inside) ...
 *     cairn_html_inside_release(&inside);
 *
 * Borrows the tally, which must outlive it.
 */
#ifndef CAIRN_HTML_INSIDE_H
#define CAIRN_HTML_INSIDE_H

#include "buf.h"
#include "regionrows.h"

struct cairn_html_inside {
    const struct cairn_tally *sliced; /* of the page */
    struct cairn_region_rows rows;
    size_t next, most;        /* rows */
    size_t left;              /* cells that there is room for */
    struct cairn_buf pattern; /* of the name in hand */
};

/* 0 or a negative code; nothing is to be released then. */
int cairn_html_inside_make(const struct cairn_tally *sliced, struct cairn_html_inside *ret_inside);
void cairn_html_inside_release(struct cairn_html_inside *inside);

/* Goes to the next name for which there is room: 1, with its sums in as many slices as the page
 * has, both to be released; 0 when there is none; a negative code. Without `gil` *ret_gil is empty.
 */
int cairn_html_inside_next(struct cairn_html_inside *inside, bool gil,
                           struct cairn_tally *ret_tally, struct cairn_tally *ret_gil,
                           struct cairn_err *err);
struct cairn_span cairn_html_inside_name(const struct cairn_html_inside *inside);

#endif
