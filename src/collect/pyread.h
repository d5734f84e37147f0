/* pyread.h: one Python runtime in one process, and the stacks of all its threads, from outside.
 *
 * The runtime is found by its structures (.PyRuntime / _PyRuntime in whatever file is mapped), its
 * layout comes from _Py_DebugOffsets (3.13 on) or a table (3.8 to 3.12) and is verified on the
 * spot. A tick makes one vectored read for all wanted threads; what it cannot vouch for it says.
 * Nothing is ever written into the target, and it is never stopped.
 * Owner: a reader owns its threads, codes and frames; what it hands out is borrowed and const
 * until the next tick (codes: for the life of the reader). Threads: one per reader.
 */
#ifndef CAIRN_PYREAD_H
#define CAIRN_PYREAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "cursor.h"
#include "err.h"
#include "remote.h"

#define CAIRN_PY_DEPTH_MAX 16384 /* deeper stacks are cut at the root side: TRUNCATED */

/* A code object, cached by address and fingerprint: never freed while the reader lives, a code
 * object that takes over the address of a dead one is another struct. */
struct cairn_pycode {
    uint64_t address;
    uint32_t number;                        /* dense, from 0, in order of arrival */
    struct cairn_span name, qualname, file; /* UTF-8; qualname {NULL, 0} until 3.10 */
    uint32_t first_line;
    uint8_t linetable_kind; /* enum cairn_linetable_kind of trace/format.h */
    struct cairn_span linetable;
    uint32_t user; /* the caller's; 0 at first */
};

struct cairn_pyframe {
    uint64_t address;          /* of the interpreter frame in the target */
    struct cairn_pycode *code; /* NULL: [unknown], the code object could not be read */
    int32_t offset;            /* of the instruction, bytes from the first; -1: before it */
};

enum cairn_pystack_status {
    CAIRN_PYSTACK_NONE,       /* not asked for at this tick */
    CAIRN_PYSTACK_OK,         /* every check held */
    CAIRN_PYSTACK_EMPTY,      /* the thread runs no Python code now */
    CAIRN_PYSTACK_TORN,       /* frames hold the longest verified outer part (may be none) */
    CAIRN_PYSTACK_TRUNCATED,  /* deeper than CAIRN_PY_DEPTH_MAX: frames hold the inner part */
    CAIRN_PYSTACK_UNREADABLE, /* memory of it could not be read; frames as for TORN */
};

struct cairn_pythread {
    uint64_t tstate;     /* address in the target */
    uint64_t interp;     /* address of its interpreter */
    uint64_t pthread_id; /* as threading.get_ident() says */
    uint64_t native_id;  /* kernel thread id as the target's own pid namespace counts; 0 unknown */
    bool wanted;         /* the caller's: read this stack at the next tick. New threads: true */
    bool still;          /* the caller's: it does not run, so what was read is of one moment */
    void *user;          /* the caller's; NULL at first */

    /* Results of the tick. */
    enum cairn_pystack_status status;
    bool unchanged; /* the same frames, codes and offsets as when last read */
    bool trimmed;   /* frames at the end had returned while the stack was read: left out */
    bool late;      /* read after the known threads were copied: it may be new since */
    bool unchecked; /* believed only because the thread was still: a check spoke against it */
    uint32_t depth; /* frames, outermost first */
    uint32_t kept;  /* so many outermost frames are the same as when last read */
    const struct cairn_pyframe *frames;

    /* States of the same thread in other interpreters that have a stack: it went from `outer` into
     * this one, and from this one into `inner`; NULL: from or into none. */
    struct cairn_pythread *outer, *inner;
    bool apart; /* whether `outer` still stood as it was read could not be told */
};

/* Whether the thread is in Python code of this state, as far as was read last. */
static inline bool cairn_pythread_has_stack(const struct cairn_pythread *thread)
{
    return thread->status == CAIRN_PYSTACK_NONE ? thread->depth > 0
                                                : thread->status != CAIRN_PYSTACK_EMPTY;
}

struct cairn_pyread_stats {
    uint64_t stacks, torn, truncated, unreadable, reread; /* stacks read, and of these … */
    uint64_t trimmed;                                     /* stacks of which frames were left out */
    uint64_t inferred;            /* links that were over when they were read, and still told */
    uint64_t nameless;            /* stacks with code that was gone before its name was read */
    uint64_t codes, code_reloads; /* code objects met; addresses that were taken over */
    uint64_t refused[16];         /* torn by which check, as in cairn_pyread_check_name() */
};

struct cairn_pyread; /* opaque */

struct cairn_pyfiles;
struct cairn_pysite;

/* What an error says that failed where the memory may be read, but the file of the Python is
 * deleted and only root may open it: its code is -CAIRN_EPERM. */
#define CAIRN_PYREAD_FILE "file of the Python"

/* Finds and verifies the runtime of `pid` (as this process' /proc counts). `remote` is copied.
 * `files`, `ret_site`: as for cairn_pyruntime_find(), only used here.
 * -CAIRN_ENOTPYTHON: no runtime is mapped (yet); -CAIRN_EUNSUPPORTED: its version, a debug or
 * free-threaded build, `err` names it; -CAIRN_EDAMAGED: what is there does not fit the layout
 * known, because it is of another build or because it is just being mapped; -CAIRN_EPERM;
 * -CAIRN_EGONE; -CAIRN_EUNREADABLE: the runtime is there and not initialised yet: try later. */
