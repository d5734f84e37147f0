/* callees.c: what stands for a callee that is no Python code, and what is learnt of one: its code
 * object, or the name that profiles have for it. */
#include "profiler.h"

#include <string.h>

/* Types are not kept alive for our sake, and an address may be taken over by another one: what
 * stands for a type is its weak reference, which its bases hold as long as it lives, and then who
 * learnt of it. Static types live on. */
static const void *key_of_type(PyObject *type)
{
    PyObject *weak;

    if (!PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE))
        return type;
    weak = PyWeakref_NewRef(type, NULL);
    if (weak == NULL)
        PyErr_Clear();
    Py_XDECREF(weak);
    return weak;
}

static bool is_own_type(const struct cairn_profiler *profiler, PyObject *type)
{
    static const char ours[] = CAIRN_MODULE_NAME ".";

    return profiler->apart && strncmp(((PyTypeObject *)type)->tp_name, ours, sizeof(ours) - 1) == 0;
}

static inline const void *unless_own(const struct cairn_profiler *profiler, const void *method)
{
    return cairn_callee_is_own(profiler, method) ? NULL : method;
}

const void *cairn_profiler_key(const struct cairn_profiler *profiler, PyObject *callee,
                               bool has_self)
{
    /* Most are of these types; a subtype is looked for last, for that takes a call. */
    if (Py_TYPE(callee) == &PyFunction_Type || Py_TYPE(callee) == &PyMethod_Type)
        return NULL;
    if (Py_TYPE(callee) == &PyMethodDescr_Type)
        return has_self ? unless_own(profiler, ((PyMethodDescrObject *)callee)->d_method) : NULL;
    if (PyCFunction_Check(callee))
        return unless_own(profiler, ((PyCFunctionObject *)callee)->m_ml);
    return profiler->types && PyType_Check(callee) && !is_own_type(profiler, callee)
               ? key_of_type(callee)
               : NULL;
}

/* What type(self) calls `name`: a new reference, NULL when it has none. */
static PyObject *find_member(PyTypeObject *type, const char *name)
{
    PyObject *order = type->tp_mro, *found = NULL;

    for (Py_ssize_t i = 0; order != NULL && i < PyTuple_GET_SIZE(order) && found == NULL; i++) {
        PyObject *members = cairn_type_dict((PyTypeObject *)PyTuple_GET_ITEM(order, i));

        found = members == NULL ? NULL : PyDict_GetItemString(members, name);
        Py_XINCREF(found);
        Py_XDECREF(members);
    }
    return found;
}

/* As cProfile has it: by what the object's type calls so, though it may be Python code that covers
 * the function. NULL: it has no such name. */
static PyObject *name_member(PyObject *self, const char *name)
{
    PyObject *found = find_member(Py_TYPE(self), name);
    PyObject *text = found == NULL ? NULL : PyObject_Repr(found);

    Py_XDECREF(found);
    PyErr_Clear();
    return text;
}

static PyObject *name_function(PyCFunctionObject *function)
{
    const char *name = function->m_ml->ml_name;
    PyObject *module = function->m_module, *text;

    if (function->m_self != NULL) {
        text = name_member(function->m_self, name);
        if (text != NULL)
            return text;
        if (module != NULL && PyUnicode_Check(module))
            return PyUnicode_FromFormat("<built-in method %U.%s>", module, name);
        return PyUnicode_FromFormat("<built-in method %s>", name);
    }
    if (module != NULL && PyModule_Check(module))
        module = PyModule_GetNameObject(module);
    else
        Py_XINCREF(module);
    if (module == NULL)
        PyErr_Clear();
    if (module != NULL && PyUnicode_Check(module) &&
        PyUnicode_CompareWithASCIIString(module, "builtins") != 0)
        text = PyUnicode_FromFormat("<%U.%s>", module, name);
    else
        text = PyUnicode_FromFormat("<%s>", name);
    Py_XDECREF(module);
    return text;
}

/* What stands for the type beside its name. */
static PyObject *name_type(PyObject *callee, PyObject *key)
{
    PyObject *text = PyType_Type.tp_repr(callee);
    PyObject *both = text == NULL ? NULL : PyTuple_Pack(2, text, key);

    Py_XDECREF(text);
    return both;
}

static PyObject *name_method(PyMethodDescrObject *method, PyObject *self)
{
    PyObject *text = name_member(self, method->d_method->ml_name);

    return text != NULL ? text : PyObject_Repr((PyObject *)method);
}

void *cairn_callee_learn(void *context, const void *key, void *callee)
{
    PyObject *const *called = callee; /* and what it is called on */
    PyObject *object = called[0], *learnt, *type, *value, *trace;

    (void)context;
    PyErr_Fetch(&type, &value, &trace);
    if (PyCFunction_Check(object)) {
        learnt = name_function((PyCFunctionObject *)object);
    } else if (PyType_Check(object)) {
        learnt = name_type(object, (PyObject *)(uintptr_t)key);
    } else if (Py_TYPE(object) == &PyMethodDescr_Type) {
        learnt = name_method((PyMethodDescrObject *)object, called[1]);
    } else {
        Py_INCREF(object);
        learnt = object;
    }
    PyErr_Restore(type, value, trace); /* over what failed here, if anything did */
    return learnt;
}

void cairn_callee_forget(void *context, void *learnt)
{
    (void)context;
    Py_DECREF((PyObject *)learnt);
}
