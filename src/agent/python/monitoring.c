/* monitoring.c: events from sys.monitoring, 3.12 and later. */
#include "profiler.h"

#if CAIRN_MONITORS
#include "callevents.h"
#include "texthook.h"
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

/* Not of code that is counted. */
static __attribute__((noinline)) PyObject *pass(PyObject *self)
{
    cairn_meter_pass(exact_of(self));
    return Py_NewRef(no_more);
}

/* Nor is the end of what was left out while it ran, or is counted as it begins. */
static __attribute__((noinline)) PyObject *pass_end(PyObject *self, cairn_frame *frame)
{
    cairn_exact_leave_top(exact_of(self), (uintptr_t)frame);
    return Py_NewRef(no_more);
}

/* Whether it was thrown into before its body began: Python enters it all the same. */
static bool never_began(PyObject *self, PyObject *code, cairn_frame *frame)
{
    const PyCodeObject *of = (const PyCodeObject *)code;

    return profiler_of(self)->apart &&
           of->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR) &&
           cairn_frame_unit(frame, of) < of->_co_firsttraceable;
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (!cairn_on_enter(profiler_of(self), args, cairn_frame_now()))
        return pass(self);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    cairn_frame *frame = cairn_frame_now();

    (void)nargs, (void)names;
    if (!cairn_on_leave(profiler_of(self), args[0], frame))
        return pass_end(self, frame);
    Py_RETURN_NONE;
}

/* An exception ends a frame: of these events none can be let go. */
static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    cairn_frame *frame = cairn_frame_now();

    (void)nargs, (void)names;
    if (never_began(self, args[0], frame))
        Py_RETURN_NONE;
    if (!cairn_on_leave(profiler_of(self), args[0], frame)) {
        Py_DECREF(pass_end(self, frame));
        cairn_meter_pass(exact_of(self));
    }
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (!cairn_on_resume(profiler_of(self), args, cairn_frame_now()))
        return pass(self);
    Py_RETURN_NONE;
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    if (cairn_gate_of(profiler_of(self), args[0], NULL) > CAIRN_GATE_COUNT &&
        !never_began(self, args[0], cairn_frame_now()))
        return on_resume(self, args, nargs, names);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    cairn_frame *frame = cairn_frame_now();

    (void)nargs, (void)names;
    if (!cairn_on_yield(profiler_of(self), args[0], frame))
        return pass_end(self, frame);
    Py_RETURN_NONE;
}

/* held[1] stands for "no argument". */
static bool has_self(PyObject *self, PyObject *const *args)
{
    return args[3] != ((struct cairn_callback *)self)->held[1];
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (!cairn_on_call(profiler_of(self), args[0], &args[2], has_self(self, args),
                       cairn_frame_now()))
        return pass(self);
    Py_RETURN_NONE;
}

static PyObject *on_called(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    cairn_on_called(profiler_of(self), args[0], args[2], has_self(self, args), cairn_frame_now());
    Py_RETURN_NONE;
}

static const struct cairn_tool_hook hooks[] = {
    {"PY_START", on_enter},  {"PY_RESUME", on_resume}, {"PY_THROW", on_throw},
    {"PY_RETURN", on_leave}, {"PY_YIELD", on_yield},   {"PY_UNWIND", on_unwind},
    {"CALL", on_call},       {"C_RETURN", on_called},  {"C_RAISE", on_called},
};

#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))
#define BUILTINS 3 /* the last ones are not wanted where calls of C are not */

_Static_assert(HOOKS == CAIRN_TEXT_CALLBACKS, "they are known there, in this order");

int cairn_events_add(PyObject *module)
{
    return cairn_tool_add_type(module);
}

int cairn_events_begin(struct cairn_profiler *profiler)
{
    PyObject *monitoring = PySys_GetObject("monitoring"), *held[2]; /* borrowed */
    PyObject *callbacks[HOOKS] = {NULL};
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
        code = cairn_tool_hook(profiler->tool, &hooks[i], profiler, held, &bits, &callbacks[i]);
    if (code == 0)
        code = cairn_tool_set(profiler->tool, bits);
    if (code == 0 && profiler->hooked) {
        profiler->unhooked = cairn_text_begin(profiler, callbacks, held[1]);
        cairn_text_tell(profiler);
    }
    Py_XDECREF(held[1]); /* a callback holds it */
    if (code < 0) {
        PyObject *error = PyErr_GetRaisedException();

        (void)cairn_events_end(profiler);
        PyErr_SetRaisedException(error);
    }
    return code;
}

void cairn_events_forget(struct cairn_profiler *profiler)
{
    cairn_text_end(profiler); /* each callback held it */
}

/* The callbacks stay: one of them is running. */
int cairn_events_halt(struct cairn_profiler *profiler)
{
    cairn_text_end(profiler);
    return cairn_tool_set(profiler->tool, 0);
}

int cairn_events_end(struct cairn_profiler *profiler)
{
    int code;

    cairn_text_end(profiler);
    code = cairn_tool_set(profiler->tool, 0);
    for (size_t i = 0; i < HOOKS; i++)
        if (cairn_tool_unhook(profiler->tool, &hooks[i]) < 0)
            code = -1;
    if (cairn_tool_give(profiler->tool) < 0)
        code = -1;
    return code;
}
#endif
