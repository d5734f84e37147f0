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

static PyObject *no_more; /* what a callback returns so that it is not called again: of one place */

/* Whether the event is of code that is counted. */
static inline bool passes(PyObject *self, PyObject *const *args)
{
    return profiler_of(self)->gate.words == NULL ||
           cairn_gate_passes(profiler_of(self), args[0], PyEval_GetGlobals());
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const struct _PyInterpreterFrame *frame = cairn_frame_now();
    uintptr_t caller = (uintptr_t)cairn_frame_caller(frame);

    (void)nargs, (void)names;
    if (!passes(self, args))
        return Py_NewRef(no_more);
    cairn_exact_enter(exact_of(self), args[0], (uintptr_t)frame,
                      cairn_gate_caller(profiler_of(self), caller), (void *)args);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (!passes(self, args))
        return Py_NewRef(no_more);
    cairn_exact_leave(exact_of(self), (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

/* An exception ends a frame: of these events none can be let go. */
static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (passes(self, args))
        cairn_exact_leave(exact_of(self), (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

/* A generator goes on, or is thrown into: a call only where cProfile's numbers are wanted. */
static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const struct _PyInterpreterFrame *frame = cairn_frame_now();
    uintptr_t caller = (uintptr_t)cairn_frame_caller(frame);

    if (!profiler_of(self)->apart)
        return on_enter(self, args, nargs, names);
    if (!passes(self, args))
        return Py_NewRef(no_more);
    cairn_exact_resume(exact_of(self), args[0], (uintptr_t)frame,
                       cairn_gate_caller(profiler_of(self), caller), (void *)args);
    Py_RETURN_NONE;
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    if (passes(self, args))
        return on_resume(self, args, nargs, names);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    if (!profiler_of(self)->apart)
        return on_leave(self, args, nargs, names);
    if (!passes(self, args))
        return Py_NewRef(no_more);
    cairn_exact_suspend(exact_of(self), (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

/* held[1] stands for "no argument". */
static const void *callee_of(PyObject *self, PyObject *const *args)
{
    return cairn_profiler_key(profiler_of(self), args[2],
                              args[3] != ((struct cairn_callback *)self)->held[1]);
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const void *key = callee_of(self, args);
    uintptr_t frame = (uintptr_t)cairn_frame_now();

    (void)nargs, (void)names;
    if (key != NULL)
        cairn_profiler_before(profiler_of(self), key);
    if (!passes(self, args))
        return Py_NewRef(no_more);
    if (key == NULL)
        Py_RETURN_NONE;
    cairn_exact_enter(exact_of(self), key, frame | 1, frame, (void *)&args[2]);
    Py_RETURN_NONE;
}

static PyObject *on_called(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (callee_of(self, args) != NULL && passes(self, args))
        cairn_exact_leave(exact_of(self), (uintptr_t)cairn_frame_now() | 1);
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
