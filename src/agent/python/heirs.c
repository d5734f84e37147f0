/* heirs.c: children that a program gives an environment of their own (subprocess' env=, execve,
 * posix_spawn) find what counts there as well, as those do that inherit one.
 *
 * What counts is named by two variables that the program itself does not see: so they are not in
 * what it gives. The C functions that take an environment get ours in their place, by the one
 * pointer in their definition: objects, names, signatures and identities stay as they are, in all
 * interpreters, and what cannot be added to goes on as it came, to fail as it would have.
 *
 * Threads: begun once a process, under the GIL of the first interpreter; from then on only read.
 */
#include "heirs.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spool.h"

#define PATH "PYTHONPATH"
#define SPOOL "CAIRN_SPOOL"
#define ARGUMENTS_MOST 64 /* nobody takes as many */

typedef PyObject *taking_array(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *taking_names(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

enum which {
    EXECVE,
    POSIX_SPAWN,
    POSIX_SPAWNP,
    FORK_EXEC,
    PUTENV,
    UNSETENV,
    CLEAR,
    CREATE,
    WHICH_COUNT
};

static struct {
    char *spool, *folder, *wanted; /* for the life of the process */
    PyCFunction real[WHICH_COUNT];
} heirs;

static taking_names *real_names(enum which which)
{
    return (taking_names *)(void (*)(void))heirs.real[which];
}

static taking_array *real_array(enum which which)
{
    return (taking_array *)(void (*)(void))heirs.real[which];
}

/* Once the recording is over there is nothing to tell of. */
static bool is_open(void)
{
    return access(heirs.wanted, F_OK) == 0;
}

/* The value of PYTHONPATH with our folder in front, twice where it was empty (cli/counting.c);
 * NULL: there was none. */
static PyObject *path_with(const char *path)
{
    size_t length = strlen(heirs.folder);

    if (path == NULL)
        return PyBytes_FromString(heirs.folder);
    if (strncmp(path, heirs.folder, length) == 0 && (path[length] == ':' || path[length] == '\0'))
        return PyBytes_FromString(path);
    return PyBytes_FromFormat("%s:%s", heirs.folder, path[0] == '\0' ? heirs.folder : path);
}

/* In the bytes of the file system; NULL with an exception set. */
static PyObject *bytes_of(PyObject *word)
{
    PyObject *bytes = NULL;

    return PyUnicode_FSConverter(word, &bytes) ? bytes : NULL;
}

/* `value` is stolen. */
static int put(PyObject *mapping, const char *name, PyObject *value)
{
    PyObject *key = value == NULL ? NULL : PyBytes_FromString(name);
    int code = key == NULL ? -1 : PyDict_SetItem(mapping, key, value);

    Py_XDECREF(key);
    Py_XDECREF(value);
    return code;
}

static int put_one(PyObject *ret_mapping, PyObject *key, PyObject *value, bool *is_ours)
{
    PyObject *name = bytes_of(key), *text = NULL;
    int code = -1;

    if (name != NULL && strcmp(PyBytes_AS_STRING(name), PATH) == 0) {
        text = bytes_of(value);
        code = text == NULL ? -1 : put(ret_mapping, PATH, path_with(PyBytes_AS_STRING(text)));
    } else if (name != NULL) {
        *is_ours |= strcmp(PyBytes_AS_STRING(name), SPOOL) == 0;
        code = PyDict_SetItem(ret_mapping, key, value);
    }
    Py_XDECREF(name);
    Py_XDECREF(text);
    return code;
}

/* A mapping with ours added; NULL without an exception where it is for the function itself to say
 * what is wrong with it, or where it names a recording already. */
static PyObject *mapping_with(PyObject *given)
{
    PyObject *keys = PyMapping_Check(given) ? PyMapping_Keys(given) : NULL;
    PyObject *values = keys == NULL ? NULL : PyMapping_Values(given);
    PyObject *mapping = values == NULL ? NULL : PyDict_New(), *name = NULL;
    bool is_ours = false;
    int code = mapping == NULL ? -1 : 0;

    if (code == 0 && PyList_GET_SIZE(keys) != PyList_GET_SIZE(values))
        code = -1;
    for (Py_ssize_t i = 0; code == 0 && i < PyList_GET_SIZE(keys); i++)
        code = put_one(mapping, PyList_GET_ITEM(keys, i), PyList_GET_ITEM(values, i), &is_ours);
    if (code == 0 && !is_ours)
        code = put(mapping, SPOOL, PyBytes_FromString(heirs.spool));
    name = code == 0 ? PyBytes_FromString(PATH) : NULL;
    if (name != NULL && PyDict_GetItemWithError(mapping, name) == NULL && !PyErr_Occurred())
        code = put(mapping, PATH, path_with(NULL));
    if (name == NULL || code < 0 || is_ours || PyErr_Occurred()) {
        PyErr_Clear();
        Py_CLEAR(mapping);
    }
    Py_XDECREF(name);
    Py_XDECREF(keys);
    Py_XDECREF(values);
    return mapping;
}

/* `word` is stolen. */
static int append(PyObject *list, PyObject *word)
{
    int code = word == NULL ? -1 : PyList_Append(list, word);

    Py_XDECREF(word);
    return code;
}

static PyObject *setting(const char *name, PyObject *value)
{
    PyObject *word =
        value == NULL ? NULL : PyBytes_FromFormat("%s=%s", name, PyBytes_AS_STRING(value));

    Py_XDECREF(value);
    return word;
}

static const char *value_of(PyObject *word, const char *name)
{
    size_t length = strlen(name);
    const char *text = PyBytes_Check(word) ? PyBytes_AS_STRING(word) : "";

    return strncmp(text, name, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

/* Which the function itself refuses. */
static bool has_nul(PyObject *word)
{
    return strlen(PyBytes_AS_STRING(word)) != (size_t)PyBytes_GET_SIZE(word);
}

/* The same of a list of NAME=VALUE in bytes. */
static PyObject *list_with(PyObject *given)
{
    PyObject *list = PyList_Check(given) ? PyList_New(0) : NULL;
    bool has_path = false, is_ours = false;
    int code = list == NULL ? -1 : 0;

    for (Py_ssize_t i = 0; code == 0 && i < PyList_GET_SIZE(given); i++) {
        PyObject *word = PyList_GET_ITEM(given, i);
        const char *path = value_of(word, PATH);

        is_ours |= value_of(word, SPOOL) != NULL;
        has_path |= path != NULL;
        if (path != NULL && !has_nul(word))
            code = append(list, setting(PATH, path_with(path)));
        else
            code = PyList_Append(list, word);
    }
    if (code == 0 && !is_ours)
        code = append(list, setting(SPOOL, PyBytes_FromString(heirs.spool)));
    if (code == 0 && !has_path)
        code = append(list, setting(PATH, path_with(NULL)));
    if (code < 0 || is_ours) {
        PyErr_Clear();
        Py_CLEAR(list);
    }
    return list;
}

static Py_ssize_t place_of_env(Py_ssize_t count, PyObject *names)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);

    if (count > 2)
        return 2;
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "env") == 0)
            return count + i;
    return -1;
}

