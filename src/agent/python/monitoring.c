/* monitoring.c: events from sys.monitoring, 3.12 and later. */
#include "profiler.h"

#if CAIRN_MONITORS
#include "toolevents.h"

static inline struct cairn_profiler *profiler_of(PyObject *self)
{
    return ((struct cairn_callback *)self)->context;
}

static inline struct cairn_exact *exact_of(PyObject *self)
{
    return &profiler_of(self)->exact;
}

const void *cairn_events_outer(uintptr_t frame, uintptr_t *ret_caller)
{
    const struct _PyInterpreterFrame *at = (const struct _PyInterpreterFrame *)frame;

    *ret_caller = (uintptr_t)cairn_frame_caller(at);
#if PY_VERSION_HEX >= 0x030e0000
    return (const void *)(at->f_executable.bits & ~(uintptr_t)3); /* how it is held */
#elif PY_VERSION_HEX >= 0x030d0000
    return at->f_executable;
#else
    return at->f_code;
#endif
}

static PyObject *no_more; /* what a callback returns so that it is not called again: of one place */

static inline enum cairn_gate gate_of(PyObject *self, PyObject *const *args)
{
    return cairn_gate_of(profiler_of(self), args[0], NULL);
}

/* Not of code that is counted. */
static __attribute__((noinline)) PyObject *pass(PyObject *self)
{
    cairn_meter_pass(exact_of(self));
    return Py_NewRef(no_more);
}

