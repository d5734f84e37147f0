#include "doing.h"

#include "format.h"

#define NOTHING_KNOWN                                                                              \
    (CAIRN_OVERLAY_GIL_UNKNOWN | CAIRN_OVERLAY_GC_UNKNOWN | CAIRN_OVERLAY_EXCEPTION_UNKNOWN |      \
     CAIRN_OVERLAY_WAIT_UNKNOWN)

/* Of all the states that it has: until 3.11 the one that took the GIL is noted as its holder though
 * the thread goes on in another one. */
static uint8_t overlays_of(const struct cairn_pyread *py, const struct cairn_worker *worker)
{
    uint8_t overlays = cairn_pyread_overlays(py, worker->py);

    for (const struct cairn_state *state = worker->states; state; state = state->next)
        if (state->py != worker->py)
            overlays |=
                cairn_pyread_overlays(py, state->py) & (CAIRN_OVERLAY_GIL_HELD | CAIRN_OVERLAY_GC);
    return overlays;
}

int cairn_doing_look(struct cairn_subject *subject, struct cairn_worker *worker,
                     struct cairn_writer *writer, uint64_t now_ns, struct cairn_run *run)
{
    bool read = subject->python == CAIRN_PYTHON_READ;
    const struct cairn_waiter waiter = {subject->pid, worker->tid, read ? subject->py : NULL,
                                        writer};
    int code = 0;

    if (worker->still)
        code = cairn_wait_look(&subject->waits, &worker->wait, &waiter, now_ns);
    if (read && worker->py)
        run->overlays = overlays_of(subject->py, worker);
    else if (subject->python == CAIRN_PYTHON_UNSUPPORTED)
        run->overlays = NOTHING_KNOWN;
    if (worker->wait.refused || worker->wait.unsure || (worker->still && !worker->wait.seen))
        run->overlays |= CAIRN_OVERLAY_WAIT_UNKNOWN;
    if (subject->stopped) {
        run->state = CAIRN_SAMPLE_STOPPED;
        return code;
    }
    /* Who runs at the tick and did not all the time since the one before waited for what it was
     * last seen to wait for. */
    run->on = worker->wait.on;
    run->state = worker->wait.gil ? CAIRN_SAMPLE_GIL_WAIT : CAIRN_SAMPLE_BLOCKED;
    return code;
}
