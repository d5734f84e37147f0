#include "toolevents.h"

#if CAIRN_MONITORS
#include <structmember.h>

#include "profiler.h"

static const int tool_ids[] = {4, 3, 5, 0, 1};

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(((struct cairn_callback *)self)->held[0]);
    Py_XDECREF(((struct cairn_callback *)self)->held[1]);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct cairn_callback, call), READONLY, NULL},
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
    .basicsize = sizeof(struct cairn_callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

int cairn_tool_add_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &callback_spec, NULL);
    int code = type == NULL ? -1 : PyModule_AddObjectRef(module, "Callback", type);

    Py_XDECREF(type);
    return code;
}

/* Borrowed. */
static PyObject *find_monitoring(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");

    if (monitoring == NULL)
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
    return monitoring;
}

static int done(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int cairn_tool_take(int *ret_tool)
{
    PyObject *monitoring = find_monitoring();

    if (monitoring == NULL)
        return -1;
    for (size_t i = 0; i < sizeof(tool_ids) / sizeof(tool_ids[0]); i++) {
        PyObject *taken = PyObject_CallMethod(monitoring, "get_tool", "i", tool_ids[i]);

        if (taken == NULL)
            return -1;
        Py_DECREF(taken);
        if (taken != Py_None)
            continue;
        *ret_tool = tool_ids[i];
        return done(PyObject_CallMethod(monitoring, "use_tool_id", "is", *ret_tool, "cairn"));
    }
    PyErr_SetString(PyExc_ValueError, "Every tool id of sys.monitoring but 2 is in use");
    return -1;
}

int cairn_tool_give(int tool)
{
    PyObject *monitoring = find_monitoring();

    return monitoring == NULL ? -1
                              : done(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool));
}

PyObject *cairn_tool_disable(void)
{
    PyObject *monitoring = find_monitoring();

    return monitoring == NULL ? NULL : PyObject_GetAttrString(monitoring, "DISABLE");
}

int cairn_tool_restart(void)
{
    PyObject *monitoring = find_monitoring();

    return monitoring == NULL ? -1 : done(PyObject_CallMethod(monitoring, "restart_events", NULL));
}

/* The bit of an event, as this version has it; -1 with an exception set. */
static long bit_of(const char *name)
{
    PyObject *monitoring = find_monitoring(), *events, *bit;
    long value = -1;

    events = monitoring == NULL ? NULL : PyObject_GetAttrString(monitoring, "events");
    bit = events == NULL ? NULL : PyObject_GetAttrString(events, name);
    if (bit != NULL)
        value = PyLong_AsLong(bit);
    Py_XDECREF(bit);
    Py_XDECREF(events);
    return value;
}

static int register_callback(int tool, long bit, PyObject *callback)
{
    PyObject *monitoring = find_monitoring();

    return monitoring == NULL ? -1
                              : done(PyObject_CallMethod(monitoring, "register_callback", "ilO",
                                                         tool, bit, callback));
}

int cairn_tool_hook(int tool, const struct cairn_tool_hook *hook, void *context,
                    PyObject *const held[2], long *bits, PyObject **ret_callback)
{
    PyObject *type = cairn_module_member("Callback");
    struct cairn_callback *callback =
        type == NULL
            ? NULL
            : (struct cairn_callback *)((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
    long bit = callback == NULL ? -1 : bit_of(hook->event);
    int code = -1;

    if (bit >= 0) {
        callback->call = hook->call;
        callback->context = context;
        callback->held[0] = Py_XNewRef(held[0]);
        callback->held[1] = Py_XNewRef(held[1]);
        code = register_callback(tool, bit, (PyObject *)callback);
        *bits |= bit;
        if (ret_callback != NULL)
            *ret_callback = code == 0 ? (PyObject *)callback : NULL;
    }
    Py_XDECREF((PyObject *)callback);
    Py_XDECREF(type);
    return code;
}

int cairn_tool_unhook(int tool, const struct cairn_tool_hook *hook)
{
    long bit = bit_of(hook->event);

    return bit < 0 ? -1 : register_callback(tool, bit, Py_None);
}

int cairn_tool_set(int tool, long bits)
{
    PyObject *monitoring = find_monitoring();

    return monitoring == NULL
               ? -1
               : done(PyObject_CallMethod(monitoring, "set_events", "il", tool, bits));
}

int cairn_tool_set_local(int tool, PyObject *code, long bits)
{
    PyObject *monitoring = find_monitoring();

    return monitoring == NULL
               ? -1
               : done(PyObject_CallMethod(monitoring, "set_local_events", "iOl", tool, code, bits));
}
#endif
