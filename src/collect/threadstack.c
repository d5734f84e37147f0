#include "threadstack.h"

#include <string.h>

#include "stackids.h"
#include "vec.h"

#define STACKS_MAX (CAIRN_PY_DEPTH_MAX + 1u)

static bool ends(struct cairn_span text, const char *with)
{
    size_t size_bytes = strlen(with);

    return text.size_bytes >= size_bytes &&
           memcmp(text.data + text.size_bytes - size_bytes, with, size_bytes) == 0;
}

/* Where the engine asks, in the middle of the program, which lines of a code it is to count. */
static bool is_own(const struct cairn_pycode *code)
{
    return code && ends(code->qualname, "planner.<locals>.plan") &&
           ends(code->file, "/cairn/_site/_cairn_counting.py");
}

/* The stack id of a thread state's frames on `root`. Ids of the outer frames that stand as they did
 * are kept, though they may lie elsewhere. */
static int python_stack(struct cairn_writer *writer, const struct cairn_tasks_labels *labels,
                        struct cairn_state *state, uint32_t root, uint32_t *ret_stack)
{
    const struct cairn_pythread *thread = state->py;
    bool cut = thread->status == CAIRN_PYSTACK_TRUNCATED;
    uint32_t at = thread->kept, known, parent;

    if (cut)
        CAIRN_TRY(cairn_writer_stack(writer, root, labels->truncated, &root));
    known = root == state->stacks_root ? state->stacks_known : 0;
    if (cut || at > known)
        at = 0; /* the cut moves with the depth, so nothing stays in its place */
    CAIRN_TRY(cairn_vec_grow((void **)&state->stacks, &state->stacks_cap, thread->depth,
                             sizeof(*state->stacks), STACKS_MAX));
    state->stacks_root = root;
    state->stacks_known = at;
    for (parent = at ? state->stacks[at - 1].id : root; at < thread->depth; at++) {
        const struct cairn_pyframe *frame = &thread->frames[at];
        struct cairn_state_stack *stack = &state->stacks[at];
        uint32_t id = stack->id;

        if (is_own(frame->code)) {
            CAIRN_TRY(cairn_writer_stack(writer, parent, labels->own, &parent));
            break;
        }
        if (at >= known || stack->code != frame->code || stack->offset != frame->offset)
            CAIRN_TRY(cairn_stackids_frame(writer, labels->unknown, parent, frame, &id));
        if (at < known && id != stack->id)
            known = 0; /* what lies on it is another stack, too */
        *stack = (struct cairn_state_stack){frame->code, frame->offset, id};
        state->stacks_known = at + 1;
        parent = id;
    }
    state->shown = true;
    *ret_stack = parent;
    return 0;
}

/* What was left out has ids of an older read. */
static void forget_others(struct cairn_worker *worker)
{
    for (struct cairn_state *state = worker->states; state; state = state->next) {
        if (!state->shown)
            state->stacks_known = 0;
        state->shown = false;
    }
}

/* Whether it can be shown where it stands: a state that no worker was found for cannot, nor what
 * lies further in. */
static bool is_told(const struct cairn_pythread *thread)
{
    return !thread->apart && thread->user;
}

static enum cairn_pystack_status status_of(const struct cairn_pythread *thread)
{
    return is_told(thread) ? thread->status : CAIRN_PYSTACK_TORN;
}

/* What a stack goes on from: one that is whole inwards. */
static bool holds(enum cairn_pystack_status status)
{
    return status != CAIRN_PYSTACK_TORN && status != CAIRN_PYSTACK_UNREADABLE;
}

void cairn_threadstack_judge(struct cairn_worker *worker)
{
    const struct cairn_pythread *at = cairn_states_outermost(worker);
    enum cairn_pystack_status status = status_of(at);
    bool unchecked = at->unchecked;

    while (holds(status) && at->inner) {
        at = at->inner;
        unchecked |= at->unchecked;
        if (status != CAIRN_PYSTACK_TRUNCATED || !holds(status_of(at)))
            status = status_of(at);
    }
    if (unchecked && (!worker->clock.page || cairn_perf_clock_peek(&worker->clock)))
        status = CAIRN_PYSTACK_TORN;
    worker->last_status = (uint8_t)status;
    worker->settled = worker->py->still && (worker->last_status == CAIRN_PYSTACK_OK ||
                                            worker->last_status == CAIRN_PYSTACK_EMPTY);
}

int cairn_threadstack_write(struct cairn_writer *writer, const struct cairn_tasks_labels *labels,
                            struct cairn_worker *worker, uint32_t *ret_stack)
{
    struct cairn_pythread *at = cairn_states_outermost(worker);
    uint32_t stack = 0;

    for (; at && cairn_pythread_has_stack(at) && is_told(at); at = at->inner) {
        CAIRN_TRY(python_stack(writer, labels, at->user, stack, &stack));
        if (!holds(at->status))
            break;
    }
    forget_others(worker);
    if (worker->last_status == CAIRN_PYSTACK_TORN)
        CAIRN_TRY(cairn_writer_stack(writer, stack, labels->torn, &stack));
    else if (worker->last_status == CAIRN_PYSTACK_UNREADABLE)
        CAIRN_TRY(cairn_writer_stack(writer, stack, labels->unknown, &stack));
    *ret_stack = stack;
    return 0;
}
