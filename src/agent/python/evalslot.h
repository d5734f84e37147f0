/* evalslot.h: the slot for a function around the evaluation of frames (PEP 523), until 3.11.
 *
 * Each frame that begins or goes on passes there, in every thread. Others may take the slot as
 * well: who was there before is called, and the slot is given back only if it is still ours; else
 * we stay in the chain and pass on. The one GIL of these versions guards it.
 */
#ifndef CAIRN_EVALSLOT_H
#define CAIRN_EVALSLOT_H

#include <stdbool.h>

#include "pycompat.h"

#if !CAIRN_MONITORS
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h> /* frames are no objects any more */
#define CAIRN_FRAME struct _PyInterpreterFrame
#else
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#endif
#include <internal/pycore_pystate.h> /* 3.8 has no function for the slot */
#define CAIRN_FRAME PyFrameObject
#endif
#undef Py_BUILD_CORE

struct cairn_eval_slot {
    _PyFrameEvalFunction function, before; /* ours; who was in the slot when we took it */
    bool chained;                          /* we are in it, or somebody else calls us */
};

#if PY_VERSION_HEX < 0x03090000
#define CAIRN_EVAL_FUNCTION(name, around)                                                          \
    static PyObject *name(CAIRN_FRAME *frame, int throws)                                          \
    {                                                                                              \
        return around(PyThreadState_Get(), frame, throws);                                         \
    }

static inline _PyFrameEvalFunction cairn_eval_get(void)
{
    return PyThreadState_Get()->interp->eval_frame;
}

static inline void cairn_eval_set(_PyFrameEvalFunction function)
{
    PyThreadState_Get()->interp->eval_frame = function;
}

static inline PyObject *cairn_eval_pass(const struct cairn_eval_slot *slot, PyThreadState *thread,
                                        CAIRN_FRAME *frame, int throws)
{
    (void)thread;
    return slot->before(frame, throws);
}
#else
#define CAIRN_EVAL_FUNCTION(name, around)                                                          \
    static PyObject *name(PyThreadState *thread, CAIRN_FRAME *frame, int throws)                   \
    {                                                                                              \
        return around(thread, frame, throws);                                                      \
    }

static inline _PyFrameEvalFunction cairn_eval_get(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyThreadState_Get()->interp);
}

static inline void cairn_eval_set(_PyFrameEvalFunction function)
{
    _PyInterpreterState_SetEvalFrameFunc(PyThreadState_Get()->interp, function);
}

static inline PyObject *cairn_eval_pass(const struct cairn_eval_slot *slot, PyThreadState *thread,
                                        CAIRN_FRAME *frame, int throws)
{
    return slot->before(thread, frame, throws);
}
#endif

static inline void cairn_eval_enter(struct cairn_eval_slot *slot)
{
    if (slot->chained)
        return;
    slot->before = cairn_eval_get();
    cairn_eval_set(slot->function);
    slot->chained = true;
}

static inline void cairn_eval_leave(struct cairn_eval_slot *slot)
{
    if (slot->chained && cairn_eval_get() == slot->function) {
        cairn_eval_set(slot->before);
        slot->chained = false;
    }
}

/* Whether a frame does no more than make a generator: of the program's code nothing runs yet. */
static inline bool cairn_eval_only_makes(const CAIRN_FRAME *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (frame->f_code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0 &&
           frame->owner != FRAME_OWNED_BY_GENERATOR;
#else
    (void)frame;
    return false;
#endif
}

#endif
#endif
