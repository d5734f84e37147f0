/* output.h: a file that a command writes because it was asked to.
 *
 * Opened before the long work, so that a bad name is told at once. A file that exists is refused
 * without `force`, and with it stays as it is until the new one is whole; what is no regular file
 * (/dev/stdout, a pipe) is just written to, and `-` is stdout. Owner: the caller, until
 * cairn_output_close().
 */
#ifndef CAIRN_OUTPUT_H
#define CAIRN_OUTPUT_H

#include <stdbool.h>

#include "err.h"

struct cairn_output {
    int fd;           /* -1: not open */
    const char *name; /* for messages; borrowed */
    bool is_new;      /* to be taken away again when it stays unfinished */
    char *part, *old; /* where it is written meanwhile, and what it then takes the place of */
};

/* -CAIRN_EEXISTS where `path` is the file `read`, or belongs to the recording of several files that
 * begins with it: no --force is meant so. 0 of what is not there. */
int cairn_output_check(const char *path, const char *read, struct cairn_err *err);

/* -CAIRN_EEXISTS, or what the system said. */
int cairn_output_open(const char *path, bool force, struct cairn_output *ret_output,
                      struct cairn_err *err);

/* One that is open already and stays open: stdout, stderr. */
struct cairn_output cairn_output_borrow(int fd, const char *name);

/* Closes; what is not `whole` leaves no trace. 0, or what the system said: a file that is there
 * stayed as it was. */
int cairn_output_close(struct cairn_output *output, bool whole, struct cairn_err *err);

#endif
