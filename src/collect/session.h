/* session.h: one act of collecting: start or attach, sample until the end, leave a recording.
 *
 * The session owns the sink, the subjects and every descriptor it opens; it never prints. The
 * program it starts keeps stdin, stdout, stderr, signals, job control and exit status as its own.
 * Threads: call from the main thread: the process' signals are taken over until
 * cairn_session_release().
 */
#ifndef CAIRN_SESSION_H
#define CAIRN_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "launch.h"
#include "sink.h"

struct cairn_session_options {
    char *const *argv; /* run: the command, as for execvp; NULL: attach to `pid` */
    pid_t pid;
    const char *run_as_shown; /* the command line as the user typed it; may be NULL */

    uint64_t interval_ns; /* mean between ticks; 0: as fast as it goes */
    uint64_t seed;        /* of the schedule; 0: draw one */
    uint64_t for_ns;      /* stop after this long; 0: until the end */
    uint64_t max_ticks;   /* stop after so many; 0: no limit (dump: 1) */
    bool follow_children;

    const char *path; /* of the recording; NULL: in memory */
    /* As whom recording and program are made; NULL: as ourselves. The sampling is ours. */
    const struct cairn_owner *owner;
    bool force, sync;
    uint64_t flush_ns;     /* 0: 1 s */
    uint64_t rotate_bytes; /* 0: never */

    /* Called once, when all samples are in the recording: adds what others have counted, as
     * another writer. 1 when it added anything that can be reported, 0, or a negative code. */
    int (*add)(void *ctx, struct cairn_sink *sink, struct cairn_err *err);
    void *add_ctx;

    /* Called for each process that began a program of Python's, which is no copy of its maker's,
     * when its Python is first read; `start_ns` since boot. Not of those in another pid namespace.
     */
    void (*met)(void *ctx, pid_t pid, uint64_t start_ns);
    void *met_ctx;

    void (*began)(void *ctx); /* called once, when the first sample of a Python has been taken */
    void *began_ctx;
};

struct cairn_session_result {
    struct cairn_launch launch; /* `exited` and `status` of the program; pid 0 when attached */
    bool interrupted; /* ended by the user: Ctrl-C (twice, when the program lives on after one) */
    bool saw_python;  /* at least one interpreter was read, and it can be reported */
    uint64_t wall_ns; /* from the start of the program, or from attaching, to the end */
    uint64_t recorded_ns; /* of that the recording holds at least so much: all, unless it failed */
    uint64_t ticks, samples;
    int fd; /* of the recording, for cairn_model_load_fd(); -1 when none */
};

/* 0, or a negative code with `err` filled; `ret_result` holds what is known in both cases and is
 * released by the caller. A failed recording (disk full) does not end the program: it is waited
 * for. -CAIRN_ENOTFOUND, -CAIRN_ENOTEXEC: it could not be started, and no recording is left.
 * -CAIRN_EUNSUPPORTED: the only Pythons seen cannot be read (after the program ended; attached: at
 * once); -CAIRN_ENOTPYTHON, -CAIRN_EPERM, -CAIRN_EGONE: nothing to attach to, and no recording is
 * left. */
int cairn_session(const struct cairn_session_options *options,
                  struct cairn_session_result *ret_result, struct cairn_err *err);

/* When the program goes on after the recording ended (for_ns): waits for it, passing signals on.
 * True when a second Ctrl-C cut that short. */
bool cairn_session_wait(struct cairn_session_result *result);

/* Gives the signals back and closes the descriptor. */
void cairn_session_release(struct cairn_session_result *result);

#endif
