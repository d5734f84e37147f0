/* sink.h: the file (or set of files) that sealed chunks are appended to.
 *
 * Any prefix of the file is a valid recording: a chunk is written by one write, header first.
 * Created 0600 with O_EXCL, or in memory (memfd) when no path is given. Space is reserved ahead
 * where the file system can, so that a full disk is an error here, not a signal. Several writers
 * may share a sink. Rotation (rotate_bytes) closes the file and goes on in PATH.1, PATH.2 …: each
 * starts with a SET section and is self-contained; writers see it by `generation` and send their
 * dictionary entries again as they are used.
 * While it is open its file is held (writing.h), so that readers can tell that it still grows.
 * Owner: the sink owns the descriptor. Threads: one at a time.
 */
#ifndef CAIRN_SINK_H
#define CAIRN_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "cursor.h"
#include "err.h"
#include "format.h"
#include "owner.h"

struct cairn_sink_options {
    const char *path;                /* NULL: memfd */
    const struct cairn_owner *owner; /* as whom files are made; NULL: as ourselves. Borrowed */
    bool force;                      /* replace an existing file */
    bool sync;                       /* fdatasync at every flush of at least a second's distance */
    uint64_t rotate_bytes;           /* 0: never */
};

struct cairn_sink; /* opaque; allocated here */

int cairn_sink_open(const struct cairn_sink_options *options, struct cairn_sink **ret_sink,
                    struct cairn_err *err);

/* One chunk of `sections`. 0, or a negative code with `err` filled (disk full: -CAIRN_EIO with
 * ENOSPC in err->sys); after a failure the file still ends behind the last whole chunk, and every
 * later append fails the same way. */
int cairn_sink_append(struct cairn_sink *sink, uint16_t kind, uint32_t writer, uint64_t first_ns,
                      uint64_t last_ns, uint64_t track_mask, struct cairn_span sections,
                      struct cairn_err *err);

/* Goes on in a new file if this one is large enough: for a writer that has rows to put in it, so
 * that no file of a set is without any. A failure is every later append's as well. */
int cairn_sink_turn(struct cairn_sink *sink, struct cairn_err *err);

/* Rises at each rotation, from 1. */
uint32_t cairn_sink_generation(const struct cairn_sink *sink);
uint64_t cairn_sink_bytes(const struct cairn_sink *sink); /* written so far, all files of the set */
uint64_t cairn_sink_synced_bytes(const struct cairn_sink *sink); /* of the current file */
int cairn_sink_fd(const struct cairn_sink *sink);                /* borrowed; the current file */
const char *cairn_sink_path(const struct cairn_sink *sink);      /* "" for a memfd */

bool cairn_sink_made(const struct cairn_sink *sink); /* its file; false: it is a device or pipe */

/* Gives back reserved space, syncs if asked, closes. Frees the sink also on failure. NULL ok. */
int cairn_sink_close(struct cairn_sink *sink, struct cairn_err *err);

#endif
