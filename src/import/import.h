/* import.h: the one door for files of other tools: tells by their content what they are, and writes
 * what they say as a recording.
 *
 * Foreign bytes are bounded in everything: nothing in them is executed, no size is believed.
 * Threads: one at a time.
 */
#ifndef CAIRN_IMPORT_H
#define CAIRN_IMPORT_H

#include "buf.h"
#include "err.h"
#include "feed.h"
#include "guest.h"
#include "sink.h"
#include "spill.h"

struct cairn_import_options {
    /* Of formats that only count: how far one sample lies from the next. 0: not known. */
    uint64_t interval_ns;
    struct cairn_spill *spill;       /* for what has no room in memory; NULL: that is refused */
    struct cairn_progress *progress; /* may be NULL */
    /* Of formats that know addresses: files with names for them, at most CAIRN_OBJECTS_MAX. NULL:
     * they are not asked for. */
    const struct cairn_object *objects;
    size_t object_count;
};

/* Reads all of a descriptor, a regular file, into a recording that is appended to `sink`.
 * -CAIRN_EFOREIGN: it is nothing that is known; -CAIRN_EDAMAGED, -CAIRN_EFOREIGN (too large) and
 * others with `err` filled, which names `path`. */
int cairn_import(int fd, const char *path, const struct cairn_import_options *options,
                 struct cairn_sink *sink, struct cairn_err *err);

/* The same from a feed that was opened. */
int cairn_import_feed(struct cairn_feed *feed, const char *path,
                      const struct cairn_import_options *options, struct cairn_sink *sink,
                      struct cairn_err *err);

/* In which files the addresses of a profile lie: paths, a line each; the first line is the
 * program's own, empty where that is not told; then all with samples in them, most first. Nothing
 * for formats that know names. A failure to read it is what reading it all fails with, too. */
int cairn_import_mapped(int fd, struct cairn_buf *ret_paths);

#endif
