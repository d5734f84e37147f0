/* spoolfile.h: the files that engines left in a folder (spool.h), each copied first and judged on
 * the copy: whoever wrote it may have died at any moment, or live on.
 *
 * Threads: one at a time.
 */
#ifndef CAIRN_SPOOLFILE_H
#define CAIRN_SPOOLFILE_H

#include "spool.h"

struct cairn_spoolfile {
    const struct cairn_spool_head *head; /* and all behind it */
    size_t size_bytes;
    int folder;       /* where it lies, */
    const char *name; /* and what it is called; both until the visit is over */
    bool grew;        /* its process lived when the copy began, and may have counted meanwhile */
    bool cut;         /* its process is over, and did not end it on purpose */
};

/* Calls `visit` with the copy of each file of the kind, by name; those that are none of ours, or of
 * another build, are left out. What is not 0 ends it and is returned; -CAIRN_EIO: the folder cannot
 * be read, -CAIRN_ENOMEM. */
int cairn_spoolfile_each(const char *folder, const struct cairn_spool_kind *kind,
                         int (*visit)(void *context, const struct cairn_spoolfile *file),
                         void *context);

/* Whether a file begins as one of that kind, of this build. */
bool cairn_spoolfile_is_ours(const struct cairn_spool_head *head,
                             const struct cairn_spool_kind *kind);

/* So many bytes at an address of the process, aligned to 8; NULL: they are not in the file. */
const void *cairn_spoolfile_at(const struct cairn_spoolfile *file, const void *address,
                               size_t size_bytes);

/* Calls `visit` with the head of each file of calls or lines, in no particular order. */
void cairn_spoolfile_heads(const char *folder,
                           void (*visit)(void *context, const struct cairn_spool_head *head),
                           void *context);

/* Whether an engine left anything in the folder. */
bool cairn_spoolfile_any(const char *folder);

/* Of a Python that has no engine the suffix of its modules, which may be any text; false: each that
 * began has one. */
bool cairn_spoolfile_without(const char *folder, char ret_suffix[CAIRN_SPOOL_SUFFIX_BYTES]);

/* Of which words behind "calls in", or "in", code was met in some process: bit by bit; all of them
 * where a process could not tell. */
uint64_t cairn_spoolfile_met(const char *folder, bool calls);

/* Takes the folder away, with what engines left in it. */
void cairn_spoolfile_remove_all(const char *folder);

#endif
