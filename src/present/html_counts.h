/* html_counts.h: what was counted one by one, as optional keys of the object that html_data.h
 * writes: calls by thread and stack ("calls"), or by function and caller ("table"), lines
 * ("lines"), instructions ("opcodes"), what these were given ("given"), functions whose lines and
 * instructions were counted until it cost too much ("let_go"), the texts that these name by number
 * ("texts"); and what has moments of its own (html_events.c): regions, marks and the calls of a
 * timeline ("regions", "marks", "bands", "timeline"). A key is there where there is something to
 * say.
 *
 * Lines and instructions are counted by process, and told of each; of so many that a page could
 * not be opened they are those of all processes together (-1).
 * Of instructions only the names are written unless source was asked for: what they are given may
 * be a text of the program.
 */
#ifndef CAIRN_HTML_COUNTS_H
#define CAIRN_HTML_COUNTS_H

#include "html.h"
#include "html_data.h"
#include "html_tree.h"
#include "intern.h"
#include "json_out.h"

#define CAIRN_HTML_COUNTED_MAX ((size_t)200000) /* lines or instructions, told by process */

struct cairn_html_counts {
    const struct cairn_tally *wall;  /* of samples */
    const struct cairn_tally *calls; /* of the metric counted, by the same filter; NULL: none */
    const struct cairn_html_tree *tree;
    /* The page's number of each thread and process of the model. */
    const uint32_t *thread_of, *process_of;
    const struct cairn_html_options *options;
    struct cairn_json *json;
    struct cairn_html_sink *sink;
    struct cairn_intern texts; /* begun and ended by cairn_html_counts_put() */
    struct cairn_buf shown;
};

/* Whether a page can tell of calls: there are some, and no part of the time was chosen, for when
 * they were is not in their sums. */
bool cairn_html_counts_has(const struct cairn_model *model, const struct cairn_filter *filter);

/* The sums of the metric counted; a part of the time that was chosen is passed over. 0, or a
 * negative code with `err` filled. */
int cairn_html_counts_tally(const struct cairn_tally *wall, struct cairn_tally *ret_tally,
                            struct cairn_err *err);

/* All of them. 0 or a negative code. */
int cairn_html_counts_put(struct cairn_html_counts *counts);

/* A text as the page may hold it, by its number among "texts". */
int cairn_html_counts_text(struct cairn_html_counts *counts, struct cairn_span text);

/* The page's number of the process that the thread belongs to. */
uint32_t cairn_html_counts_process(const struct cairn_html_counts *counts, uint32_t thread);

/* What has moments. */
int cairn_html_events_put(struct cairn_html_counts *counts);

/* Lines. */
int cairn_html_lines_put(struct cairn_html_counts *counts);

/* asyncio's tasks: "tasks", null where there were some that could not be read, and "task_count". */
int cairn_html_tasks_put(struct cairn_html_counts *counts);

/* Instructions. */
int cairn_html_opcodes_put(struct cairn_html_counts *counts);

#endif
