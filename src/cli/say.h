/* say.h: what Cairn itself says: one way to stderr, one way to stdout. */
#ifndef CAIRN_SAY_H
#define CAIRN_SAY_H

#include "buf.h"
#include "err.h"

/* One line to stderr: "cairn: …". */
void cairn_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A failure to stderr, all its sentences, each in a line; returns the exit status for it. */
int cairn_say_err(const struct cairn_err *err);

/* A buffer to stdout; returns an exit status: 0, also for a pipe that was closed. What went wrong
 * has been said. */
int cairn_say_out(struct cairn_buf *out);

#endif