static PyObject *call_names(enum which which, PyObject *module, PyObject *const *arguments,
                            Py_ssize_t count, PyObject *names)
{
    Py_ssize_t all = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    Py_ssize_t at = all > ARGUMENTS_MOST ? -1 : place_of_env(count, names);
    PyObject *mapping = at < 0 || !is_open() ? NULL : mapping_with(arguments[at]);
    PyObject *changed[ARGUMENTS_MOST], *result;

    if (mapping == NULL)
        return real_names(which)(module, arguments, count, names);
    memcpy(changed, arguments, (size_t)all * sizeof(changed[0]));
    changed[at] = mapping;
    result = real_names(which)(module, changed, count, names);
    Py_DECREF(mapping);
    return result;
}

static PyObject *our_execve(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                            PyObject *names)
{
    return call_names(EXECVE, module, arguments, count, names);
}

static PyObject *our_posix_spawn(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                                 PyObject *names)
{
    return call_names(POSIX_SPAWN, module, arguments, count, names);
}

static PyObject *our_posix_spawnp(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                                  PyObject *names)
{
    return call_names(POSIX_SPAWNP, module, arguments, count, names);
}

#define FORK_EXEC_ENV 5 /* among its arguments */

#if PY_VERSION_HEX >= 0x030c0000
#define FORK_EXEC_FLAGS METH_FASTCALL

