/* pytasks_parts.h: what the files that read tasks (pytasks.c, pytasks_alone.c) have in common.
 *
 * Nobody else includes it. Threads: one at a time.
 */
#ifndef CAIRN_PYTASKS_PARTS_H
#define CAIRN_PYTASKS_PARTS_H

#include "pychains.h"
#include "pyread_parts.h"
#include "pystr.h"
#include "pytaskplaces.h"
#include "pytasks.h"
#include "pytasksets.h"

#define CAIRN_PYTASKS_ALONE_MAX 128 /* are followed by themselves in a round, each try counted */

struct cairn_pyfound {
    uint64_t address, name, coro;
    uint64_t reference; /* until 3.13: as in struct cairn_pytaskset_task */
    uint64_t loop;
    uint32_t first; /* link of its chain */
    bool named;
    bool holds;        /* it was still linked, with the same coroutine, when read again */
    bool settled;      /* … and no more is to be found out */
    bool moved;        /* it went on, or was over, between two readings in one call */
    bool alone;        /* it was found, or found to be over, when looked at by itself, … */
    size_t name_at;    /* … and its name lies there in own_names … */
    size_t name_bytes; /* … and is so long */
};

struct cairn_pynamed {
    CAIRN_VEC(struct cairn_pystr) strs;
    struct cairn_buf texts;
};

#define CAIRN_PYKNOWN_PAGES 16

/* Where tasks come and go: when one is over, another mostly has its memory. */
struct cairn_pyknown {
    uint64_t address, reference, loop;
    uint64_t tstate; /* whose loop runs it */
    uint64_t coro;   /* that was there in the last round; 0: none that could be read */
    uint64_t round;  /* the last in which another came there */
    uint64_t pages[CAIRN_PYKNOWN_PAGES]; /* that were looked at then … */
    unsigned page_count;                 /* … so many */
};

/* Notes which coroutine was there in a round; 0: none. */
static inline void cairn_pyknown_met(struct cairn_pyknown *known, uint64_t coro, uint64_t round)
{
    if (coro && coro != known->coro)
        known->round = round;
    known->coro = coro;
}

struct cairn_pytasks {
    struct cairn_pytaskplaces places;  /* 3.14 on */
    struct cairn_pytasksets sets;      /* before */
    struct cairn_pypages pages, alone; /* of all tasks, and of one */
    struct cairn_pychains chains;
    CAIRN_VEC(struct cairn_pytask) items;
    CAIRN_VEC(struct cairn_pyfound) found; /* beside items */
    CAIRN_VEC(struct cairn_pyframe) frames;
    CAIRN_VEC(struct cairn_pyknown) known;
    struct cairn_map known_index; /* a set: address, and reference, of each */
    struct cairn_pynamed names, names_again;
    struct cairn_buf own_names; /* of those that were looked at alone */
    uint64_t left_out;
    uint64_t round;
    unsigned alone_count; /* tries to follow a task alone in this round */
};

/* Until 3.13 tasks are in a set of Python's. */
static inline bool cairn_pytasks_keeps_sets(const struct cairn_pyread *read)
{
    return read->runtime.table->minor < 14;
}

/* "Task-12": what asyncio calls a task that was given no name. */
bool cairn_pytasks_is_number(struct cairn_span name);

/* What lies at a task's address, in the view: its coroutine and its name; until 3.13 where its
 * reference leads. `same`: it must have the coroutine that it had. 0, -CAIRN_ENOTFOUND: no task,
 * or one that is over; or a negative code of the view. */
int cairn_pytasks_renew(struct cairn_pyread *read, const struct cairn_pyview *view, bool same,
                        struct cairn_pyfound *found);

/* Whether a task and its chain were still there when the pages were read again: sets `holds` and
 * `settled`. 0, or a code that ends the round. */
int cairn_pytasks_judge(struct cairn_pyread *read, struct cairn_pypages *pages,
                        struct cairn_pyfound *found, uint32_t first);

/* Follows the task that is at its address by now, and reads what it is called; one that went on
 * whenever it was looked at stays as it was found before. `known`: where it was the last time,
 * which is brought up to date; or NULL. As above. */
int cairn_pytasks_follow_alone(struct cairn_pyread *read, struct cairn_pyfound *found, bool same,
                               struct cairn_pyknown *known);

#endif
