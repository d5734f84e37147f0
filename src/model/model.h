/* model.h: what a recording (a file, a set, several files) says, joined by content.
 *
 * The model keeps dictionaries; rows stay in the files and are streamed (samples.h). Ids here are
 * dense and the model's own: functions, frames, nodes, processes and threads of different writers
 * that mean the same have become one. Order does not depend on which file came first, except for
 * the numbers themselves.
 * Holds always: a node's parent is smaller than the node; node 0 is the empty stack, which no
 * sample stands on (a thread without Python code is on the label "[not python]"); every index in
 * a struct is inside its table. What referred to lost entries is the function "[unknown]".
 * Owner: everything lives in the model's arena until cairn_model_free(); pointers are borrowed
 * and const. Threads: after loading, any number may read.
 * It is long because all that a recording holds is asked for here.
 */
#ifndef CAIRN_MODEL_H
#define CAIRN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counted.h"
#include "cursor.h"
#include "err.h"
#include "progress.h"

enum cairn_function_kind {
    CAIRN_FUNCTION_PYTHON,
    CAIRN_FUNCTION_NATIVE,
    CAIRN_FUNCTION_LABEL, /* [torn] [truncated] [unknown] [not python] [cairn], marks */
};

enum cairn_origin { /* whose code it is, judged by path */
                    CAIRN_ORIGIN_USER,
                    CAIRN_ORIGIN_LIBRARY, /* site-packages, dist-packages */
                    CAIRN_ORIGIN_STDLIB,
                    CAIRN_ORIGIN_IMPORT, /* importlib's machinery */
                    CAIRN_ORIGIN_NONE,   /* native, labels */
};

struct cairn_function {
    uint8_t kind, origin;
    bool plain_name;                  /* no qualname was recorded: `qualname` is the plain name */
    struct cairn_span name, qualname; /* as recorded; qualname never empty */
    struct cairn_span file;           /* Python: co_filename; native: "" */
    struct cairn_span module;         /* Python: dotted guess from the file; native: file name */
    uint32_t first_line;
};

struct cairn_frame { /* a location, resolved */
    uint32_t function;
    uint32_t line; /* 0: not known */
    int64_t offset;
};

struct cairn_node { /* a stack: `frame` called by the leaf of `parent` */
    uint32_t parent, frame;
};

struct cairn_process {
    struct cairn_span boot_id, name, command; /* command: the command line */
    uint64_t pid, start_ns;
    uint32_t parent; /* process index, UINT32_MAX when none */
    uint8_t birth;   /* enum cairn_birth */
    bool before;     /* its parent made it before that began its program, a shell until then */
    uint8_t entries; /* most CAIRN_MARK_ENTRIES of a stack it was met on */
};

struct cairn_thread {
    uint32_t process;
    uint64_t tid, start_ns;
    struct cairn_span name; /* Python's name where known, else the kernel's */
    bool python;            /* was met in Python code: not a shell, nor a library's worker */
};

/* asyncio tasks of one name, or of one coroutine where they were given none, in one thread,
 * standing in one place: the time of all of them together. */
struct cairn_task_sum {
    struct cairn_span name, coroutine; /* name: may be empty */
    uint32_t thread;                   /* UINT32_MAX: not known, as before its loop runs */
    uint32_t process;                  /* likewise, but for such a loop's */
    uint32_t node; /* of the whole model, also of a view of it: its coroutine, what that awaits */
    uint32_t leaf, own; /* frames: the innermost of what it awaits, and of the program's own code */
    uint8_t state;      /* enum cairn_task_state of trace/format.h */
    uint64_t task_ns;
};

/* Calls of a thread on one stack, counted one by one: the leaf was called by its parent. */
struct cairn_call_sum {
    uint32_t thread, node; /* of the whole model, also of a view of it */
    uint64_t calls;        /* of a generator: bodies that began */
    uint64_t resumes;      /* how often one went on after a yield or an await */
    uint64_t self_ns, total_ns, suspended_ns;
    uint8_t let_go; /* what was left out for costing too much, and counted until then: */
};
#define CAIRN_CALLS_LET_GO 1
#define CAIRN_NATIVES_LET_GO 2 /* what it called of C */
#define CAIRN_TIMES_LET_GO 4   /* its times, and what it called of C: its calls were counted on */
#define CAIRN_CALLS_UNTIMED 8  /* these calls are of that kind: they have no times */

struct cairn_quality { /* sums over writers and files */
    uint64_t ticks, samples, torn, truncated, unreadable, missed, reread;
    uint64_t nameless;             /* stacks with code that was over before its name was read */
    uint64_t unseen, records_lost; /* processes over before they were looked at; by the kernel */
    uint64_t untold_cpu_ns;        /* of processes that are over, in no row */
    uint64_t own_cpu_ns, bytes;
    uint64_t counting_bytes, tracing_bytes; /* of bytes: chunks with counts; with timelines */
    uint64_t damaged_chunks, jumped_bytes, jumped_chunks, skipped_chunks, skipped_sections;
    uint64_t unknown_refs; /* rows or entries that referred into a hole */
    uint64_t plain_names;
    uint64_t missing_files; /* of sets */
    bool ended;             /* the last file of every recording was closed on purpose */
};

