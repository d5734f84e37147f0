#include "chooser.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_WRAPPED 32
#define MOST_NESTED 64  /* code in code; more than the compiler makes */
#define PATH_BYTES 1024 /* of a qualified name; who has a longer one is not found by it */

int cairn_chooser_init(struct cairn_chooser *chooser, PyObject *words)
{
    if (!PyList_Check(words)) {
        PyErr_SetString(PyExc_TypeError, "a list of words");
        return -1;
    }
    Py_INCREF(words);
    chooser->words = words;
    chooser->methods = NULL;
    chooser->met = NULL;
    return 0;
}

void cairn_chooser_release(struct cairn_chooser *chooser)
{
    Py_CLEAR(chooser->words);
    Py_CLEAR(chooser->methods);
}

void cairn_chooser_tell(struct cairn_chooser *chooser, PyObject *folder, bool calls)
{
    char name[CAIRN_SPOOL_PATH_BYTES];
    PyObject *path;
    void *bits = MAP_FAILED;
    int fd = -1, size;

    if (!PyUnicode_FSConverter(folder, &path)) {
        PyErr_Clear();
        return;
    }
    size = snprintf(name, sizeof(name), "%s/" CAIRN_SPOOL_MET ".%s.%d", PyBytes_AS_STRING(path),
                    calls ? "calls" : "lines", (int)getpid());
    Py_DECREF(path);
    if (size < (int)sizeof(name))
        fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    /* Room for it now: who writes to what has none is killed. */
    if (fd >= 0 && posix_fallocate(fd, 0, sizeof(*chooser->met)) == 0)
        bits = mmap(NULL, sizeof(*chooser->met), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0 && bits == MAP_FAILED)
        (void)!ftruncate(fd, 0); /* who reads that knows that nothing is told */
    if (fd >= 0)
        close(fd);
    if (bits != MAP_FAILED)
        chooser->met = bits;
}

/* So few words are told of; of others nobody asks. */
static bool is_met(const struct cairn_chooser *chooser, Py_ssize_t word)
{
    return chooser->met == NULL || word >= 64 ||
           (__atomic_load_n(chooser->met, __ATOMIC_RELAXED) >> word & 1) != 0;
}

