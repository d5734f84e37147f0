/* strangers.h: files of tools that people use beside this one, which Cairn does not read: what they
 * are, and what to do instead.
 */
#ifndef CAIRN_STRANGERS_H
#define CAIRN_STRANGERS_H

#include <stdbool.h>

#include "cursor.h"
#include "err.h"

/* Whether a protobuf file is a trace of Perfetto and no profile of pprof: both begin with the same
 * field, of which a profile's holds the two numbers of a type, and a trace's a packet. */
bool cairn_is_perfetto(struct cairn_span head);

/* Adds to `err` what the file at `path`, which begins with `head`, is. False: that is not known. */
bool cairn_stranger_tell(struct cairn_span head, const char *path, struct cairn_err *err);

#endif
