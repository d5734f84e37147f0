#include "chooser.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WRAPPED 32

int cairn_chooser_init(struct cairn_chooser *chooser, PyObject *words)
{
    if (!PyList_Check(words)) {
        PyErr_SetString(PyExc_TypeError, "a list of words");
        return -1;
    }
    Py_INCREF(words);
    chooser->words = words;
    return 0;
}

void cairn_chooser_release(struct cairn_chooser *chooser)
{
    Py_CLEAR(chooser->words);
}

static bool equals(PyObject *text, const char *word, size_t length)
{
    Py_ssize_t size = 0;
    const char *bytes =
        text != NULL && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;

    return bytes != NULL && (size_t)size == length && memcmp(bytes, word, length) == 0;
}

/* Borrowed; NULL: it has none. */
static PyObject *module_of(PyObject *globals)
{
    return globals != NULL && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__")
                                                    : NULL;
}

#if PY_VERSION_HEX < 0x030b0000
/* What a member of a module or class is, without asking it; borrowed. */
static PyObject *member(PyObject *where, const char *name, size_t length)
{
    PyObject *key = PyUnicode_FromStringAndSize(name, (Py_ssize_t)length), *found = NULL;

    if (key != NULL && PyDict_Check(where))
        found = PyDict_GetItem(where, key);
    else if (key != NULL && PyType_Check(where))
        found = PyDict_GetItem(((PyTypeObject *)where)->tp_dict, key);
    Py_XDECREF(key);
    return found;
}

/* Ends the search by StopIteration. */
static int compare(void *context, PyObject *code)
{
    if (code != context)
        return 0;
    PyErr_SetNone(PyExc_StopIteration);
    return -1;
}

/* Code has no qualified name there: whether the path leads to it. */
static bool is_at(PyCodeObject *code, PyObject *globals, const char *path, size_t length)
{
    PyObject *found = globals;
    const char *end = path + length;
    bool is;

    while (found != NULL && path <= end) {
        const char *dot = memchr(path, '.', (size_t)(end - path));

        dot = dot == NULL ? end : dot;
        found = member(found, path, (size_t)(dot - path));
        path = dot + 1;
    }
    if (found != NULL)
        (void)cairn_chooser_codes(found, compare, code);
    is = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_StopIteration);
    PyErr_Clear();
    return is;
}
#endif

static bool is_called(PyCodeObject *code, PyObject *globals, const char *name, size_t length)
{
#if PY_VERSION_HEX >= 0x030b0000
    (void)globals;
    return equals(code->co_qualname, name, length);
#else
    const char *last = memrchr(name, '.', length);
    size_t head = last == NULL ? 0 : (size_t)(last + 1 - name);

    if (!equals(code->co_name, name + head, length - head))
        return false;
    /* Nobody can tell functions within functions apart there. */
    return last == NULL || memmem(name, length, "<locals>", 8) != NULL ||
           is_at(code, globals, name, length);
#endif
}

static bool has_line(PyCodeObject *code, long line)
{
    bool has = code->co_firstlineno == line;
#if PY_VERSION_HEX >= 0x030a0000
    PyObject *lines = PyObject_CallMethod((PyObject *)code, "co_lines", NULL), *entry;

    while (!has && lines != NULL && (entry = PyIter_Next(lines)) != NULL) {
        PyObject *number = PyTuple_GetItem(entry, 2); /* borrowed */

        has = number != NULL && PyLong_Check(number) && PyLong_AsLong(number) == line;
        Py_DECREF(entry);
    }
    Py_XDECREF(lines);
    PyErr_Clear();
#else
    const char *pairs = PyBytes_AS_STRING(code->co_lnotab);
    long at = code->co_firstlineno;

    for (Py_ssize_t i = 0; !has && i + 1 < PyBytes_GET_SIZE(code->co_lnotab); i += 2) {
        at += (signed char)pairs[i + 1];
        has = at == line;
    }
#endif
    return has;
}

/* Whether the path ends with these parts, whole ones. */
static bool is_file(PyObject *path, const char *file, size_t length)
{
    Py_ssize_t size = 0;
    const char *bytes = PyUnicode_AsUTF8AndSize(path, &size);

    return bytes != NULL && (size_t)size >= length &&
           memcmp(bytes + (size_t)size - length, file, length) == 0 &&
           ((size_t)size == length || file[0] == '/' || bytes[(size_t)size - length - 1] == '/');
}

/* Children that multiprocessing starts anew have the program's module under another name. */
static bool is_the_programs(PyObject *globals)
{
    PyObject *module = module_of(globals);

    return equals(module, "__main__", 8) || equals(module, "__mp_main__", 11);
}