static PyObject *our_fork_exec(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    bool ours = count > FORK_EXEC_ENV && count <= ARGUMENTS_MOST && is_open();
    PyObject *list = ours ? list_with(arguments[FORK_EXEC_ENV]) : NULL;
    PyObject *changed[ARGUMENTS_MOST], *result;

    if (list == NULL)
        return real_array(FORK_EXEC)(module, arguments, count);
    memcpy(changed, arguments, (size_t)count * sizeof(changed[0]));
    changed[FORK_EXEC_ENV] = list;
    result = real_array(FORK_EXEC)(module, changed, count);
    Py_DECREF(list);
    return result;
}
#else
#define FORK_EXEC_FLAGS METH_VARARGS

static PyObject *our_fork_exec(PyObject *module, PyObject *arguments)
{
    bool ours = PyTuple_GET_SIZE(arguments) > FORK_EXEC_ENV && is_open();
    PyObject *list = ours ? list_with(PyTuple_GET_ITEM(arguments, FORK_EXEC_ENV)) : NULL;
    PyObject *changed = NULL, *result;

    if (list == NULL)
        return heirs.real[FORK_EXEC](module, arguments);
    changed = PyTuple_New(PyTuple_GET_SIZE(arguments));
    for (Py_ssize_t i = 0; changed != NULL && i < PyTuple_GET_SIZE(arguments); i++) {
        PyObject *one = i == FORK_EXEC_ENV ? list : PyTuple_GET_ITEM(arguments, i);

        Py_INCREF(one);
        PyTuple_SET_ITEM(changed, i, one);
    }
    result = changed == NULL ? NULL : heirs.real[FORK_EXEC](module, changed);
    Py_XDECREF(changed);
    Py_DECREF(list);
    return result;
}
#endif

/* Whether it means PYTHONPATH. */
static bool is_path(PyObject *word)
{
    PyObject *name = bytes_of(word);
    bool is = name != NULL && strcmp(PyBytes_AS_STRING(name), PATH) == 0;

    Py_XDECREF(name);
    PyErr_Clear();
    return is;
}

/* putenv() of what the process hands on, which the program itself does not see. */
static PyObject *put_path(PyObject *module, PyObject *key, const char *path)
{
    PyObject *value = path_with(path);
    PyObject *result =
        value == NULL ? NULL : real_array(PUTENV)(module, (PyObject *[]){key, value}, 2);

    Py_XDECREF(value);
    return result;
}

static PyObject *our_putenv(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    bool ours = count == 2 && is_path(arguments[0]) && is_open();
    PyObject *value = ours ? bytes_of(arguments[1]) : NULL, *result;

    PyErr_Clear();
    if (value == NULL)
        return real_array(PUTENV)(module, arguments, count);
    result = put_path(module, arguments[0], PyBytes_AS_STRING(value));
    Py_DECREF(value);
    return result;
}

static PyObject *our_unsetenv(PyObject *module, PyObject *key)
{
    if (is_path(key) && is_open() && heirs.real[PUTENV] != NULL)
        return put_path(module, key, NULL);
    return heirs.real[UNSETENV](module, key);
}

/* os.environ.clear(), from 3.15 on; before, it takes away by name what it knows of. */
static PyObject *our_clear(PyObject *module, PyObject *unused)
{
    PyObject *result = heirs.real[CLEAR](module, unused);

    if (result != NULL && is_open() &&
        (setenv(SPOOL, heirs.spool, 1) < 0 || setenv(PATH, heirs.folder, 1) < 0)) {
        Py_DECREF(result);
        return PyErr_NoMemory();
    }
    return result;
}

