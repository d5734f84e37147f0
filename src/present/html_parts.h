/* html_parts.h: the sums of any part of the time, of a page that has too many stacks to hold them.
 *
 * The time is cut into slices. What each of them has of each cell of the page stands in a file that
 * has no name and goes with its descriptor, not in memory; and now and then all until there, so
 * that of a part no more than a few slices near its two ends are added up. In memory is
 * room for the sums of one answer.
 * Owner: owns all of it. Threads: one at a time.
 */
#ifndef CAIRN_HTML_PARTS_H
#define CAIRN_HTML_PARTS_H

#include "json_out.h"
#include "tally.h"

#define CAIRN_HTML_PARTS 64 /* slices */
#define CAIRN_HTML_PARTS_COLUMNS                                                                   \
    (CAIRN_STATE_COUNT + 2) /* each state, waiting for work, the GIL                               \
                             */

struct cairn_html_parts; /* opaque */

/* `whole`: `model`'s wall time in one slice, whose cells with a value are those of the page, in
 * their order; its filter has no region. `gil`: the recording tells who held it. 0, with NULL when
 * there is nowhere to keep them; or a negative code, with `err` filled where a tally failed. */
int cairn_html_parts_make(const struct cairn_model *model, const struct cairn_tally *whole,
                          bool gil, struct cairn_html_parts **ret_parts, struct cairn_err *err);
void cairn_html_parts_free(struct cairn_html_parts *parts);

uint64_t cairn_html_parts_width_ns(const struct cairn_html_parts *parts);

/* As two values of an object: `lanes`, what each group of threads spent in each slice, whatever the
 * stack: its number (`thread_of` that of its first thread), then each column by slice; and `asked`,
 * the columns in which any cell has something. */
void cairn_html_parts_say(const struct cairn_html_parts *parts, const uint32_t *thread_of,
                          struct cairn_json *json);

/* Appends the sums of slices `from` to before `to`, in ns, as a block (html_block.h); without
 * `states`, all states as one, in the column of any. 0, -CAIRN_EUSAGE when there are no such
 * slices, -CAIRN_ENOMEM, -CAIRN_ELIMIT or -CAIRN_EIO. */
int cairn_html_parts_ask(struct cairn_html_parts *parts, unsigned from, unsigned to, bool states,
                         struct cairn_buf *buf);

#endif
