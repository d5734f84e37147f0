/* callevents.h: what the events of calls do, wherever they come from (monitoring.c, texthook.c).
 *
 * false: what it is of is not counted, and nothing was done. `code`, and behind what is called what
 * it is called on, are places of those: the engine hands them back where a callee is to be learnt.
 */
#ifndef CAIRN_CALLEVENTS_H
#define CAIRN_CALLEVENTS_H

#include "profiler.h"

#if CAIRN_MONITORS
typedef const struct _PyInterpreterFrame cairn_frame;

static inline bool cairn_on_enter(struct cairn_profiler *profiler, PyObject *const *code,
                                  cairn_frame *frame)
{
    uintptr_t caller = (uintptr_t)cairn_frame_caller(frame);

    switch (cairn_gate_of(profiler, *code, NULL)) {
    case CAIRN_GATE_NOTHING:
        return false;
    case CAIRN_GATE_COUNT:
        cairn_exact_count(&profiler->exact, *code, caller, (void *)code);
        return true;
    default:
        cairn_exact_enter(&profiler->exact, *code, (uintptr_t)frame, caller, (void *)code);
        return true;
    }
}

static inline bool cairn_on_leave(struct cairn_profiler *profiler, PyObject *code,
                                  cairn_frame *frame)
{
    if (cairn_gate_of(profiler, code, NULL) <= CAIRN_GATE_COUNT)
        return false;
    cairn_exact_leave(&profiler->exact, (uintptr_t)frame);
    return true;
}

/* A generator goes on, or is thrown into: a call only where cProfile's numbers are wanted. */
static inline bool cairn_on_resume(struct cairn_profiler *profiler, PyObject *const *code,
                                   cairn_frame *frame)
{
    if (!profiler->apart)
        return cairn_on_enter(profiler, code, frame);
    if (cairn_gate_of(profiler, *code, NULL) <= CAIRN_GATE_COUNT)
        return false;
    cairn_exact_resume(&profiler->exact, *code, (uintptr_t)frame,
                       (uintptr_t)cairn_frame_caller(frame), (void *)code);
    return true;
}

static inline bool cairn_on_yield(struct cairn_profiler *profiler, PyObject *code,
                                  cairn_frame *frame)
{
    if (!profiler->apart)
        return cairn_on_leave(profiler, code, frame);
    if (cairn_gate_of(profiler, code, NULL) <= CAIRN_GATE_COUNT)
        return false;
    cairn_exact_suspend(&profiler->exact, (uintptr_t)frame);
    return true;
}

/* A call of Python code that was let go, or that tells of itself: from here no more is heard of it.
 */
static inline bool cairn_calls_what_is_gone(struct cairn_profiler *profiler, PyObject *callee)
{
    if (PyMethod_Check(callee))
        callee = PyMethod_GET_FUNCTION(callee);
    return profiler->leaves && PyFunction_Check(callee) &&
           cairn_gate_has_let_go(profiler, PyFunction_GET_CODE(callee));
}

static inline bool cairn_on_call(struct cairn_profiler *profiler, PyObject *code,
                                 PyObject *const *callee, bool has_self, cairn_frame *frame)
{
    const void *key = cairn_profiler_key(profiler, *callee, has_self);

    if (key != NULL)
        cairn_profiler_before(profiler, key);
    if (cairn_gate_of(profiler, code, NULL) != CAIRN_GATE_ALL)
        return false;
    if (key == NULL)
        return !cairn_calls_what_is_gone(profiler, *callee);
    cairn_exact_enter(&profiler->exact, key, (uintptr_t)frame | 1, (uintptr_t)frame,
                      (void *)callee);
    return true;
}

static inline void cairn_on_called(struct cairn_profiler *profiler, PyObject *code,
                                   PyObject *callee, bool has_self, cairn_frame *frame)
{
    if (cairn_profiler_key(profiler, callee, has_self) == NULL)
        return;
    if (cairn_gate_of(profiler, code, NULL) == CAIRN_GATE_ALL)
        cairn_exact_leave(&profiler->exact, (uintptr_t)frame | 1);
    else
        cairn_exact_leave_top(&profiler->exact, (uintptr_t)frame | 1);
}
#endif
#endif
