/* pycompat.h: what differs between CPython 3.8 and 3.15, each with its reason. Comes in place of
 * Python.h. */
#ifndef CAIRN_PYCOMPAT_H
#define CAIRN_PYCOMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Where sys.monitoring is, events come from there; before, from the profile function. */
#define CAIRN_MONITORS (PY_VERSION_HEX >= 0x030c0000)

#if CAIRN_MONITORS
/* The layout of a frame, for who called it: no public function tells that without making an
 * object. */
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe_structs.h>
#else
#include <internal/pycore_frame.h>
#endif
#undef Py_BUILD_CORE

static inline const struct _PyInterpreterFrame *cairn_frame_now(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return PyThreadState_GetUnchecked()->current_frame;
#else
    return _PyThreadState_UncheckedGet()->cframe->current_frame; /* 3.12 has one level more */
#endif
}

/* The unit of the code at which its frame stands. */
static inline int cairn_frame_unit(const struct _PyInterpreterFrame *frame,
                                   const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030d0000
    const char *at = (const char *)frame->instr_ptr;
#else
    const char *at = (const char *)frame->prev_instr;
#endif

    return (int)((at - code->co_code_adaptive) / (Py_ssize_t)sizeof(_Py_CODEUNIT));
}

/* The frame of the Python code that called this one, across what C has in between. */
static inline const struct _PyInterpreterFrame *cairn_frame_caller(
    const struct _PyInterpreterFrame *frame)
{
    do
        frame = frame->previous;
    while (frame != NULL && frame->owner > FRAME_OWNED_BY_FRAME_OBJECT);
    return frame;
}
#else
#include <frameobject.h>
#endif

/* A new reference. */
static inline PyObject *cairn_type_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyType_GetDict(type); /* those of static types lie with the interpreter */
#else
    Py_XINCREF(type->tp_dict);
    return type->tp_dict;
#endif
}

/* Types that are made at run time belong to their objects from 3.8 on; 3.8 does not visit them. */
#if PY_VERSION_HEX >= 0x03090000
#define CAIRN_VISIT_TYPE(self) Py_VISIT(Py_TYPE(self))
#else
#define CAIRN_VISIT_TYPE(self) (void)0
#endif

/* 3.8 does not export the function that a module begins with when all else is hidden. */
#define CAIRN_MODULE_INIT __attribute__((visibility("default"))) PyMODINIT_FUNC

#endif
