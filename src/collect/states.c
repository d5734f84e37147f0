#include "states.h"

#include <stdlib.h>

#include "alloc.h"
#include "err.h"
#include "subject.h"

int cairn_states_add(struct cairn_worker *worker, struct cairn_pythread *thread)
{
    struct cairn_state *state = cairn_calloc(1, sizeof(*state));

    if (!state)
        return -CAIRN_ENOMEM;
    state->py = thread;
    state->worker = worker;
    state->next = worker->states;
    worker->states = state;
    thread->user = state;
    if (!worker->py)
        worker->py = thread;
    worker->settled = false;
    return 0;
}

static void state_free(struct cairn_state *state)
{
    state->py->user = NULL;
    free(state->stacks);
    free(state);
}

void cairn_states_drop(struct cairn_pythread *thread)
{
    struct cairn_state *state = thread->user;
    struct cairn_worker *worker;
    struct cairn_state **at;

    if (!state)
        return;
    worker = state->worker;
    at = &worker->states;
    while (*at != state)
        at = &(*at)->next;
    *at = state->next;
    if (worker->py == thread)
        worker->py = worker->states ? worker->states->py : NULL;
    worker->settled = false;
    state_free(state);
}

void cairn_states_release(struct cairn_worker *worker)
{
    while (worker->states) {
        struct cairn_state *state = worker->states;

        worker->states = state->next;
        state_free(state);
    }
    worker->py = NULL;
}

void cairn_states_choose(struct cairn_worker *worker)
{
    const struct cairn_state *state = worker->states;

    if (!state || !state->next || (cairn_pythread_has_stack(worker->py) && !worker->py->inner))
        return;
    while (state && (!cairn_pythread_has_stack(state->py) || state->py->inner))
        state = state->next;
    if (state)
        worker->py = state->py;
}

struct cairn_pythread *cairn_states_outermost(const struct cairn_worker *worker)
{
    struct cairn_pythread *thread = worker->py;

    while (thread->outer)
        thread = thread->outer;
    return thread;
}
