/* html_tracks.h: the processes and threads of a page, "processes" and "threads" of the object that
 * html_data.h writes. */
#ifndef CAIRN_HTML_TRACKS_H
#define CAIRN_HTML_TRACKS_H

#include "html.h"
#include "html_data.h"
#include "html_tree.h"
#include "json_out.h"

/* Those that have something in one of the tallies, and where regions are told, those that may have
 * some. `thread_of` and `process_of` have a place for each of the model, all 0;
 * they are given the page's numbers, of threads that are not in it CAIRN_HTML_NONE. 0 or a negative
 * code. */
int cairn_html_tracks_put(const struct cairn_html_tallies *tallies,
                          const struct cairn_html_options *options, uint32_t *thread_of,
                          uint32_t *process_of, struct cairn_json *json,
                          struct cairn_html_sink *sink);

#endif