int cairn_pyread_open(pid_t pid, const struct cairn_remote *remote, struct cairn_pyfiles *files,
                      struct cairn_pysite *ret_site, struct cairn_pyread **ret_read,
                      struct cairn_err *err);

/* The same where a runtime was found that was not initialised: costs next to nothing while it still
 * is not. */
int cairn_pyread_open_site(pid_t pid, const struct cairn_remote *remote,
                           const struct cairn_pysite *site, struct cairn_pyread **ret_read,
                           struct cairn_err *err);

/* Where names lie in `of`, whose process is copied by the other's: they are looked for there first.
 * Before the first tick. 0 or -CAIRN_ENOMEM. */
int cairn_pyread_take_over(struct cairn_pyread *read, const struct cairn_pyread *of);

/* The same where the address of the runtime is known: for page sets. `hexversion` as for
 * cairn_pyruntime_check(). */
int cairn_pyread_open_at(const struct cairn_remote *remote, uint64_t runtime, uint32_t hexversion,
                         struct cairn_pyread **ret_read, struct cairn_err *err);
/* The same by a table of the caller's, which outlives the reader: for tests of tables that do not
 * fit. NULL: Cairn's own. */
struct cairn_pytable;
int cairn_pyread_open_table(const struct cairn_remote *remote, uint64_t runtime,
                            uint32_t hexversion, const struct cairn_pytable *table,
                            struct cairn_pyread **ret_read, struct cairn_err *err);
void cairn_pyread_free(struct cairn_pyread *read);

/* From here on the memory is read by way of this thread of the process: its first one is over, and
 * by that one's number there is none. False: it is already. */
bool cairn_pyread_by_way_of(struct cairn_pyread *read, pid_t tid);

/* Where the runtime lies in the target, and its PY_VERSION_HEX. */
uint64_t cairn_pyread_runtime(const struct cairn_pyread *read, uint32_t *ret_hexversion);

/* "3.12.1", and how the layout was got: "offsets", "table", or "table+probe"
 * (until 3.10: where the C library keeps a thread's number was searched for). Borrowed. */
const char *cairn_pyread_version(const struct cairn_pyread *read);
const char *cairn_pyread_layout(const struct cairn_pyread *read);

/* Finds new and dead threads and reads the stacks of the wanted ones. 0; -CAIRN_EGONE: the
 * process is gone or no longer runs this interpreter; other codes leave every wanted thread
 * UNREADABLE. Dead threads leave the list; the caller sees it by the pointers below. */
int cairn_pyread_tick(struct cairn_pyread *read, struct cairn_err *err);

/* When the known threads were copied at the last tick, MONOTONIC. */
uint64_t cairn_pyread_copied_ns(const struct cairn_pyread *read);

/* The threads now: `count` pointers, each valid until the thread dies. */
struct cairn_pythread *const *cairn_pyread_threads(const struct cairn_pyread *read,
                                                   size_t *ret_count);

/* Called with every thread that left, before it is freed (its `user` is the caller's). */
void cairn_pyread_on_death(struct cairn_pyread *read,
                           void (*died)(void *ctx, struct cairn_pythread *thread), void *ctx);

/* The process has no task of the number that the thread state bears: the thread is over since it
 * was read; or a program forked without telling Python, so it is the parent's; or, until 3.10,
 * another thread took over the state. If it is so at the next tick as well, or until 3.10 with the
 * next copy, it is looked for in the C library's descriptor of the thread, as it always is
 * until 3.10. `thread` is one of the reader's. 0; -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pyread_disown(struct cairn_pyread *read, struct cairn_pythread *thread);

/* threading's names: reads threading._active and calls back, as struct cairn_pynames says, for
 * each thread that is wanted (`wants` NULL: all); best effort. Number of names, or a negative code.
 */
int cairn_pyread_names(struct cairn_pyread *read, bool (*wants)(void *ctx, uint64_t pthread_id),
                       void (*named)(void *ctx, uint64_t pthread_id, uint64_t native_id,
                                     struct cairn_span name),
                       void *ctx);

/* Whether threading, where the names are, has not been imported; false where that cannot be told.
 */
bool cairn_pyread_lacks_threading(struct cairn_pyread *read);

/* What of enum cairn_overlay (trace/format.h) held for a thread at the last tick. */
uint8_t cairn_pyread_overlays(const struct cairn_pyread *read, const struct cairn_pythread *thread);

/* Whether an address lies in a GIL: who sleeps on that futex waits for it. */
bool cairn_pyread_in_gil(const struct cairn_pyread *read, uint64_t address);
/* Whether the GIL of each interpreter was seen where it should lie; else who waits for one may
 * sleep elsewhere. */
bool cairn_pyread_knows_gil(const struct cairn_pyread *read);

const struct cairn_pyread_stats *cairn_pyread_stats(const struct cairn_pyread *read);
const char *cairn_pyread_check_name(size_t check); /* NULL past the last */

#endif
