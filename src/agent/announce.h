/* announce.h: how a program finds out that it is being recorded, without a word in its environment.
 *
 * Whoever records announces the number of a process: its own, for all that it starts, or that of
 * the process that it looks at. The announcement is a symbolic link, PLACE/cairn-of-PID, to the
 * folder that engines leave their files in; PLACE is $TMPDIR, and /tmp as well. It holds as long as
 * somebody holds the lock of that folder's file `wanted`, so what a recorder left behind that was
 * killed is none. One is believed only where link and folder are the asking user's, and nobody else
 * may write to the folder. Threads: any. errno stays as it was.
 */
#ifndef CAIRN_ANNOUNCE_H
#define CAIRN_ANNOUNCE_H

#include <stdbool.h>
#include <sys/types.h>

#include "spool.h"

/* The folder that was announced for this process, and, if `ancestors`, for those that it comes of;
 * false: there is none. */
bool cairn_announce_find(bool ancestors, char ret_folder[CAIRN_SPOOL_PATH_BYTES]);

/* Whether who announced this folder still holds it. What cannot be told, say for want of
 * descriptors, is taken for yes. */
bool cairn_announce_holds(const char *folder);

/* Announces the folder, whose file `wanted` is there: the descriptor of its lock, to be closed when
 * it is over; negative: it could not be. */
int cairn_announce_make(pid_t pid, const char *folder);
void cairn_announce_remove(pid_t pid, const char *folder);

#endif
