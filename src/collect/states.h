/* states.h: the thread states of a thread: one, or in sub-interpreters one for each that it is in.
 *
 * A thread that runs code in another interpreter leaves its stack in the one that it came from, and
 * starts another; the reader says which went into which. All of them together are its stack.
 * Owner: a worker owns its states; `user` of a thread state that is joined points to it.
 * Threads: one at a time.
 */
#ifndef CAIRN_STATES_H
#define CAIRN_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pyread.h"

struct cairn_worker;

struct cairn_state_stack { /* a stack in the recording, and the frame on top of it */
    const struct cairn_pycode *code;
    int32_t offset;
    uint32_t id;
};

struct cairn_state {
    struct cairn_pythread *py;
    struct cairn_worker *worker;
    struct cairn_state *next;         /* of the same worker */
    struct cairn_state_stack *stacks; /* of the outermost n + 1 frames, as last seen … */
    size_t stacks_cap;
    uint32_t stacks_root, stacks_known; /* … on this one, and of how many that is known */
    bool shown;                         /* its frames are in the stack that is being made */
};

/* Joins a thread state that has no worker. 0 or -CAIRN_ENOMEM. */
int cairn_states_add(struct cairn_worker *worker, struct cairn_pythread *thread);

/* The thread state is gone, or proved to be another thread's. */
void cairn_states_drop(struct cairn_pythread *thread);

/* Forgets all of a worker. */
void cairn_states_release(struct cairn_worker *worker);

/* Makes the innermost one with a stack `worker->py`, after a read. */
void cairn_states_choose(struct cairn_worker *worker);

/* The outermost one of those that lead to `worker->py`, which is not NULL; from there on `inner`.
 */
struct cairn_pythread *cairn_states_outermost(const struct cairn_worker *worker);

/* NULL when it has none; of NULL too. */
static inline struct cairn_worker *cairn_states_worker(const struct cairn_pythread *thread)
{
    return thread && thread->user ? ((struct cairn_state *)thread->user)->worker : NULL;
}

#endif
