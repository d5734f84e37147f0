/* pytasksets.h: the asyncio tasks of CPython 3.8 to 3.13.
 *
 * `_asyncio` keeps all of an interpreter in a set of weak references (`_all_tasks`, from 3.12
 * on `_scheduled_tasks`) and those that run in a dictionary by their loop (`_current_tasks`). Where
 * a task of `_asyncio` holds its coroutine is no part of any header: it is searched for in a task
 * that is met, and believed where it is the only place of a coroutine that has a name behind it.
 * Owner: whoever holds the struct. Threads: one at a time.
 */
#ifndef CAIRN_PYTASKSETS_H
#define CAIRN_PYTASKSETS_H

#include "pychains.h"
#include "pydict.h"
#include "vec.h"

#define CAIRN_PYTASKSETS_TASK_BYTES 512

struct cairn_pytaskset { /* of one interpreter; addresses */
    uint64_t interp, set, current;
};

struct cairn_pytaskloop { /* a loop, and the thread that runs it */
    uint64_t loop, tstate;
};

struct cairn_pytasksets {
    CAIRN_VEC(struct cairn_pytaskset) sets;
    CAIRN_VEC(struct cairn_pytaskloop) loops;
    CAIRN_VEC(uint64_t) running; /* tasks, of this round */
    struct cairn_pydict dict, more;
    uint64_t look_at_ns; /* when loops are looked for again */
    size_t task_size;    /* 0: the rest is not known yet */
    uint32_t task_coro;  /* its name stands behind it */
};

#define CAIRN_PYTASK_LOOP 16 /* behind the head of a task, as of every future, stands its loop */

/* A task, as it stood in the pages of this round. */
struct cairn_pytaskset_task {
    uint64_t address, reference; /* the weak reference that led to it; 0: it runs */
    uint64_t coro, name, loop;
    const struct cairn_pythread *thread; /* NULL: none runs its loop */
    bool runs;
};

void cairn_pytasksets_release(struct cairn_pytasksets *sets);

/* Finds what belongs to interpreters that have none yet. 0: there are some. -CAIRN_ENOTFOUND: none
 * (yet); or another negative code. */
int cairn_pytasksets_seek(struct cairn_pyread *read, struct cairn_pytasksets *sets);

/* Calls back with every task, those that run first. What take() returns, when it is not 0, ends the
 * round. 0, or a negative code. */
int cairn_pytasksets_each(struct cairn_pyread *read, struct cairn_pytasksets *sets,
                          struct cairn_pychains *chains, struct cairn_pypages *pages,
                          int (*take)(void *ctx, const struct cairn_pytaskset_task *task),
                          void *ctx);

/* What lies where the task lay, or where its reference leads by now: sets `address`, `coro` and
 * `name`. 0; -CAIRN_ENOTFOUND: no task of its loop; or a negative code of the view. */
int cairn_pytasksets_renew(struct cairn_pyread *read, struct cairn_pytasksets *sets,
                           struct cairn_pychains *chains, const struct cairn_pyview *view,
                           struct cairn_pytaskset_task *task);

/* Whether the task was there with its coroutine. 0, or a negative code of the view. */
int cairn_pytasksets_is_there(const struct cairn_pyread *read, const struct cairn_pytasksets *sets,
                              const struct cairn_pyview *view,
                              const struct cairn_pytaskset_task *task, bool *ret_there);

#endif
