/* spool.h: a file that an engine keeps its tree in, so that whoever reads it has all that was
 * counted however the process ends.
 *
 * One file a process, mapped and shared; pointers in it are addresses of that process, which the
 * head tells the base of. It grows by blocks that the file system has promised (posix_fallocate),
 * so that a full disk is a refusal and never a signal. No descriptor is kept.
 * Threads: under the engine's lock. Owner: the mapping lasts as long as the process.
 */
#ifndef CAIRN_SPOOL_H
#define CAIRN_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAIRN_SPOOL_MAGIC 0x31304c4f4f505343ull /* "CSPOOL01" */
#define CAIRN_SPOOL_REGION_BYTES ((size_t)1 << 30)
#define CAIRN_SPOOL_PATH_BYTES 512
#define CAIRN_SPOOL_SUFFIX_BYTES 128
#define CAIRN_SPOOL_WANTED "wanted" /* the file in the folder that says what is to be counted */
#define CAIRN_SPOOL_TEXT_USED 1     /* events of calls came by jumps in the interpreter's text */
#define CAIRN_SPOOL_TEXT_LEFT 2     /* they were to, and did not, or not always */
#define CAIRN_SPOOL_WITHOUT                                                                        \
    "without" /* an empty one: a Python with modules of the suffix behind                          \
                 that word (`.cpython-311-x86_64-linux-gnu.so`) had none */

#define CAIRN_SPOOL_MET                                                                            \
    "met" /* of a process ("met.calls.PID", "met.lines.PID"): a uint64_t, whose bits say of which  \
             words behind "calls in", or "in", code was met */

struct cairn_spool_kind {     /* of an engine */
    const char *suffix;       /* of its files' names */
    uint32_t struct_bytes[2]; /* of what lies in them: another build has others */
};

extern const struct cairn_spool_kind cairn_spool_calls, cairn_spool_lines, cairn_spool_events,
    cairn_spool_regions;

struct cairn_spool_costs {        /* of counting, ns: all of it, and so much within what is timed */
    double call, call_inside;     /* of a call of Python code, and its end */
    double native, native_inside; /* of a call of C */
    double resume, resume_inside; /* of a generator's resume and yield */
    double event;                 /* of each of them, where a timeline is kept; within */
    double counted;               /* of a call whose time is not taken */
};

struct cairn_spool_meter { /* the books of counting (meter.h): ns */
    double share;          /* of what the program itself needs; 0: nobody keeps books */
    double cpu_ns, cost_ns, setup_ns;
    double slack_ns; /* so much more is spent until it is known what to let go */
    uint64_t let_go, untimed;
    uint64_t
        plain; /* 1: calls of Python have been counted without their times since, all of them */
    uint64_t stopped; /* 1: all counting ended */
};

struct cairn_spool_head {
    uint64_t magic;
    uint32_t struct_bytes[2];
    uint64_t base; /* where the writer has the file mapped */
    uint64_t used_bytes;
    uint64_t pid, start_ns;         /* as the kernel tells them: since boot */
    void *root;                     /* what the engine begins with */
    uint64_t lost;                  /* events of no thread in particular */
    uint64_t ended;                 /* 1: stopped on purpose */
    uint64_t knows_calls;           /* 1: of lines: what they call is told apart */
    struct cairn_spool_costs costs; /* all 0 when they were not measured; of lines `event`, a
                                       line, and `call`, a frame in which lines begin */
    uint64_t frames;                /* of lines: that began */
    uint64_t gone;                  /* of a timeline: calls that made room for later ones */
    struct cairn_spool_meter meter; /* of calls */
    uint64_t forked;    /* 1: of a child made by fork; what that becomes by exec is another's */
    uint64_t text;      /* CAIRN_SPOOL_TEXT_*; 0: nobody asked for it */
    char text_why[128]; /* why it did not */
    uint64_t displaced; /* 1: until 3.11, a function of the program's took the place of ours */
};

struct cairn_spool {
    const struct cairn_spool_kind *kind;
    char folder[CAIRN_SPOOL_PATH_BYTES - 64], path[CAIRN_SPOOL_PATH_BYTES];
    struct cairn_spool_head *head;   /* NULL: there is no file */
    struct cairn_spool_head *parent; /* after a fork: the parent's, to be let go */
    int refused;                     /* why it did not grow last, an errno; 0: never */
    bool inherited;                  /* this is the file of a child made by fork */
};

/* Makes a file in `folder`. 0, -CAIRN_ELIMIT for a name that is too long, -CAIRN_EIO. errno stays
 * as it was. */
int cairn_spool_open(struct cairn_spool *spool, const struct cairn_spool_kind *kind,
                     const char *folder);

/* The same in another folder, mapped where the file of `spool` is, which is let go: whoever still
 * writes there writes into this one. On failure all stays as it was. */
int cairn_spool_reopen(struct cairn_spool *spool, const char *folder);

/* Makes a file of another kind that is named as the one of `first`, which is open: who reads the
 * one finds the other. 0 or -CAIRN_EIO. errno stays as it was. */
int cairn_spool_beside(struct cairn_spool *spool, const struct cairn_spool_kind *kind,
                       const struct cairn_spool *first);

/* The name of a file of `kind` for that of another kind, in `path`; false: there is none. */
bool cairn_spool_name(const char *first, const struct cairn_spool_kind *first_kind,
                      const struct cairn_spool_kind *kind, char path[CAIRN_SPOOL_PATH_BYTES]);

/* In a child made by fork: makes a file of its own; the parent's stays mapped, to be read, until it
 * is let go. As above. */
int cairn_spool_again(struct cairn_spool *spool);
void cairn_spool_let_go(struct cairn_spool *spool);

/* For a budget: `context` is the spool. Blocks begin on pages. */
void *cairn_spool_grow(void *context, size_t size_bytes);
void cairn_spool_shrink(void *context, void *block, size_t size_bytes);

/* When a thread of this process began, ns since boot, as the kernel tells it: `path` is
 * "/proc/self/stat", "/proc/thread-self/stat" or another process'. 0: it does not, or it is over.
 */
uint64_t cairn_spool_start_ns(const char *path);

#endif
