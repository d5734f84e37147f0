/* evalframe.c: Python calls alone, by a function around the evaluation of frames, until 3.11.
 *
 * PEP 523: each frame that begins or goes on passes here, in every thread, and no event of C is
 * made. Others may take the slot as well: who was there before is called, and the slot is given
 * back only if it is still ours; else we stay in the chain and pass on.
 * The slot carries no argument, hence the static state; the one GIL of these versions guards it.
 */
#include "profiler.h"

#if !CAIRN_MONITORS
#if PY_VERSION_HEX >= 0x030b0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h> /* frames are no objects any more */
#undef Py_BUILD_CORE
#define FRAME struct _PyInterpreterFrame
#define CALLER(thread, frame) ((uintptr_t)(thread)->cframe->current_frame) /* not linked yet */
#else
#if PY_VERSION_HEX < 0x03090000
#define Py_BUILD_CORE 1
#include <internal/pycore_pystate.h> /* the slot has no function yet */
#undef Py_BUILD_CORE
#endif
#define FRAME PyFrameObject
#define CALLER(thread, frame) ((uintptr_t)(frame)->f_back)
#endif

/* Whether a frame does no more than make a generator: of the program's code nothing runs yet. */
static inline bool only_makes(const FRAME *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (frame->f_code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0 &&
           frame->owner != FRAME_OWNED_BY_GENERATOR;
#else
    (void)frame;
    return false;
#endif
}

/* Where frames are evaluated without C calls in between (3.11), ours bring them back: programs that
 * are deeper than this might run out of stack, and get the profile function instead. */
#define MOST_NESTED 2000

static struct cairn_profiler *active; /* from begin to end, whoever tells of the calls */
static bool evaluates;                /* else everything passes */
static _PyFrameEvalFunction before;   /* who was in the slot when we took it */
static bool chained;                  /* we are in it, or somebody else calls us */
static __thread unsigned nested;

static void leave_slot(void);

#if PY_VERSION_HEX < 0x03090000
static PyObject *evaluate(FRAME *frame, int throws);

static _PyFrameEvalFunction slot_get(void)
{
    return PyThreadState_Get()->interp->eval_frame;
}

static void slot_set(_PyFrameEvalFunction function)
{
    PyThreadState_Get()->interp->eval_frame = function;
}

static PyObject *pass(PyThreadState *thread, FRAME *frame, int throws)
{
    (void)thread;
    return before(frame, throws);
}
#else
static PyObject *evaluate(PyThreadState *thread, FRAME *frame, int throws);

static _PyFrameEvalFunction slot_get(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyThreadState_Get()->interp);
}

static void slot_set(_PyFrameEvalFunction function)
{
    _PyInterpreterState_SetEvalFrameFunc(PyThreadState_Get()->interp, function);
}

static PyObject *pass(PyThreadState *thread, FRAME *frame, int throws)
{
    return before(thread, frame, throws);
}
#endif

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

static PyObject *around(PyThreadState *thread, FRAME *frame, int throws)
{
    struct cairn_profiler *profiler = active;
    PyObject *callee[] = {(PyObject *)frame->f_code, NULL}, *result;

    /* What a trace function runs, and the timer, is not the program's. */
    if (!evaluates || thread->tracing || cairn_exact_is_busy(&profiler->exact) ||
        only_makes(frame) || is_too_deep())
        return pass(thread, frame, throws);
    cairn_exact_enter(&profiler->exact, frame->f_code, (uintptr_t)frame, CALLER(thread, frame),
                      callee);
    nested++;
    result = pass(thread, frame, throws);
    nested--;
    if (active == profiler) /* it may be gone */
        cairn_exact_leave(&profiler->exact, (uintptr_t)frame);
    return result;
}

#if PY_VERSION_HEX < 0x03090000
static PyObject *evaluate(FRAME *frame, int throws)
{
    return around(PyThreadState_Get(), frame, throws);
}
#else
static PyObject *evaluate(PyThreadState *thread, FRAME *frame, int throws)
{
    return around(thread, frame, throws);
}
#endif

static void leave_slot(void)
{
    evaluates = false;
    if (slot_get() == evaluate) {
        slot_set(before);
        chained = false;
    }
}

void cairn_eval_begin(struct cairn_profiler *profiler)
{
    active = profiler;
    if (!chained) {
        before = slot_get();
        slot_set(evaluate);
        chained = true;
    }
    evaluates = true;
}

void cairn_eval_end(void)
{
    if (evaluates)
        leave_slot();
    active = NULL;
}
#endif
