#include "operands.h"

#include <stdio.h>
#include <string.h>

#if !CAIRN_MONITORS
#include "evalslot.h" /* the layout of 3.11's frames */
#endif

#if PY_VERSION_HEX >= 0x030e0000
#define Py_BUILD_CORE 1
#include <internal/pycore_stackref.h>
#undef Py_BUILD_CORE

typedef _PyStackRef slot_type;

static PyObject *value_in(slot_type slot)
{
    if (PyStackRef_IsNull(slot) || PyStackRef_IsTaggedInt(slot))
        return NULL;
    return PyStackRef_AsPyObjectBorrow(slot);
}
#else
typedef PyObject *slot_type;

static PyObject *value_in(slot_type slot)
{
    return slot;
}
#endif

/* --- names --- */

static const char *text_of(PyObject *text)
{
    const char *utf8 = text != NULL && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;

    if (utf8 == NULL)
        PyErr_Clear();
    return utf8;
}

/* As repr() has it: without the module of those that are built in. */
static void name_type(PyTypeObject *type, char *ret_name, size_t room)
{
    const char *name = NULL, *module = NULL;

    if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        name = text_of(((PyHeapTypeObject *)type)->ht_qualname);
        module = text_of(PyDict_GetItemString(type->tp_dict, "__module__"));
        PyErr_Clear();
    }
    if (name == NULL)
        name = type->tp_name;
    if (module != NULL && strcmp(module, "builtins") != 0)
        snprintf(ret_name, room, "%s.%s", module, name);
    else
        snprintf(ret_name, room, "%s", name);
}

static PyObject *function_in(PyObject *callee)
{
    if (PyMethod_Check(callee))
        callee = PyMethod_GET_FUNCTION(callee);
    return PyFunction_Check(callee) ? callee : NULL;
}

static const char *name_of_code(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return text_of(code->co_qualname);
#else
    return text_of(code->co_name);
#endif
}

/* What is called, by its own name where it has one, else by its type's. */
static void name_callee(PyObject *callee, char *ret_name, size_t room)
{
    PyObject *function = function_in(callee);
    const char *name = NULL;

    if (function != NULL)
        name = name_of_code((PyCodeObject *)PyFunction_GET_CODE(function));
    else if (PyCFunction_Check(callee))
        name = ((PyCFunctionObject *)callee)->m_ml->ml_name;
    else if (Py_TYPE(callee) == &PyMethodDescr_Type)
        name = text_of(((PyDescrObject *)callee)->d_name);
    if (name != NULL)
        snprintf(ret_name, room, "%s()", name);
    else if (PyType_Check(callee))
        name_type((PyTypeObject *)callee, ret_name, room);
    else
        name_type(Py_TYPE(callee), ret_name, room);
}

/* --- keys --- */

/* An address may be given to another type, when the first is gone: the length and the end of the
 * name go into it. */
static uintptr_t key_of_type(const PyTypeObject *type)
{
    size_t length = strlen(type->tp_name);
    uint64_t end = 0;

    memcpy(&end, type->tp_name + (length < sizeof(end) ? 0 : length - sizeof(end)),
           length < sizeof(end) ? length : sizeof(end));
    return (uintptr_t)type ^ (uintptr_t)((end + length) * 0x9e3779b97f4a7c15u);
}

static uintptr_t key_of_callee(PyObject *callee)
{
    PyObject *function = function_in(callee);
    PyCodeObject *code = function == NULL ? NULL : (PyCodeObject *)PyFunction_GET_CODE(function);

    if (code != NULL)
        return (uintptr_t)code ^ (uintptr_t)code->co_firstlineno << 40;
    if (PyCFunction_Check(callee))
        return (uintptr_t)((PyCFunctionObject *)callee)->m_ml;
    if (Py_TYPE(callee) == &PyMethodDescr_Type)
        return (uintptr_t)((PyMethodDescrObject *)callee)->d_method;
    return key_of_type(PyType_Check(callee) ? (PyTypeObject *)callee : Py_TYPE(callee));
}

/* --- spots --- */

/* The values from `first` on, of which there are `left` up to the top of the stack. */
static void look(struct cairn_lines_hub *hub, struct cairn_spots *spots, uint32_t index,
                 const slot_type *first, uint32_t left)
{
    const struct cairn_spot_place *place = &spots->places[index];
    char name[CAIRN_SPOT_NAME_BYTES] = "";
    PyObject *values[2] = {NULL, NULL};
    uintptr_t key = 0;
    size_t length;

    for (uint32_t i = 0; i < 2 && i < left; i++)
        values[i] = value_in(first[i]);
    if (place->count == 0 && values[0] == NULL)
        values[0] = values[1];
    if (values[0] == NULL || (place->count == 2 && values[1] == NULL))
        return;
    if (place->count == 0)
        key = key_of_callee(values[0]);
    for (uint32_t i = 0; i < place->count; i++)
        key = (key << 7 | key >> (8 * sizeof(key) - 7)) ^ key_of_type(Py_TYPE(values[i]));
    if (cairn_spots_meet(spots, index, key | 1))
        return;
    if (place->count == 0)
        name_callee(values[0], name, sizeof(name));
    for (uint32_t i = 0; i < place->count; i++) {
        length = strlen(name);
        if (i > 0)
            length += (size_t)snprintf(name + length, sizeof(name) - length, ", ");
        if (length < sizeof(name))
            name_type(Py_TYPE(values[i]), name + length, sizeof(name) - length);
    }
    cairn_spots_name(hub, spots, index, key | 1,
                     (struct cairn_span){(const uint8_t *)name, strlen(name)});
}

#if CAIRN_MONITORS
void cairn_operands_look(struct cairn_lines_hub *hub, struct cairn_spots *spots, uint32_t index,
                         PyObject *code, const struct _PyInterpreterFrame *frame)
{
    const struct cairn_spot_place *place = &spots->places[index];
    const slot_type *bottom = frame->localsplus + ((PyCodeObject *)code)->co_nlocalsplus;
#if PY_VERSION_HEX >= 0x030e0000
    ptrdiff_t depth = frame->stackpointer - bottom;
#else
    ptrdiff_t depth = (ptrdiff_t)place->depth - 1; /* the frame does not know */
#endif

    if (spots->met != NULL && depth >= (ptrdiff_t)place->below)
        look(hub, spots, index, bottom + depth - place->below, place->below);
}
#else
void cairn_operands_look(struct cairn_lines_hub *hub, struct cairn_spots *spots, uint32_t index,
                         PyFrameObject *frame)
{
    const struct cairn_spot_place *place = &spots->places[index];
#if PY_VERSION_HEX >= 0x030b0000
    slot_type *bottom = frame->f_frame->localsplus + frame->f_frame->f_code->co_nlocalsplus;
    ptrdiff_t depth = frame->f_frame->localsplus + frame->f_frame->stacktop - bottom;
#elif PY_VERSION_HEX >= 0x030a0000
    slot_type *bottom = frame->f_valuestack;
    ptrdiff_t depth = frame->f_stackdepth;
#else
    slot_type *bottom = frame->f_valuestack;
    ptrdiff_t depth = frame->f_stacktop == NULL ? 0 : frame->f_stacktop - bottom;
#endif

    if (spots->met != NULL && depth >= (ptrdiff_t)place->below)
        look(hub, spots, index, bottom + depth - place->below, place->below);
}
#endif
