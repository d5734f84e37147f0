/* evalframe.c: Python calls alone, by a function around the evaluation of frames, until 3.11. No
 * event of C is made.
 *
 * The slot carries no argument, hence the static state; the one GIL of these versions guards it.
 */
#include "profiler.h"

#if !CAIRN_MONITORS
#include "evalslot.h"
#if PY_VERSION_HEX >= 0x030b0000
#include <opcode.h>
#endif

#if PY_VERSION_HEX >= 0x030b0000
#define CALLER(thread, frame) ((uintptr_t)(thread)->cframe->current_frame) /* not linked yet */
#else
#define CALLER(thread, frame) ((uintptr_t)(frame)->f_back)
#endif

/* Where frames are evaluated without C calls in between (3.11), ours bring them back: programs that
 * are deeper than this might run out of stack, and get the profile function instead. */
#define MOST_NESTED 2000

static struct cairn_profiler *active; /* from begin to end, whoever tells of the calls */
static bool evaluates;                /* else everything passes */
static struct cairn_eval_slot slot;
static __thread unsigned nested;

static void leave_slot(void)
{
    evaluates = false;
    cairn_eval_leave(&slot);
}

/* Whether the profile function has to do from now on. */
static bool is_too_deep(void)
{
    if (PY_VERSION_HEX < 0x030b0000 || nested < MOST_NESTED)
        return false;
    leave_slot();
    if (cairn_profile_begin(active) < 0)
        PyErr_Clear(); /* an audit hook forbids it: calls go uncounted from here on */
    return true;
}

/* Whether a frame that begins was suspended before, or is thrown into. */
static bool goes_on(const CAIRN_FRAME *frame, int throws)
{
    if (throws)
        return true;
    if ((frame->f_code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0)
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    return _Py_OPCODE(*frame->prev_instr) != RETURN_GENERATOR;
#else
    return frame->f_lasti >= 0;
#endif
}

/* Whoever calls, in Python: NULL, nobody does. */
static PyCodeObject *caller_code(const PyThreadState *thread, const CAIRN_FRAME *frame)
{
    const CAIRN_FRAME *caller = (const CAIRN_FRAME *)CALLER(thread, frame);

    (void)thread, (void)frame; /* one of them, as the version is */
    return caller == NULL ? NULL : caller->f_code;
}

static void count_plainly(struct cairn_profiler *profiler, const PyThreadState *thread,
                          CAIRN_FRAME *frame, int throws)
{
    PyObject *callee[] = {(PyObject *)frame->f_code, NULL};
    PyObject *calling[] = {(PyObject *)caller_code(thread, frame), NULL};

    if (goes_on(frame, throws) ||
        cairn_gate_of(profiler, frame->f_code, frame->f_globals) == CAIRN_GATE_NOTHING)
        cairn_meter_pass(&profiler->exact);
    else
        cairn_exact_count_pair(&profiler->exact, callee[0], calling[0], callee, calling);
}

/* As is_too_deep(): there the end comes, since the profile function is too dear. */
static PyObject *around_plainly(struct cairn_profiler *profiler, PyThreadState *thread,
                                CAIRN_FRAME *frame, int throws)
{
    PyObject *result;

    count_plainly(profiler, thread, frame, throws);
    if (PY_VERSION_HEX < 0x030b0000)
        return cairn_eval_pass(&slot, thread, frame, throws);
    if (nested >= MOST_NESTED && profiler->exact.meter.on)
        cairn_meter_end(&profiler->exact);
    if (nested >= MOST_NESTED && evaluates && cairn_meter_has_ended(&profiler->exact))
        leave_slot(); /* an audit hook forbade the end */
    nested++;
    result = cairn_eval_pass(&slot, thread, frame, throws);
    nested--;
    return result;
}

static PyObject *around(PyThreadState *thread, CAIRN_FRAME *frame, int throws)
{
    struct cairn_profiler *profiler = active;
    PyObject *callee[] = {(PyObject *)frame->f_code, NULL}, *result;
    enum cairn_gate gate;

    /* What a trace function runs, and the timer, is not the program's. */
    if (!evaluates || thread->tracing || cairn_exact_is_busy(&profiler->exact) ||
        cairn_eval_only_makes(frame))
        return cairn_eval_pass(&slot, thread, frame, throws);
    if (profiler->plain)
        return around_plainly(profiler, thread, frame, throws);
    gate = cairn_gate_of(profiler, frame->f_code, frame->f_globals);
    if (gate == CAIRN_GATE_NOTHING || is_too_deep())
        return cairn_eval_pass(&slot, thread, frame, throws);
    if (gate == CAIRN_GATE_COUNT) {
        cairn_exact_count(&profiler->exact, frame->f_code, CALLER(thread, frame), callee);
        return cairn_eval_pass(&slot, thread, frame, throws);
    }
    cairn_exact_enter(&profiler->exact, frame->f_code, (uintptr_t)frame, CALLER(thread, frame),
                      callee);
    nested++;
    result = cairn_eval_pass(&slot, thread, frame, throws);
    nested--;
    if (active == profiler) /* it may be gone */
        cairn_exact_leave(&profiler->exact, (uintptr_t)frame);
    return result;
}

CAIRN_EVAL_FUNCTION(evaluate, around)

void cairn_eval_begin(struct cairn_profiler *profiler)
{
    active = profiler;
    slot.function = evaluate;
    cairn_eval_enter(&slot);
    evaluates = true;
}

void cairn_eval_end(void)
{
    if (evaluates)
        leave_slot();
    active = NULL;
}
#endif
