/* toggle.c: a recording that counts only when it is told to, by a signal or by the program.
 *
 * The handler does nothing but have the main thread called back, between two of its instructions;
 * what the program itself sets for the signal takes its place. A forked child goes on as it was.
 */
#include "profiler.h"

#include <signal.h>

/* In the interpreter's dictionary, for other copies of this module, too: a list, whether it counts
 * now, and what has enable() and disable(). */
#define SWITCHED "cairn.switched"

/* Borrowed; NULL: there is none. */
static PyObject *find_switched(void)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp);

    return members == NULL ? NULL : PyDict_GetItemString(members, SWITCHED);
}

/* 0; -1 with an exception set. */
static int turn(PyObject *switched, bool on)
{
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(switched); i++) {
        PyObject *result =
            PyObject_CallMethod(PyList_GET_ITEM(switched, i), on ? "enable" : "disable", NULL);

        if (result == NULL)
            return -1;
        Py_DECREF(result);
    }
    return PyList_SetItem(switched, 0, PyBool_FromLong(on));
}

static bool is_on(PyObject *switched)
{
    return PyList_GET_ITEM(switched, 0) == Py_True;
}

static int flip(void *unused)
{
    PyObject *switched = find_switched();

    (void)unused;
    if (switched != NULL && turn(switched, !is_on(switched)) < 0)
        PyErr_WriteUnraisable(switched); /* the program goes on */
    return 0;
}

static void on_signal(int number)
{
    (void)number;
    (void)Py_AddPendingCall(flip, NULL); /* full: one more signal is needed */
}

static PyObject *toggle(PyObject *module, PyObject *args)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp), *switched;
    struct sigaction action = {.sa_flags = SA_RESTART};
    int number;

    (void)module;
    if (!PyArg_ParseTuple(args, "iO!:toggle", &number, &PyList_Type, &switched))
        return NULL;
    if (members == NULL)
        return PyErr_NoMemory();
    if (PyDict_SetItemString(members, SWITCHED, switched) < 0)
        return NULL;
    action.sa_handler = on_signal;
    (void)sigemptyset(&action.sa_mask);
    if (number != 0 && sigaction(number, &action, NULL) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *count(PyObject *module, PyObject *on)
{
    PyObject *switched = find_switched();
    int wanted = PyObject_IsTrue(on);

    (void)module;
    if (wanted < 0)
        return NULL;
    if (switched == NULL)
        Py_RETURN_FALSE;
    if ((bool)wanted != is_on(switched) && turn(switched, wanted) < 0)
        return NULL;
    Py_RETURN_TRUE;
}

PyMethodDef cairn_toggle_methods[] = {
    {"toggle", toggle, METH_VARARGS,
     "toggle(signal, [on, thing ...])\n\nHave the signal (0: none) enable() and disable() the "
     "things "
     "in turn; whether they are `on` now."},
    {"count", count, METH_O,
     "count(on) -> bool\n\nCount, or do not, in this process; whether there is a recording."},
    {NULL, NULL, 0, NULL},
};
