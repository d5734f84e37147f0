/* exact_parts.h: what exact.c records, exactsums.c adds up and callspool.c reads from a spool. For
 * these alone. */
#ifndef CAIRN_EXACT_PARTS_H
#define CAIRN_EXACT_PARTS_H

#include "exact.h"

struct cairn_exact_node { /* one cache line */
    const void *key;
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

struct cairn_exact_sleeper { /* a frame that yielded at least once */
    struct cairn_exact_extra *extra; /* of the node that it was met in last */
    int64_t since;
};

struct cairn_exact_key {
    const void *key;
    void *learnt;
    const struct cairn_exact_name *name; /* NULL without a spool */
    struct cairn_exact_key *next;
};

struct cairn_exact_entry {
    struct cairn_exact_node *node;
    uintptr_t frame;
    int64_t start, inside; /* inside: time in what it called */
};

/* Never unmapped, so that a thread may look at the record that it had. */
struct cairn_exact_thread {
    uint64_t owner;    /* atomic: the profile's serial, shifted, and whether its thread lives */
    const void *place; /* of the thread's own storage: tells it apart while it lives */
    bool busy;
    unsigned forks; /* how many forks lay behind the process when it was last used */
    struct cairn_exact_entry *stack;
    size_t depth, cap;
    struct cairn_exact_node roots[2]; /* where callers are told apart, where not */
    struct cairn_pairs children, folds, keys, extras;
    struct cairn_exact_fold *first_fold;
    struct cairn_exact_key *first_key;
    struct cairn_exact_extra *first_extra;
    uint64_t tid, start_ns; /* with a spool, as the kernel tells them */
    int64_t last;           /* when something was entered or left last */
    struct cairn_pool pool;
    struct cairn_exact_tally tally;
    struct cairn_exact_thread *next;
};

/* Puts into the spool what a callee is called; NULL: no memory, or the names are too long. */
const struct cairn_exact_name *cairn_exact_name_make(struct cairn_exact *exact,
                                                     struct cairn_exact_thread *thread,
                                                     void *learnt);

static inline bool cairn_exact_is_fold(const struct cairn_exact_node *node)
{
    return node->parent == node;
}

/* Whether a record was made in this process, not in one that it was forked from. */
bool cairn_exact_is_own(const struct cairn_exact_thread *thread);

#endif
