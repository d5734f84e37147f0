/* exact_parts.h: what exact.c records and exactsums.c adds up. For these two alone. */
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

struct cairn_exact_key {
    const void *key;
    void *learnt;
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
    struct cairn_pairs children, folds, keys;
    struct cairn_exact_fold *first_fold;
    struct cairn_exact_key *first_key;
    struct cairn_pool pool;
    struct cairn_exact_tally tally;
    struct cairn_exact_thread *next;
};

static inline bool cairn_exact_is_fold(const struct cairn_exact_node *node)
{
    return node->parent == node;
}

/* Whether a record was made in this process, not in one that it was forked from. */
bool cairn_exact_is_own(const struct cairn_exact_thread *thread);

#endif
