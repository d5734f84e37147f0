#include "markvalues.h"

#include <string.h>

#define MOST_TEXT 2048 /* characters of a value; the file has room for fewer bytes */

struct cairn_span cairn_span_of(PyObject *text)
{
    Py_ssize_t size;
    const char *bytes = text == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, &size);

    if (bytes == NULL) { /* a lone surrogate */
        PyErr_Clear();
        return (struct cairn_span){(const uint8_t *)"?", 1};
    }
    return (struct cairn_span){(const uint8_t *)bytes, (size_t)size};
}

/* What str() says, a str and no kind of it. "?" where it fails, since without a recorder nobody
 * would have asked; but what is to end the program or its task, such as Ctrl-C, goes on. */
static PyObject *text_of(PyObject *value)
{
    PyObject *text = PyObject_Str(value), *exact;

    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return NULL;
        PyErr_Clear();
        return PyUnicode_FromString("?");
    }
    if (PyUnicode_CheckExact(text) && PyUnicode_GET_LENGTH(text) <= MOST_TEXT)
        return text;
    exact = PyUnicode_Substring(text, 0, MOST_TEXT); /* never a kind of str */
    Py_DECREF(text);
    return exact;
}

/* Until all are converted, a text stands in the bits: a reference. */
static int convert(PyObject *value, struct cairn_region_value *ret)
{
    PyObject *text;
    int over = 0;

    *ret = (struct cairn_region_value){.type = CAIRN_REGION_INTEGER};
    if (PyFloat_Check(value)) {
        double told = PyFloat_AS_DOUBLE(value);

        ret->type = CAIRN_REGION_NUMBER;
        memcpy(&ret->bits, &told, sizeof(told));
        return 0;
    }
    if (PyLong_Check(value)) {
        ret->bits = (uint64_t)PyLong_AsLongLongAndOverflow(value, &over);
        if (over == 0)
            return 0;
    }
    text = text_of(value);
    if (text == NULL)
        return -1;
    ret->type = CAIRN_REGION_TEXT;
    ret->bits = (uintptr_t)text;
    return 0;
}

int cairn_values_convert(PyObject *const *from, struct cairn_region_value *values, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (convert(from[i], &values[i]) < 0) {
            while (i-- > 0)
                if (values[i].type == CAIRN_REGION_TEXT)
                    Py_DECREF((PyObject *)(uintptr_t)values[i].bits);
            return -1;
        }
    return 0;
}

void cairn_values_number(struct cairn_regions *regions, struct cairn_region_value *values,
                         Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *text = (PyObject *)(uintptr_t)values[i].bits;

        if (values[i].type != CAIRN_REGION_TEXT)
            continue;
        values[i].bits = cairn_regions_name(regions, cairn_span_of(text));
        if (values[i].bits == 0)
            values[i].name = 0;
        Py_DECREF(text);
    }
}