static void meet(struct cairn_chooser *chooser, Py_ssize_t word)
{
    if (!is_met(chooser, word))
        __atomic_fetch_or(chooser->met, UINT64_C(1) << word, __ATOMIC_RELAXED);
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

/* The body of a class: it is not optimised, as those of functions are, nor called <module>. */
static bool is_class_body(PyCodeObject *code)
{
    return (code->co_flags & CO_OPTIMIZED) == 0 && !equals(code->co_name, "<module>", 8);
}

/* What the compiler makes of all annotations of a module or class (3.14): its lines span what
 * stands between them. */
static bool is_of_annotations(const char *name)
{
    return strcmp(name, "__annotate__") == 0;
}

/* Lambdas are members of a class as functions are; what a body's comprehensions run is none. */
static bool may_be_method(PyCodeObject *code)
{
    const char *name = PyUnicode_AsUTF8(code->co_name);

    return (code->co_flags & CO_OPTIMIZED) != 0 && name != NULL && !is_of_annotations(name) &&
           (name[0] != '<' || strcmp(name, "<lambda>") == 0);
}

/* Whether a word is the qualified name of a class, or the last part of it. */
static bool names_class(const char *word, size_t length, const char *path, size_t size)
{
    if (size < length || memcmp(path + size - length, word, length) != 0)
        return false;
    return size == length || (path[size - length - 1] == '.' && memchr(word, '.', length) == NULL);
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

#if PY_VERSION_HEX >= 0x030b0000
/* Whether the word names a class that this is defined in; what is within a function of it is not.
 */
static bool is_in_class(PyCodeObject *code, PyObject *globals, const char *word, size_t length)
{
    Py_ssize_t size = 0;
    const char *path = PyUnicode_AsUTF8AndSize(code->co_qualname, &size), *dot, *from, *next;

    (void)globals;
    if (path == NULL || !may_be_method(code))
        return false;
    for (from = path; (next = strstr(from, "<locals>.")) != NULL;)
        from = next + strlen("<locals>.");
    for (dot = strchr(from, '.'); dot != NULL; dot = strchr(dot + 1, '.'))
        if (names_class(word, length, path, (size_t)(dot - path)))
            return true;
    return false;
}
#else
/* Of a class whose module was there before anybody looked: by what is in it now. */
static bool is_in_class(PyCodeObject *code, PyObject *globals, const char *word, size_t length)
{
    return may_be_method(code) && is_at(code, globals, word, length);
}
#endif

struct lines { /* of a code object */
    long last;
    bool has; /* the one that is asked for */
};

static void see_line(struct lines *lines, long line, long wanted)
{
    lines->last = line > lines->last ? line : lines->last;
    lines->has |= line == wanted;
}

static struct lines lines_of(PyCodeObject *code, long wanted)
{
    struct lines lines = {.last = 0};
#if PY_VERSION_HEX >= 0x030a0000
    PyObject *all = PyObject_CallMethod((PyObject *)code, "co_lines", NULL), *entry;

    see_line(&lines, code->co_firstlineno, wanted);
    while (all != NULL && (entry = PyIter_Next(all)) != NULL) {
        PyObject *number = PyTuple_GetItem(entry, 2); /* borrowed */

        if (number != NULL && PyLong_Check(number))
            see_line(&lines, PyLong_AsLong(number), wanted);
        Py_DECREF(entry);
    }
    Py_XDECREF(all);
    PyErr_Clear();
#else
    const char *pairs = PyBytes_AS_STRING(code->co_lnotab);
    long at = code->co_firstlineno;

    see_line(&lines, at, wanted);
    for (Py_ssize_t i = 0; i + 1 < PyBytes_GET_SIZE(code->co_lnotab); i += 2) {
        at += (signed char)pairs[i + 1];
        see_line(&lines, at, wanted);
    }
#endif
    return lines;
}

/* What `def` makes: no module, body of a class, lambda or comprehension. */
static bool is_function(PyCodeObject *code)
{
    const char *name = PyUnicode_AsUTF8(code->co_name);

    return (code->co_flags & CO_OPTIMIZED) != 0 && name != NULL && name[0] != '<' &&
           !is_of_annotations(name);
}

/* Whether a line lies in a function that is defined within the code. */
static bool is_in_inner(PyCodeObject *code, long line)
{
    struct {
        PyObject *constants;
        Py_ssize_t at;
    } path[MOST_NESTED];
    size_t depth = 1;

    path[0].constants = code->co_consts;
    path[0].at = 0;
    while (depth > 0) {
        PyObject *constants = path[depth - 1].constants, *inner;

        if (path[depth - 1].at >= PyTuple_GET_SIZE(constants)) {
            depth--;
            continue;
        }
        inner = PyTuple_GET_ITEM(constants, path[depth - 1].at++);
        if (!PyCode_Check(inner) || ((PyCodeObject *)inner)->co_firstlineno > line)
            continue;
        if (is_function((PyCodeObject *)inner) &&
            lines_of((PyCodeObject *)inner, line).last >= line)
            return true;
        if (depth < MOST_NESTED) {
            path[depth].constants = ((PyCodeObject *)inner)->co_consts;
            path[depth++].at = 0;
        }
    }
    return false;
}

/* A line means the innermost function that it lies in, whether or not anything begins there (one
 * of its head, or a comment, does not), with lambdas and comprehensions of that very line; outside
 * of functions it means the module or class whose line it is. */
static bool has_line(PyCodeObject *code, long line)
{
    struct lines lines = lines_of(code, line);
    bool has = is_function(code) ? code->co_firstlineno <= line && line <= lines.last : lines.has;

    return has && !is_in_inner(code, line);
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

/* A word without what stands in front of its colon; false: it means another module, or a line. */
static bool is_name(const char **word, size_t *length, PyCodeObject *code, PyObject *globals)
{
    const char *colon = memrchr(*word, ':', *length);
    size_t head = colon == NULL ? 0 : (size_t)(colon - *word);

    if (colon == NULL)
        return true;
    if (!is_module(code, globals, *word, head))
        return false;
    *word = colon + 1;
    *length -= head + 1;
    return true;
}

static bool is_place(const char *word, size_t length, PyCodeObject *code)
{
    const char *colon = memrchr(word, ':', length);
    char *end;
    long line;

    if (colon == NULL || colon[1] == '\0')
        return false;
    line = strtol(colon + 1, &end, 10);
    return *end == '\0' && is_file(code->co_filename, word, (size_t)(colon - word)) &&
           has_line(code, line);
}

static bool is_meant(const char *word, size_t length, PyCodeObject *code, PyObject *globals,
                     bool knows_methods)
{
    const char *name = word;
    size_t size = length;

    if (is_place(word, length, code))
        return true;
    if (is_name(&name, &size, code, globals) &&
        ((!is_class_body(code) &&
          (equals(code->co_name, name, size) || is_called(code, globals, name, size))) ||
         (!knows_methods && is_in_class(code, globals, name, size))))
        return true;
    return name == word && is_module(code, globals, word, length);
}

#if PY_VERSION_HEX < 0x030b0000
/* Where code lies in a module, as it is gone through. */
struct walk {
    struct cairn_chooser *chooser;
    PyObject *globals;
    size_t size;
    char path[PATH_BYTES]; /* the qualified name of where we are */
};

static int keep(struct cairn_chooser *chooser, void *address, PyObject *what)
{
    PyObject *key = PyLong_FromVoidPtr(address);
    int code = key == NULL ? -1 : PyDict_SetItem(chooser->methods, key, what);

    Py_XDECREF(key);
    return code;
}

static bool is_kept(const struct cairn_chooser *chooser, void *address)
{
    PyObject *key = chooser->methods == NULL ? NULL : PyLong_FromVoidPtr(address);
    bool is = key != NULL && PyDict_GetItem(chooser->methods, key) != NULL;

    Py_XDECREF(key);
    return is;
}

static bool is_named(const struct walk *walk, PyCodeObject *code)
{
    PyObject *words = walk->chooser->words;
    bool any = false;

    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words); i++) {
        Py_ssize_t size;
        const char *word = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(words, i), &size);
        size_t length = (size_t)size;

        if (word != NULL && is_name(&word, &length, code, walk->globals) &&
            names_class(word, length, walk->path, walk->size)) {
            meet(walk->chooser, i);
            any = true;
        }
    }
    return any;
}

