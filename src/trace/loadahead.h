/* loadahead.h: the chunks of a file, unpacked by a thread of their own, some ahead of who reads.
 *
 * Unpacking costs about as much as reading what was unpacked, so a long recording is loaded in
 * little more than half the time. Chunks come in their order, each as cairn_reader_load() gives it.
 * Owner: the caller. Threads: one takes; its own loads. Until it is freed nobody else may load from
 * the reader or refresh it, and its statistics say nothing.
 */
#ifndef CAIRN_LOADAHEAD_H
#define CAIRN_LOADAHEAD_H

#include "reader.h"

struct cairn_loadahead; /* opaque */

/* Loads all chunks that are understood, from the first on. NULL: there is no second processor, no
 * memory or no thread to be had. */
struct cairn_loadahead *cairn_loadahead_begin(struct cairn_reader *reader);

/* The next one that is understood, which must be `index`: as cairn_reader_load(), its sections
 * borrowed until the next call. */
int cairn_loadahead_next(struct cairn_loadahead *ahead, size_t index,
                         struct cairn_span *ret_sections, struct cairn_err *err);

/* NULL is nothing. */
void cairn_loadahead_free(struct cairn_loadahead *ahead);

#endif
