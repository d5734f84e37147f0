/* launch.h: starts the program that is to be measured, and stands between it and the signals.
 *
 * The program keeps our stdin, stdout, stderr, process group, environment, signal mask and
 * dispositions. It is held before its exec until cairn_launch_release(), so that the collector can
 * get ready. TERM, HUP, USR1 and USR2 sent to us, and an INT that somebody sent to us alone, are
 * passed on; Ctrl-C of the terminal reaches it by itself. When it stops, we stop; it never dies
 * because we do.
 * Threads: one launch a process: it owns the process' signal handlers from open to close.
 */
#ifndef CAIRN_LAUNCH_H
#define CAIRN_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "err.h"
#include "owner.h"

struct cairn_launch {
    pid_t pid;        /* 0: nothing was started (attach): signals only */
    int hold_fd;      /* closing it lets the child go on to its exec; -1 when done */
    int failure_fd;   /* brings the errno of a failed exec; -1 when done */
    bool has_signals; /* the handlers are ours */
    bool exited;
    int wait_sys;        /* errno: it cannot be waited for, so how it ended will not be known */
    int status;          /* wait status, valid when exited and without wait_sys */
    uint64_t cpu_ns;     /* of its own threads; 0: not known. Valid when exited */
    struct rusage usage; /* of it and the children it waited for, valid as status is */

    /* Called once it is over, before it is waited for; NULL: nobody wants to know. */
    void (*ends)(void *ctx);
    void *ends_ctx;
};

/* Takes over the signals and forks; `argv` NULL only takes over the signals. The program runs as
 * `owner` and with that user's environment; NULL: as we are. */
int cairn_launch_open(struct cairn_launch *launch, char *const *argv,
                      const struct cairn_owner *owner, struct cairn_err *err);

/* Lets the program start. -CAIRN_ENOTFOUND or -CAIRN_ENOTEXEC when it could not: it is gone then.
 */
int cairn_launch_release(struct cairn_launch *launch, struct cairn_err *err);

/* Deals with what signals brought: passes them on, notices exit and stop. Cheap when nothing
 * came. True when sampling should end: the program is gone, or Ctrl-C came (attach: once, run:
 * twice, since the first one is the program's own). */
bool cairn_launch_poll(struct cairn_launch *launch, bool *ret_interrupted);

/* Waits until the program is gone, passing signals on; true when a second Ctrl-C cut it short. */
bool cairn_launch_wait(struct cairn_launch *launch);

/* Ends a program that was never released: it has not begun. Otherwise does nothing. */
void cairn_launch_abandon(struct cairn_launch *launch);

/* Gives the signals back. The program, if it is still there, goes on. */
void cairn_launch_close(struct cairn_launch *launch);

#endif
