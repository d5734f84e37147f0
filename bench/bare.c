/* bare.c: what an interpreter's own mechanism for telling of calls takes, with nobody behind it.
 *
 * The module `_bare`: evaluate(on) takes the slot for a function around the evaluation of frames
 * (until 3.11), profile(on) the profile function and trace(on) the trace function; they do nothing
 * but go on. nothing() is a callback for sys.monitoring that does not look at what it is given. After
 * clock(True) each of them reads the cheapest clock there is, and nothing else. No profiler that
 * uses one of them takes less.
 */
#include "evalslot.h"
#include "ticks.h"

static bool clocked;
static volatile int64_t read_last;

static inline void look(void)
{
    if (clocked)
        read_last = cairn_ticks_now();
}

static PyObject *clock_too(PyObject *module, PyObject *on)
{
    (void)module;
    clocked = on == Py_True;
    Py_RETURN_NONE;
}

#if CAIRN_MONITORS
static PyObject *evaluate(PyObject *module, PyObject *on)
{
    (void)module, (void)on;
    Py_RETURN_NONE;
}
#else
static struct cairn_eval_slot slot;

static PyObject *around(PyThreadState *thread, CAIRN_FRAME *frame, int throws)
{
    PyObject *result;

    look();
    result = cairn_eval_pass(&slot, thread, frame, throws);
    look();
    return result;
}

CAIRN_EVAL_FUNCTION(pass, around)

static PyObject *evaluate(PyObject *module, PyObject *on)
{
    (void)module;
    slot.function = pass;
    if (on == Py_True)
        cairn_eval_enter(&slot);
    else
        cairn_eval_leave(&slot);
    Py_RETURN_NONE;
}
#endif

static int told(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)self, (void)frame, (void)what, (void)argument;
    look();
    return 0;
}

static PyObject *profile(PyObject *module, PyObject *on)
{
    (void)module;
    PyEval_SetProfile(on == Py_True ? told : NULL, NULL);
    Py_RETURN_NONE;
}

static PyObject *trace(PyObject *module, PyObject *on)
{
    (void)module;
    PyEval_SetTrace(on == Py_True ? told : NULL, NULL);
    Py_RETURN_NONE;
}

static PyObject *nothing(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    look();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_O, NULL},
    {"clock", clock_too, METH_O, NULL},
    {"profile", profile, METH_O, NULL},
    {"trace", trace, METH_O, NULL},
    {"nothing", (PyCFunction)(void (*)(void))nothing, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_bare", NULL, -1, methods,
                                    NULL, NULL, NULL, NULL};

CAIRN_MODULE_INIT PyInit__bare(void);

CAIRN_MODULE_INIT PyInit__bare(void)
{
    return PyModule_Create(&module);
}
