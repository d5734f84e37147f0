/* toggle.c: a recording that counts only when it is told to, by a signal or by the program.
 *
 * The signal's handler is one of Python's, which runs between two instructions of the main thread;
 * what the program itself sets for the signal takes its place. A forked child goes on as it was.
 */
#include "profiler.h"

/* In the interpreter's dictionary, for other copies of this module, too: a list, whether it counts
 * now, and what has enable() and disable(). */
#define SWITCHED "cairn.switched"

/* Borrowed; NULL: there is none. */
static PyObject *find_switched(void)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp);

    return members == NULL ? NULL : PyDict_GetItemString(members, SWITCHED);
}

static int turn_one(PyObject *thing, bool on)
{
    PyObject *result = PyObject_CallMethod(thing, on ? "enable" : "disable", NULL);

    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* What is switched off first is what was switched on last: lines are told of calls. 0; -1 with an
 * exception set, and all off that was switched on. */
static int turn(PyObject *switched, bool on)
{
    Py_ssize_t count = PyList_GET_SIZE(switched), done = 1;

    while (on && done < count && turn_one(PyList_GET_ITEM(switched, done), true) == 0)
        done++;
    if (on && done == count)
        return PyList_SetItem(switched, 0, PyBool_FromLong(1));
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    for (Py_ssize_t i = on ? done : count; i-- > 1;)
        if (turn_one(PyList_GET_ITEM(switched, i), false) < 0)
            PyErr_WriteUnraisable(switched);
    (void)PyList_SetItem(switched, 0, PyBool_FromLong(0));
    PyErr_Restore(type, value, trace);
    return on ? -1 : 0;
}

static bool is_on(PyObject *switched)
{
    return PyList_GET_ITEM(switched, 0) == Py_True;
}

static PyObject *toggle(PyObject *module, PyObject *switched)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp);

    (void)module;
    if (!PyList_Check(switched) || PyList_GET_SIZE(switched) == 0) {
        PyErr_SetString(PyExc_TypeError, "toggle() takes a list");
        return NULL;
    }
    if (members == NULL)
        return PyErr_NoMemory();
    if (PyDict_SetItemString(members, SWITCHED, switched) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *flip(PyObject *module, PyObject *unused)
{
    PyObject *switched = find_switched();

    (void)module, (void)unused;
    if (switched != NULL && turn(switched, !is_on(switched)) < 0)
        PyErr_WriteUnraisable(switched); /* the program goes on */
    Py_RETURN_NONE;
}

static PyObject *count(PyObject *module, PyObject *on)
{
    PyObject *switched = find_switched();
    int wanted = PyObject_IsTrue(on);

    (void)module;
    if (wanted < 0)
        return NULL;
    if (switched == NULL || PyList_GET_SIZE(switched) == 1)
        Py_RETURN_FALSE;
    if ((bool)wanted != is_on(switched) && turn(switched, wanted) < 0)
        return NULL;
    Py_RETURN_TRUE;
}

PyMethodDef cairn_toggle_methods[] = {
    {"toggle", toggle, METH_O,
     "toggle([on, thing ...])\n\nWhat flip() and count() enable() and disable(); whether that is "
     "on."},
    {"flip", flip, METH_VARARGS,
     "flip(signal, frame)\n\nA handler: on if it is off, and off if on."},
    {"count", count, METH_O,
     "count(on) -> bool\n\nCount, or do not, in this process; whether there is a recording."},
    {NULL, NULL, 0, NULL},
};