/* os.reload_environ(), from 3.14 on: without ours. */
static PyObject *our_create(PyObject *module, PyObject *unused)
{
    PyObject *found = heirs.real[CREATE](module, unused), *value;
    size_t length = strlen(heirs.folder);
    PyObject *path = PyBytes_FromString(PATH), *spool = PyBytes_FromString(SPOOL);
    int code = found == NULL || !PyDict_Check(found) || path == NULL || spool == NULL ? -1 : 0;

    if (code == 0 && PyDict_DelItem(found, spool) < 0)
        PyErr_Clear();
    value = code == 0 ? PyDict_GetItemWithError(found, path) : NULL;
    if (value != NULL && PyBytes_Check(value)) {
        const char *text = PyBytes_AS_STRING(value);

        if (strncmp(text, heirs.folder, length) == 0 && text[length] == ':')
            code = put(found, PATH,
                       PyBytes_FromString(
                           strcmp(text + length + 1, heirs.folder) == 0 ? "" : text + length + 1));
        else if (strcmp(text, heirs.folder) == 0)
            code = PyDict_DelItem(found, path);
    }
    Py_XDECREF(path);
    Py_XDECREF(spool);
    if (code < 0)
        Py_CLEAR(found);
    return found;
}

#define AS_FUNCTION(ours) ((PyCFunction)(void (*)(void))(ours))

static const struct {
    const char *name;
    int flags;
    PyCFunction ours;
} taken[WHICH_COUNT] = {
    [EXECVE] = {"execve", METH_FASTCALL | METH_KEYWORDS, AS_FUNCTION(our_execve)},
    [POSIX_SPAWN] = {"posix_spawn", METH_FASTCALL | METH_KEYWORDS, AS_FUNCTION(our_posix_spawn)},
    [POSIX_SPAWNP] = {"posix_spawnp", METH_FASTCALL | METH_KEYWORDS, AS_FUNCTION(our_posix_spawnp)},
    [FORK_EXEC] = {"fork_exec", FORK_EXEC_FLAGS, AS_FUNCTION(our_fork_exec)},
    [PUTENV] = {"putenv", METH_FASTCALL, AS_FUNCTION(our_putenv)},
    [UNSETENV] = {"unsetenv", METH_O, our_unsetenv},
    [CLEAR] = {"_clearenv", METH_NOARGS, our_clear},
    [CREATE] = {"_create_environ", METH_NOARGS, our_create},
};

/* What this Python has not, or defines in another way, is left alone. */
static void take(enum which which, PyObject *module)
{
    PyObject *function = PyObject_GetAttrString(module, taken[which].name);
    PyMethodDef *definition = function != NULL && PyCFunction_Check(function)
                                  ? ((PyCFunctionObject *)function)->m_ml
                                  : NULL;

    PyErr_Clear();
    if (definition != NULL && definition->ml_flags == taken[which].flags) {
        heirs.real[which] = definition->ml_meth;
        definition->ml_meth = taken[which].ours;
    }
    Py_XDECREF(function);
}

static char *join(const char *before, const char *after)
{
    size_t size = strlen(before) + strlen(after) + 1;
    char *text = PyMem_RawMalloc(size);

    if (text != NULL)
        (void)snprintf(text, size, "%s%s", before, after);
    return text;
}

static PyObject *bequeath(PyObject *module, PyObject *arguments)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    const char *spool, *folder;
    PyObject *modules[2];

    (void)module;
    if (!PyArg_ParseTuple(arguments, "yyOO:bequeath", &spool, &folder, &modules[0], &modules[1]))
        return NULL;
    if (atomic_flag_test_and_set(&begun)) /* by another interpreter */
        Py_RETURN_NONE;
    heirs.spool = join(spool, "");
    heirs.folder = join(folder, "");
    heirs.wanted = join(spool, "/" CAIRN_SPOOL_WANTED);
    if (heirs.spool == NULL || heirs.folder == NULL || heirs.wanted == NULL)
        return PyErr_NoMemory();
    for (enum which which = 0; which < WHICH_COUNT; which++)
        take(which, modules[which == FORK_EXEC]);
    Py_RETURN_NONE;
}

static PyMethodDef heirs_methods[] = {
    {"bequeath", bequeath, METH_VARARGS,
     "bequeath(spool, folder, posix, _posixsubprocess)\n\n"
     "What this process starts with an environment that it gives is counted as well, for good."},
    {NULL, NULL, 0, NULL},
};

int cairn_heirs_add(PyObject *module)
{
    return PyModule_AddFunctions(module, heirs_methods);
}
