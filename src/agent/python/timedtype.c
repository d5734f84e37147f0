/* timedtype.c: what @cairn.timed makes of a function: it calls it, within a region of its name. */
#include "regiontypes.h"

#if PY_VERSION_HEX < 0x03090000
#define PyObject_Vectorcall _PyObject_Vectorcall
#define Py_TPFLAGS_HAVE_VECTORCALL _Py_TPFLAGS_HAVE_VECTORCALL
#endif

struct timed {
    PyObject_HEAD PyObject *function, *dict, *weak;
    PyObject *region;
    vectorcallfunc call;
};

static PyObject *timed_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct timed *timed = (struct timed *)self;
    struct cairn_region opened;
    PyObject *result;

    if (!cairn_region_recorded())
        return PyObject_Vectorcall(timed->function, args, count, names);
    opened = cairn_region_open(timed->region);
    result = PyObject_Vectorcall(timed->function, args, count, names);
    cairn_region_close(&opened);
    return result;
}

static PyObject *timed_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *function, *source, *name, *region;
    struct timed *timed;

    if (named != NULL && PyDict_GET_SIZE(named) > 0) {
        PyErr_SetString(PyExc_TypeError, "Timed() takes no arguments by name");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOU:Timed", &function, &source, &name))
        return NULL;
    region = cairn_region_kept(source, name);
    if (region == NULL)
        return NULL;
    timed = (struct timed *)type->tp_alloc(type, 0);
    if (timed == NULL) {
        Py_DECREF(region);
        return NULL;
    }
    Py_INCREF(function);
    timed->function = function;
    timed->region = region;
    timed->call = timed_call;
    return (PyObject *)timed;
}

static PyObject *timed_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, object);
}

static int timed_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct timed *)self)->function);
    Py_VISIT(((struct timed *)self)->dict);
    CAIRN_VISIT_TYPE(self);
    return 0;
}

static int timed_clear(PyObject *self)
{
    Py_CLEAR(((struct timed *)self)->function);
    Py_CLEAR(((struct timed *)self)->dict);
    return 0;
}

static void timed_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (((struct timed *)self)->weak != NULL)
        PyObject_ClearWeakRefs(self);
    (void)timed_clear(self);
    Py_XDECREF(((struct timed *)self)->region);
    type->tp_free(self);
    Py_DECREF(type);
}

/* As functions are pickled: by the name that they are found under. */
static PyObject *timed_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef timed_methods[] = {
    {"__reduce__", timed_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *timed_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<timed %R>", ((struct timed *)self)->function);
}

static PyGetSetDef timed_members[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot timed_slots[] = {
    {Py_tp_doc, (void *)"What @cairn.timed makes of a function."},
    {Py_tp_new, timed_new},
    {Py_tp_dealloc, timed_dealloc},
    {Py_tp_traverse, timed_traverse},
    {Py_tp_clear, timed_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, timed_get},
    {Py_tp_repr, timed_repr},
    {Py_tp_getset, timed_members},
    {Py_tp_methods, timed_methods},
    {0, NULL},
};

static PyType_Spec timed_spec = {
    .name = "cairn.Timed",
    .basicsize = sizeof(struct timed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = timed_slots,
};

/* No slot of a spec says where these lie, on 3.8. */
PyObject *cairn_timed_type(void)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&timed_spec);

    if (type == NULL)
        return NULL;
    type->tp_vectorcall_offset = offsetof(struct timed, call);
    type->tp_dictoffset = offsetof(struct timed, dict);
    type->tp_weaklistoffset = offsetof(struct timed, weak);
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Modified(type);
    return (PyObject *)type;
}