/* By what it was found as: with -m PACKAGE.MODULE that is not what it is called. */
static bool is_found_as(PyObject *globals, const char *name, size_t length)
{
    PyObject *spec = PyDict_GetItemString(globals, "__spec__");
    PyObject *found = spec == NULL ? NULL : PyObject_GetAttrString(spec, "name");
    bool is = equals(found, name, length);

    Py_XDECREF(found);
    PyErr_Clear(); /* a script has None */
    return is;
}

/* The program's own module, too, by what it would be called if it were imported. */
static bool is_module(PyCodeObject *code, PyObject *globals, const char *name, size_t length)
{
    Py_ssize_t size = 0;
    const char *path, *base;

    if (equals(module_of(globals), name, length))
        return true;
    if (!is_the_programs(globals))
        return false;
    if (is_found_as(globals, name, length))
        return true;
    path = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
    if (path == NULL)
        return false;
    base = memrchr(path, '/', (size_t)size);
    base = base == NULL ? path : base + 1;
    return strlen(base) == length + 3 && memcmp(base, name, length) == 0 &&
           strcmp(base + length, ".py") == 0;
}

static bool is_meant(const char *word, size_t length, PyCodeObject *code, PyObject *globals)
{
    const char *colon = memrchr(word, ':', length);
    size_t head = colon == NULL ? 0 : (size_t)(colon - word);
    char *end;
    long line;

    if (colon == NULL)
        return equals(code->co_name, word, length) || is_called(code, globals, word, length) ||
               is_module(code, globals, word, length);
    line = strtol(colon + 1, &end, 10);
    if (colon[1] != '\0' && *end == '\0')
        return is_file(code->co_filename, word, head) && has_line(code, line);
    return is_module(code, globals, word, head) &&
           (equals(code->co_name, colon + 1, length - head - 1) ||
            is_called(code, globals, colon + 1, length - head - 1));
}

bool cairn_chooser_wants(const struct cairn_chooser *chooser, PyCodeObject *code, PyObject *globals)
{
    Py_ssize_t count = PyList_GET_SIZE(chooser->words);
    PyObject *type, *value, *trace;
    bool wants;

    PyErr_Fetch(&type, &value, &trace);
    wants = count == 0 && is_the_programs(globals);
    for (Py_ssize_t i = 0; !wants && i < count; i++) {
        Py_ssize_t length;
        const char *word = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(chooser->words, i), &length);

        wants = word != NULL && is_meant(word, (size_t)length, code, globals);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return wants;
}

struct taker {
    int (*take)(void *context, PyObject *code);
    void *context;
};

static int add(const struct taker *taker, PyObject *thing, int left);

static int add_attribute(const struct taker *taker, PyObject *thing, const char *name, int left)
{
    PyObject *inner = PyObject_GetAttrString(thing, name);
    int code;

    if (inner == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    code = add(taker, inner, left);
    Py_DECREF(inner);
    return code;
}

/* Classes that are members are left alone: they may belong to anybody. */
static int add_members(const struct taker *taker, PyObject *type, int left)
{
    PyObject *own = PyObject_GetAttrString(type, "__dict__");
    PyObject *values = own == NULL ? NULL : PyMapping_Values(own);
    int code = values == NULL ? -1 : 0;

    for (Py_ssize_t i = 0; code == 0 && i < PyList_GET_SIZE(values); i++)
        if (!PyType_Check(PyList_GET_ITEM(values, i)))
            code = add(taker, PyList_GET_ITEM(values, i), left);
    Py_XDECREF(values);
    Py_XDECREF(own);
    return code;
}

static int add(const struct taker *taker, PyObject *thing, int left)
{
    static const char *const parts[] = {"fget", "fset", "fdel"};

    if (left == 0)
        return 0;
    if (PyFunction_Check(thing) && taker->take(taker->context, PyFunction_GET_CODE(thing)) < 0)
        return -1;
    if (PyType_Check(thing))
        return add_members(taker, thing, left - 1);
    if (PyMethod_Check(thing) || PyObject_TypeCheck(thing, &PyStaticMethod_Type) ||
        PyObject_TypeCheck(thing, &PyClassMethod_Type))
        return add_attribute(taker, thing, "__func__", left - 1);
    if (PyObject_TypeCheck(thing, &PyProperty_Type)) {
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            if (add_attribute(taker, thing, parts[i], left - 1) < 0)
                return -1;
        return 0;
    }
    return add_attribute(taker, thing, "__wrapped__", left - 1);
}

int cairn_chooser_codes(PyObject *thing, int (*take)(void *context, PyObject *code), void *context)
{
    const struct taker taker = {take, context};

    return add(&taker, thing, MOST_WRAPPED);
}
