/* html_inside.h: parts of a page's sums that have a name: what was spent within regions of each,
 * and what tasks of each ran and waited in. It is what `--region` and `--task` would keep, for the
 * names with most time, as far as there is room and time for it: of regions each is a pass over the
 * samples, two where the recording tells who held the GIL.
 *
 *     CAIRN_TRY(cairn_html_inside_make(sliced, tasks, &inside));
 *     while ((code = cairn_html_inside_next(&inside, gil, &tally, &gil_tally, err)) > 0)
 *         ... cairn_html_inside_name(&inside) ...
 *     cairn_html_inside_release(&inside);
 *
 * Borrows the tally, which must outlive it.
 */
#ifndef CAIRN_HTML_INSIDE_H
#define CAIRN_HTML_INSIDE_H

#include "buf.h"
#include "tally.h"
#include "vec.h"

struct cairn_html_inside_name {
    struct cairn_span text; /* the model's */
    uint64_t time_ns;
    bool is_task; /* or a coroutine; else a region */
};

struct cairn_html_inside {
    const struct cairn_tally *sliced; /* of the page */
    CAIRN_VEC(struct cairn_html_inside_name) names;
    size_t next;              /* name */
    size_t left;              /* cells that there is room for */
    struct cairn_buf pattern; /* of the name in hand */
};

/* `tasks`: the page has the stacks of cairn_html_inside_tasks(), so those of each name can be told.
 * 0 or a negative code; nothing is to be released then. */
int cairn_html_inside_make(const struct cairn_tally *sliced, bool tasks,
                           struct cairn_html_inside *ret_inside);
void cairn_html_inside_release(struct cairn_html_inside *inside);

/* Goes to the next name for which there is room: 1, with its sums in as many slices as the page
 * has, of a task in one, both to be released; 0 when there is none; a negative code. Without `gil`,
 * and of a task, *ret_gil is empty. */
int cairn_html_inside_next(struct cairn_html_inside *inside, bool gil,
                           struct cairn_tally *ret_tally, struct cairn_tally *ret_gil,
                           struct cairn_err *err);
const struct cairn_html_inside_name *cairn_html_inside_name(const struct cairn_html_inside *inside);

/* What all tasks together ran and waited in, whose stacks a page has to have; empty where it is not
 * of all of the time, there are none, or too many. To be released. */
int cairn_html_inside_tasks(const struct cairn_tally *wall, struct cairn_tally *ret_tasks,
                            struct cairn_err *err);

#endif