/* Keeps the methods of classes that are named. `inside`: this is the body of one. */
static int look_through(struct walk *walk, PyCodeObject *code, bool inside, int left)
{
    size_t before = walk->size;
    int result = 0;

    for (Py_ssize_t i = 0; result == 0 && left > 0 && i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyCodeObject *part = (PyCodeObject *)PyTuple_GET_ITEM(code->co_consts, i);
        const char *name;

        if (!PyCode_Check((PyObject *)part) || (name = PyUnicode_AsUTF8(part->co_name)) == NULL)
            continue;
        if (inside && may_be_method(part))
            result = keep(walk->chooser, part, (PyObject *)part);
        walk->size += (size_t)snprintf(walk->path + before, sizeof(walk->path) - before, "%s%s",
                                       name, is_class_body(part) ? "" : ".<locals>");
        if (result == 0 && walk->size + 1 < sizeof(walk->path)) {
            bool named = is_class_body(part) && is_named(walk, part);
            bool is = named || (is_class_body(part) && inside);

            walk->path[walk->size++] = '.';
            result = look_through(walk, part, is, left - 1);
        }
        walk->size = before;
    }
    return result;
}

/* A module's body runs before anything in it does. */
static void learn_methods(struct cairn_chooser *chooser, PyCodeObject *code, PyObject *globals)
{
    struct walk walk = {.chooser = chooser, .globals = globals};

    if (!equals(code->co_name, "<module>", 8))
        return;
    if (chooser->methods == NULL)
        chooser->methods = PyDict_New();
    if (chooser->methods != NULL && keep(chooser, globals, Py_None) == 0)
        (void)look_through(&walk, code, false, MOST_NESTED);
    PyErr_Clear();
}
#endif

bool cairn_chooser_wants(struct cairn_chooser *chooser, PyCodeObject *code, PyObject *globals)
{
    Py_ssize_t count = PyList_GET_SIZE(chooser->words);
    PyObject *type, *value, *trace;
    bool wants, knows_methods = false;

    PyErr_Fetch(&type, &value, &trace);
    wants = count == 0 && is_the_programs(globals);
#if PY_VERSION_HEX < 0x030b0000
    if (count > 0)
        learn_methods(chooser, code, globals);
    wants = wants || is_kept(chooser, code);
    knows_methods = is_kept(chooser, globals);
#endif
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t length;
        const char *word;

        if (wants && is_met(chooser, i))
            continue;
        word = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(chooser->words, i), &length);
        if (word != NULL && is_meant(word, (size_t)length, code, globals, knows_methods)) {
            meet(chooser, i);
            wants = true;
        }
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
