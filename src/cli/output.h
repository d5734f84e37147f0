/* output.h: a file that a command writes because it was asked to.
 *
 * Opened before the long work, so that a bad name is told at once. A file that exists is refused
 * without `force`; what is no regular file (/dev/stdout, a pipe) is just written to, and `-` is
 * stdout. Owner: the caller, until cairn_output_close().
 */
#ifndef CAIRN_OUTPUT_H
#define CAIRN_OUTPUT_H

#include <stdbool.h>

#include "err.h"

struct cairn_output {
    int fd;           /* -1: not open */
    const char *name; /* for messages; borrowed */
    bool is_new;      /* to be taken away again when it stays unfinished */
};

/* -CAIRN_EEXISTS, or what the system said. */
int cairn_output_open(const char *path, bool force, struct cairn_output *ret_output,
                      struct cairn_err *err);

/* One that is open already and stays open: stdout, stderr. */
struct cairn_output cairn_output_borrow(int fd, const char *name);

/* Closes; a file that was made here and is not `whole` is removed. */
void cairn_output_close(struct cairn_output *output, bool whole);

#endif
