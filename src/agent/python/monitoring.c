/* monitoring.c: events from sys.monitoring, 3.12 and later.
 *
 * What is registered are objects of a type of our own with a vectorcall slot: the interpreter calls
 * straight into C, and no Python object is made for an event. The tool's id is never 2, so that
 * cProfile and others that take that one go on beside us.
 */
#include "profiler.h"

#if CAIRN_MONITORS
#include <structmember.h>

static const int tool_ids[] = {4, 3, 5, 0, 1};

struct callback {
    PyObject_HEAD vectorcallfunc call;
    struct cairn_profiler *profiler;
    PyObject *missing; /* stands for "no argument" */
};

static inline struct cairn_exact *exact_of(PyObject *self)
{
    return &((struct callback *)self)->profiler->exact;
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const struct _PyInterpreterFrame *frame = cairn_frame_now();

    (void)nargs, (void)names;
    cairn_exact_enter(exact_of(self), args[0], (uintptr_t)frame,
                      (uintptr_t)cairn_frame_caller(frame), (void *)args);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)args, (void)nargs, (void)names;
    cairn_exact_leave(exact_of(self), (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

/* A generator goes on, or is thrown into: a call only where cProfile's numbers are wanted. */
static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const struct _PyInterpreterFrame *frame = cairn_frame_now();

    if (!((struct callback *)self)->profiler->apart)
        return on_enter(self, args, nargs, names);
    cairn_exact_resume(exact_of(self), args[0], (uintptr_t)frame,
                       (uintptr_t)cairn_frame_caller(frame), (void *)args);
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    if (!((struct callback *)self)->profiler->apart)
        return on_leave(self, args, nargs, names);
    cairn_exact_suspend(exact_of(self), (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

static const void *callee_of(PyObject *self, PyObject *const *args)
{
    const struct callback *callback = (struct callback *)self;

    return cairn_profiler_key(callback->profiler, args[2], args[3] != callback->missing);
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const void *key = callee_of(self, args);
    uintptr_t frame = (uintptr_t)cairn_frame_now();

    (void)nargs, (void)names;
    if (key == NULL)
        Py_RETURN_NONE;
    cairn_profiler_before(((struct callback *)self)->profiler, key);
    cairn_exact_enter(exact_of(self), key, frame | 1, frame, (void *)&args[2]);
    Py_RETURN_NONE;
}

static PyObject *on_called(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    (void)nargs, (void)names;
    if (callee_of(self, args) != NULL)
        cairn_exact_leave(exact_of(self), (uintptr_t)cairn_frame_now() | 1);
    Py_RETURN_NONE;
}

/* By name: the bits differ between versions. */
static const struct {
    const char *name;
    vectorcallfunc call;
    bool builtins; /* not wanted where calls of C are not */
} kinds[] = {
    {"PY_START", on_enter, false},  {"PY_RESUME", on_resume, false}, {"PY_THROW", on_resume, false},
    {"PY_RETURN", on_leave, false}, {"PY_YIELD", on_yield, false},   {"PY_UNWIND", on_leave, false},
    {"CALL", on_call, true},        {"C_RETURN", on_called, true},   {"C_RAISE", on_called, true},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF((PyObject *)((struct callback *)self)->profiler);
    Py_XDECREF(((struct callback *)self)->missing);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, callback_members},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = CAIRN_MODULE_NAME ".Callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

int cairn_events_add(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &callback_spec, NULL);
    int code = type == NULL ? -1 : PyModule_AddObjectRef(module, "Callback", type);

    Py_XDECREF(type);
    return code;
}

/* A new reference to `monitoring.name(*args)`; the last of `format` takes over nothing. */
static PyObject *monitor(const char *name, const char *format, int tool, int bits, PyObject *what)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */

    if (monitoring == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
        return NULL;
    }
    return PyObject_CallMethod(monitoring, name, format, tool, bits, what);
}

static int monitor_done(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Takes a tool id that nobody has. */
static int take_tool(struct cairn_profiler *profiler)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */

    for (size_t i = 0; monitoring != NULL && i < sizeof(tool_ids) / sizeof(tool_ids[0]); i++) {
        PyObject *taken = PyObject_CallMethod(monitoring, "get_tool", "i", tool_ids[i]);

        if (taken == NULL)
            return -1;
        Py_DECREF(taken);
        if (taken != Py_None)
            continue;
        profiler->tool = tool_ids[i];
        return monitor_done(
            PyObject_CallMethod(monitoring, "use_tool_id", "is", profiler->tool, "cairn"));
    }
    PyErr_SetString(PyExc_ValueError, "Every tool id of sys.monitoring but 2 is in use");
    return -1;
}

/* The bit of an event, as this version has it; -1 with an exception set. */
static long bit_of(const char *name)
{
    PyObject *monitoring = PySys_GetObject("monitoring"), *events, *bit; /* borrowed */
    long value = -1;

    events = monitoring == NULL ? NULL : PyObject_GetAttrString(monitoring, "events");
    bit = events == NULL ? NULL : PyObject_GetAttrString(events, name);
    if (bit != NULL)
        value = PyLong_AsLong(bit);
    Py_XDECREF(bit);
    Py_XDECREF(events);
    return value;
}

static int hook(struct cairn_profiler *profiler, PyTypeObject *type, PyObject *missing, size_t kind,
                long *bits)
{
    struct callback *callback = (struct callback *)type->tp_alloc(type, 0);
    long bit = callback == NULL ? -1 : bit_of(kinds[kind].name);
    int code = -1;

    if (bit >= 0) {
        Py_INCREF((PyObject *)profiler);
        callback->call = kinds[kind].call;
        callback->profiler = profiler;
        callback->missing = Py_NewRef(missing);
        code = monitor_done(
            monitor("register_callback", "iiO", profiler->tool, (int)bit, (PyObject *)callback));
        *bits |= bit;
    }
    Py_XDECREF((PyObject *)callback);
    return code;
}

int cairn_events_begin(struct cairn_profiler *profiler)
{
    PyObject *monitoring = PySys_GetObject("monitoring"), *missing, *type; /* borrowed */
    long bits = 0;
    int code;

    if (take_tool(profiler) < 0)
        return -1;
    missing = PyObject_GetAttrString(monitoring, "MISSING");
    type = cairn_module_member("Callback");
    code = missing == NULL || type == NULL ? -1 : 0;
    for (size_t i = 0; i < KINDS && code == 0; i++)
        if (profiler->builtins || !kinds[i].builtins)
            code = hook(profiler, (PyTypeObject *)type, missing, i, &bits);
    Py_XDECREF(type);
    Py_XDECREF(missing);
    if (code == 0)
        code = monitor_done(monitor("set_events", "ii", profiler->tool, (int)bits, NULL));
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
    int code = monitor_done(monitor("set_events", "ii", profiler->tool, 0, NULL));

    for (size_t i = 0; i < KINDS; i++) {
        long bit = bit_of(kinds[i].name);

        if (bit < 0 || monitor_done(monitor("register_callback", "iiO", profiler->tool, (int)bit,
                                            Py_None)) < 0)
            code = -1;
    }
    if (monitor_done(monitor("free_tool_id", "i", profiler->tool, 0, NULL)) < 0)
        code = -1;
    return code;
}
#endif
