/* outlet.h: where a report or an export goes: bytes, gathered and written to a descriptor.
 *
 * Producers append to `buf` with cairn_buf_* and cairn_escape_* and call cairn_outlet_drain() after
 * each record; its answer, or the sticky code of the buffer, tells them to stop. One call at the
 * end, cairn_outlet_finish(), turns what went wrong into a sentence: a full disk is an error, a
 * reader that went away (`| head`) is a quiet end. The command ignores SIGPIPE.
 * Owner: the caller keeps the descriptor; the outlet owns the buffer until cairn_outlet_finish().
 * Threads: one at a time.
 */
#ifndef CAIRN_OUTLET_H
#define CAIRN_OUTLET_H

#include <stdbool.h>

#include "buf.h"
#include "err.h"

struct cairn_outlet {
    struct cairn_buf buf;
    int fd;           /* -1: everything stays in `buf` */
    const char *name; /* for messages: a path, "stdout"; borrowed */
    int sys;          /* errno of the write that failed, 0: none did */
};

void cairn_outlet_init(struct cairn_outlet *out, int fd, const char *name);

/* Writes out what has gathered, when it is much. 0, or a negative code: stop producing. */
int cairn_outlet_drain(struct cairn_outlet *out);

/* Writes the rest and releases the buffer, unless fd is -1: then the caller reads `buf` and calls
 * cairn_outlet_release(). `code` is what the producer returned, with `err` (NULL allowed) filled by
 * it when the failure was its own. Returns 0 when all is written or the reader went away. */
int cairn_outlet_finish(struct cairn_outlet *out, int code, struct cairn_err *err);
void cairn_outlet_release(struct cairn_outlet *out);

#endif
