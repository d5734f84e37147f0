/* exact_parts.h: what exact.c records, exactsums.c adds up and callspool.c reads from a spool. For
 * these alone. */
#ifndef CAIRN_EXACT_PARTS_H
#define CAIRN_EXACT_PARTS_H

#include "exact.h"
#include "timeline.h"

/* Calls that are counted alone have a node of their own beside that of those that are timed. No
 * address of a program's has this bit. */
#define CAIRN_EXACT_COUNTED ((uintptr_t)1 << 63)

static inline const void *cairn_exact_plain(const void *key)
{
    return (const void *)((uintptr_t)key & ~CAIRN_EXACT_COUNTED);
}

struct cairn_exact_node {                  /* one cache line */
    const void *key;                       /* with CAIRN_EXACT_COUNTED: of calls without times */
    struct cairn_exact_node *parent;       /* NULL: a root; itself: a fold */
    struct cairn_exact_node *recent;       /* the child that was entered last */
    struct cairn_exact_node *first, *next; /* children; the next child of the parent */
    int64_t calls, total, self;            /* times in the clock's unit; of calls that are over */
};

/* All calls of one callee by one caller that have no node in the tree. */
struct cairn_exact_fold {
    struct cairn_exact_node node;     /* parent: itself; next: the next fold */
    const void *caller;               /* NULL: entered on an empty stack */
    int64_t outer_calls, outer_total; /* with no other call of it on the stack */
    int64_t edge_calls, edge_total;   /* with no other call of it by this caller there */
};

struct cairn_exact_name {
    uint32_t first_line;
    uint32_t name_bytes, qualname_bytes, file_bytes;
    char text[]; /* the three, one behind the other */
};

/* What only a node of a generator has. */
struct cairn_exact_extra {
    const struct cairn_exact_node *node;
    int64_t resumes, suspended;
    struct cairn_exact_extra *next;
};

struct cairn_exact_sleeper {         /* a frame that yielded at least once */
    struct cairn_exact_extra *extra; /* of the node that it was met in last */
    int64_t since;
};

struct cairn_exact_parked { /* an entry that ended without being left; its frame may come back */
    const void *key;
    uint64_t turn; /* those that ended at once have the same */
};

struct cairn_exact_key {
    const void *key;
    void *learnt;
    const struct cairn_exact_name *name; /* NULL without a spool */
    struct cairn_exact_key *next;
    /* Of the meter: of its own calls, of what it calls of C, of calls that are counted alone. */
    struct cairn_exact_key *touched; /* the next that was looked at */
    uint32_t looks[3], let_go;       /* let_go: CAIRN_LET_GO_* */
    int64_t spent[2];
};

struct cairn_exact_entry {
    struct cairn_exact_node *node;
    uintptr_t frame;
    int64_t start, inside;     /* inside: time in what it called */
    struct cairn_event *event; /* of the timeline; NULL: none */
};

/* Never unmapped, so that a thread may look at the record that it had. */
struct cairn_exact_thread {
    uint64_t owner;    /* atomic: the profile's serial, shifted, and whether its thread lives */
    const void *place; /* of the thread's own storage: tells it apart while it lives */
    bool busy;
    unsigned forks; /* how many forks lay behind the process when it was last used */
    struct cairn_exact_entry *stack;
    size_t depth, cap;
    size_t stale; /* of what stands no higher, events may come no more (meter.h) */
    struct cairn_exact_node roots[2]; /* where callers are told apart, where not */
    struct cairn_pairs children, folds, keys, extras;
    struct cairn_pairs parked; /* by frame, odd ones too */
    uint64_t turns;            /* how often entries ended without being left */
    struct cairn_exact_fold *first_fold, *recent_pair;
    struct cairn_exact_key *first_key;
    struct cairn_exact_extra *first_extra;
    uint64_t tid, start_ns;                /* with a spool, as the kernel tells them */
    int64_t last;                          /* when something was entered or left last */
    struct cairn_event *event, *event_end; /* of the timeline: the next one, and the page's end */
    struct cairn_pool pool;
    struct cairn_exact_tally tally;
    struct cairn_exact_thread *next;
};

/* Puts into the spool what a callee is called; NULL: no memory, or the names are too long. */
const struct cairn_exact_name *cairn_exact_name_make(struct cairn_exact *exact,
                                                     struct cairn_exact_thread *thread,
                                                     void *learnt);
/* The same of a name that lies in another file. */
const struct cairn_exact_name *cairn_exact_name_copy(struct cairn_exact *exact,
                                                     struct cairn_exact_thread *thread,
                                                     const struct cairn_exact_name *name);

/* The record of this thread, and for which profile. All 0 in a thread that is yet unborn. */
struct cairn_exact_here {
    uint64_t serial;
    struct cairn_exact_thread *thread;
    bool dying;
    bool spooled; /* the record lies in a file */
};

extern __thread struct cairn_exact_here cairn_exact_here __attribute__((tls_model("initial-exec")));
extern unsigned cairn_exact_forks; /* so many lie behind this process */

/* Gives this thread a record; NULL when there is none to be had. */
__attribute__((noinline)) struct cairn_exact_thread *cairn_exact_attach(struct cairn_exact *exact);

/* Records from `first` to `last`, linked, are nobody's any more. */
void cairn_exact_give_spares(struct cairn_exact_thread *first, struct cairn_exact_thread *last);

/* Begins to notice ends of threads, and forks; the first time alone. */
void cairn_exact_watch(void);

/* What the thread that forked stood on, outermost first; in a child, until it forks itself. */
struct cairn_exact_step {
    const void *key;
    uintptr_t frame;
    void *learnt;
    const struct cairn_exact_name *name;
    bool apart; /* at a root, whatever it stands above */
};
const struct cairn_exact_step *cairn_exact_path(size_t *ret_depth);
void cairn_exact_inherit(struct cairn_exact *exact, struct cairn_exact_thread *thread);

static inline bool cairn_exact_is_fold(const struct cairn_exact_node *node)
{
    return node->parent == node;
}

/* A call is over that was `spent` long without what it called, and is the one to be looked at. */
void cairn_meter_sample(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                        const struct cairn_exact_node *node, bool native, int64_t spent);

/* A call was counted alone. */
void cairn_meter_count(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                       const void *key);

/* Whether a record was made in this process, not in one that it was forked from. */
bool cairn_exact_is_own(const struct cairn_exact_thread *thread);

#endif
