/* writing.h: whether somebody still writes a recording, and whether it has grown.
 *
 * Who writes a file of a recording holds a lock on it (an open file description's, fcntl(2)), which
 * ends with the descriptor, however its process does: a recording without an end that nobody holds
 * was cut off. The lock is advisory; nobody ever waits for it, and looking takes none. Where the
 * file system has no locks, nobody seems to write.
 * Owner: nothing is owned. Threads: any.
 */
#ifndef CAIRN_WRITING_H
#define CAIRN_WRITING_H

#include <stdbool.h>
#include <stdint.h>

/* Of all files of a set, PATH, PATH.1, PATH.2 …, added up: what has changed differs. */
struct cairn_writing {
    bool held; /* somebody writes */
    uint64_t bytes, changed_ns, files;
};

/* Holds the file, which is open for writing, until its descriptors are closed. */
void cairn_writing_hold(int fd);

/* Adds what is seen of the recording at `path`: nothing where there is none. */
void cairn_writing_look(const char *path, struct cairn_writing *writing);

/* Whether two looks saw the same bytes. */
bool cairn_writing_same(const struct cairn_writing *a, const struct cairn_writing *b);

#endif
