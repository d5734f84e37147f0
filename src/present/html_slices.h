/* html_slices.h: how finely the time of a page is cut. */
#ifndef CAIRN_HTML_SLICES_H
#define CAIRN_HTML_SLICES_H

#include "html.h"
#include "tally.h"

/* More, and there are fewer slices of the time: a page has to be opened as well. */
#define CAIRN_HTML_CELLS_MAX 400000

/* The cells of `wall`'s filter, as finely sliced as there is room for: in one slice, if need be, or
 * if it has no times (`timeless`); then they are `wall` itself. Where the page can ask for parts of
 * the time (options->parts, which is filled then), no coarser than those are. `gil`: the recording
 * tells who held it. `own` is where others than `wall` lie: cairn_tally_release() it on success. 0,
 * or a negative code with `err` filled. */
int cairn_html_slices_make(const struct cairn_tally *wall, const struct cairn_html_options *options,
                           bool timeless, bool gil, struct cairn_tally *own,
                           const struct cairn_tally **ret_sliced, struct cairn_err *err);

#endif
