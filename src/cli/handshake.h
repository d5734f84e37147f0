/* handshake.h: `cairn attach --handshake`: word with a program that has itself sampled.
 *
 * The program is at the other end of stdin and stdout (one socket, or two pipes). It first says
 * "go" in a line, when it has allowed us to look; we answer "sampling PATH" once the first sample
 * has been taken; the recording ends when it says anything more or goes away. What it inherited to
 * us by starting us in its midst (descriptors, blocked and ignored signals) we give up. Threads:
 * one; the process' signals are those of launch.h.
 */
#ifndef CAIRN_HANDSHAKE_H
#define CAIRN_HANDSHAKE_H

#include "err.h"

/* Gives up what was inherited, and waits for the "go". SIGTERM is nothing from now on, but for a
 * session. -CAIRN_EGONE: the other end is closed. */
int cairn_handshake_begin(struct cairn_err *err);

/* Answers; from now on what comes or ends at stdin is a SIGTERM to us. */
void cairn_handshake_answer(const char *path);

#endif