/* Nor is the end of what was left out while it ran, or is counted as it begins. */
static __attribute__((noinline)) PyObject *pass_end(PyObject *self, uintptr_t frame)
{
    cairn_exact_leave_top(exact_of(self), frame);
    return Py_NewRef(no_more);
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const struct _PyInterpreterFrame *frame = cairn_frame_now();
    uintptr_t caller = (uintptr_t)cairn_frame_caller(frame);

    (void)nargs, (void)names;
    switch (gate_of(self, args)) {
    case CAIRN_GATE_NOTHING:
        return pass(self);
    case CAIRN_GATE_COUNT:
        cairn_exact_count(exact_of(self), args[0], caller, (void *)args);
        break;
    default:
        cairn_exact_enter(exact_of(self), args[0], (uintptr_t)frame, caller, (void *)args);
    }
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (gate_of(self, args) <= CAIRN_GATE_COUNT)
        return pass_end(self, (uintptr_t)cairn_frame_now());
    cairn_exact_leave(exact_of(self), (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

/* An exception ends a frame: of these events none can be let go. */
static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (gate_of(self, args) <= CAIRN_GATE_COUNT) {
        Py_DECREF(pass_end(self, (uintptr_t)cairn_frame_now()));
        cairn_meter_pass(exact_of(self));
    } else {
        cairn_exact_leave(exact_of(self), (uintptr_t)cairn_frame_now());
    }
    Py_RETURN_NONE;
}

/* A generator goes on, or is thrown into: a call only where cProfile's numbers are wanted. */
static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const struct _PyInterpreterFrame *frame = cairn_frame_now();
    uintptr_t caller = (uintptr_t)cairn_frame_caller(frame);

    if (!profiler_of(self)->apart)
        return on_enter(self, args, nargs, names);
    if (gate_of(self, args) <= CAIRN_GATE_COUNT)
        return pass(self);
    cairn_exact_resume(exact_of(self), args[0], (uintptr_t)frame, caller, (void *)args);
    Py_RETURN_NONE;
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    if (gate_of(self, args) > CAIRN_GATE_COUNT)
        return on_resume(self, args, nargs, names);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    if (!profiler_of(self)->apart)
        return on_leave(self, args, nargs, names);
    if (gate_of(self, args) <= CAIRN_GATE_COUNT)
        return pass_end(self, (uintptr_t)cairn_frame_now());
    cairn_exact_suspend(exact_of(self), (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

/* held[1] stands for "no argument". */
static const void *callee_of(PyObject *self, PyObject *const *args)
{
    return cairn_profiler_key(profiler_of(self), args[2],
                              args[3] != ((struct cairn_callback *)self)->held[1]);
}

/* A call of Python code that was let go, or that tells of itself: from here no more is heard of it.
 */
static bool calls_what_is_gone(PyObject *self, PyObject *callee)
{
    if (PyMethod_Check(callee))
        callee = PyMethod_GET_FUNCTION(callee);
    return profiler_of(self)->leaves && PyFunction_Check(callee) &&
           cairn_gate_has_let_go(profiler_of(self), PyFunction_GET_CODE(callee));
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const void *key = callee_of(self, args);
    uintptr_t frame = (uintptr_t)cairn_frame_now();

    (void)nargs, (void)names;
    if (key != NULL)
        cairn_profiler_before(profiler_of(self), key);
    if (gate_of(self, args) != CAIRN_GATE_ALL)
        return pass(self);
    if (key == NULL && calls_what_is_gone(self, args[2]))
        return pass(self);
    if (key == NULL)
        Py_RETURN_NONE;
    cairn_exact_enter(exact_of(self), key, frame | 1, frame, (void *)&args[2]);
    Py_RETURN_NONE;
}

static PyObject *on_called(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    uintptr_t frame = (uintptr_t)cairn_frame_now() | 1;

    (void)nargs, (void)names;
    if (callee_of(self, args) == NULL)
        Py_RETURN_NONE;
    if (gate_of(self, args) == CAIRN_GATE_ALL)
        cairn_exact_leave(exact_of(self), frame);
    else
        cairn_exact_leave_top(exact_of(self), frame);
    Py_RETURN_NONE;
}

static const struct cairn_tool_hook hooks[] = {
    {"PY_START", on_enter},  {"PY_RESUME", on_resume}, {"PY_THROW", on_throw},
    {"PY_RETURN", on_leave}, {"PY_YIELD", on_yield},   {"PY_UNWIND", on_unwind},
    {"CALL", on_call},       {"C_RETURN", on_called},  {"C_RAISE", on_called},
};

#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))
#define BUILTINS 3 /* the last ones are not wanted where calls of C are not */

int cairn_events_add(PyObject *module)
{
    return cairn_tool_add_type(module);
}

int cairn_events_begin(struct cairn_profiler *profiler)
{
    PyObject *monitoring = PySys_GetObject("monitoring"), *held[2]; /* borrowed */
    long bits = 0;
    int code;

    if (no_more == NULL)
        no_more = cairn_tool_disable();
    if (no_more == NULL || cairn_tool_take(&profiler->tool) < 0)
        return -1;
    held[0] = (PyObject *)profiler;
    held[1] = PyObject_GetAttrString(monitoring, "MISSING");
    code = held[1] == NULL ? -1 : 0;
    for (size_t i = 0; i < HOOKS - (profiler->builtins ? 0 : BUILTINS) && code == 0; i++)
        code = cairn_tool_hook(profiler->tool, &hooks[i], profiler, held, &bits);
    Py_XDECREF(held[1]);
    if (code == 0)
        code = cairn_tool_set(profiler->tool, bits);
    if (code < 0) {
        PyObject *error = PyErr_GetRaisedException();

        (void)cairn_events_end(profiler);
        PyErr_SetRaisedException(error);
    }
    return code;
}

void cairn_events_forget(struct cairn_profiler *profiler)
{
    (void)profiler; /* each callback holds it */
}

/* The callbacks stay: one of them is running. */
int cairn_events_halt(struct cairn_profiler *profiler)
{
    return cairn_tool_set(profiler->tool, 0);
}

int cairn_events_end(struct cairn_profiler *profiler)
{
    int code = cairn_tool_set(profiler->tool, 0);

    for (size_t i = 0; i < HOOKS; i++)
        if (cairn_tool_unhook(profiler->tool, &hooks[i]) < 0)
            code = -1;
    if (cairn_tool_give(profiler->tool) < 0)
        code = -1;
    return code;
}
#endif