struct cairn_model; /* opaque */

/* Loads `count` recordings (each a file or the first of a set). NULL err allowed. */
int cairn_model_load(const char *const *paths, size_t count, struct cairn_model **ret_model,
                     struct cairn_err *err);
/* The same, and tells `progress` how far it is: loading is the first half, the first stream of
 * samples, or the tally made of it, the second. It must live as long as the model, which only one
 * thread may read then. NULL progress allowed. */
int cairn_model_load_told(const char *const *paths, size_t count, struct cairn_progress *progress,
                          struct cairn_model **ret_model, struct cairn_err *err);
/* The same from a descriptor (memfd of a live view, a dump). Duplicates it. */
int cairn_model_load_fd(int fd, struct cairn_model **ret_model, struct cairn_err *err);
void cairn_model_free(struct cairn_model *model);

size_t cairn_model_functions(const struct cairn_model *model, const struct cairn_function **ret);
size_t cairn_model_frames(const struct cairn_model *model, const struct cairn_frame **ret);
size_t cairn_model_nodes(const struct cairn_model *model, const struct cairn_node **ret);
size_t cairn_model_processes(const struct cairn_model *model, const struct cairn_process **ret);
size_t cairn_model_threads(const struct cairn_model *model, const struct cairn_thread **ret);

/* Of the whole recording; in no order, and the same may come again. */
size_t cairn_model_tasks(const struct cairn_model *model, const struct cairn_task_sum **ret);

/* Of the whole recording; in no order, and the same thread and stack may come again. */
size_t cairn_model_calls(const struct cairn_model *model, const struct cairn_call_sum **ret);
/* What a view was made of; of what is no view: itself. */
const struct cairn_model *cairn_model_whole(const struct cairn_model *model);

/* Marks of each node, one byte a node: its stack, or an outer part of it, ends in such a label. */
#define CAIRN_MARK_TORN 1
#define CAIRN_MARK_TRUNCATED 2
#define CAIRN_MARK_ENTRIES 0x0c /* how many of its functions are entries (entry.h), at most 3 */
#define CAIRN_MARK_ENTRIES_ONE 0x04
const uint8_t *cairn_model_marks(const struct cairn_model *model);

/* Whether it is the label `label`: "[torn]", "[not python]". */
bool cairn_function_is_label(const struct cairn_function *function, const char *label);

/* A view with fewer frames: a frame whose `keep_frames` entry is false (one for each of
 * cairn_model_frames()) leaves every stack that holds one to keep; of the others the outermost
 * frame is left. All else is the model's, which must outlive the view. cairn_model_free() the
 * view, free() the map from the model's nodes to the view's. 0 or -CAIRN_ENOMEM. */
int cairn_model_fold(const struct cairn_model *model, const bool *keep_frames,
                     struct cairn_model **ret_view, uint32_t **ret_map);

const struct cairn_quality *cairn_model_quality(const struct cairn_model *model);

/* A text that a row names, and how many there are: ids are below that, 0 is the empty one. */
struct cairn_span cairn_model_text(const struct cairn_model *model, uint32_t text);
size_t cairn_model_texts(const struct cairn_model *model);

/* Whether any sample may tell what lay over its state: else all three overlays are unknown. */
bool cairn_model_has_overlays(const struct cairn_model *model);
/* Environment and settings: the value of a key ("sampler.rate", "host.cpu"), {NULL, 0} when it
 * is not there; or all of them by position. */
struct cairn_span cairn_model_env(const struct cairn_model *model, const char *key);
size_t cairn_model_env_count(const struct cairn_model *model);
void cairn_model_env_at(const struct cairn_model *model, size_t index, struct cairn_span *ret_key,
                        struct cairn_span *ret_value);
/* A writer's counter, summed over writers; 0 when it is not there. */
uint64_t cairn_model_counter(const struct cairn_model *model, const char *name);

/* How many recordings it is made of: what one run, or one cairn attach, wrote. */
size_t cairn_model_recordings(const struct cairn_model *model);

/* Real time (ns since 1970) of a moment of the model; 0: no clock anchor tells. */
uint64_t cairn_model_real_ns(const struct cairn_model *model, uint64_t time_ns);
/* First and last moment any row speaks of (MONOTONIC ns of the first file's boot; moved on when
 * another file's times would lie before that began). 0 and 0: nothing was recorded. */
void cairn_model_span(const struct cairn_model *model, uint64_t *ret_first_ns,
                      uint64_t *ret_last_ns);

#endif
