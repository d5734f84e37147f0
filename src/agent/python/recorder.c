/* recorder.c: counting into a file, for `cairn run --exact`, and what callees are called there. */
#include <string.h>

#include "err.h"
#include "profiler.h"
#include "texthook.h"

#define NATIVE_FILE "~" /* as pstats has it */

/* The text in UTF-8; what is none is given as it would be shown. Borrowed from `keep`, or from the
 * text itself. */
static struct cairn_span span_of(PyObject *text, PyObject **keep)
{
    struct cairn_span span = {(const uint8_t *)"?", 1};
    const char *bytes;
    Py_ssize_t length;

    if (text == NULL || !PyUnicode_Check(text))
        return span;
    bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (bytes == NULL) { /* a lone surrogate */
        PyErr_Clear();
        Py_XSETREF(*keep, PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape"));
        if (*keep == NULL) {
            PyErr_Clear();
            Py_XSETREF(*keep, PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace"));
        }
        if (*keep == NULL) {
            PyErr_Clear();
            return span;
        }
        bytes = PyBytes_AS_STRING(*keep);
        length = PyBytes_GET_SIZE(*keep);
    }
    return (struct cairn_span){(const uint8_t *)bytes, (size_t)length};
}

void cairn_describe(PyObject *what, PyObject *keep[3], struct cairn_exact_words *ret_words)
{
    if (PyCode_Check(what)) {
        PyCodeObject *code = (PyCodeObject *)what;

        ret_words->name = span_of(code->co_name, &keep[0]);
#if PY_VERSION_HEX >= 0x030b0000
        ret_words->qualname = span_of(code->co_qualname, &keep[1]);
#endif
        ret_words->file = span_of(code->co_filename, &keep[2]);
        ret_words->first_line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
        return;
    }
    ret_words->name = ret_words->qualname = span_of(what, &keep[0]);
    ret_words->file = (struct cairn_span){(const uint8_t *)NATIVE_FILE, 1};
}

static void describe(void *context, void *learnt, struct cairn_exact_words *ret_words)
{
    PyObject *what = learnt;

    if (PyTuple_Check(what))
        what = PyTuple_GET_ITEM(what, 0);
    cairn_describe(what, ((struct cairn_profiler *)context)->kept, ret_words);
}

static int open_spool(struct cairn_profiler *profiler, PyObject *folder)
{
    PyObject *path;
    int code;

    if (profiler->exact.spool != NULL || profiler->enabled || profiler->exact.threads != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "it counts already");
        return -1;
    }
    if (!PyUnicode_FSConverter(folder, &path))
        return -1;
    code = cairn_spool_open(&profiler->spool, &cairn_spool_calls, PyBytes_AS_STRING(path));
    Py_DECREF(path);
    if (code == 0)
        return 0;
    PyErr_SetString(PyExc_OSError, "no file can be made there");
    return -1;
}

/* Without a file calls are counted all the same. */
static void open_timeline(struct cairn_profiler *profiler, Py_ssize_t bytes, int ring)
{
    if (bytes <= 0)
        return;
    if (cairn_timeline_open(&profiler->timeline, &profiler->spool, (size_t)bytes, ring) == 0)
        cairn_exact_keep_times(&profiler->exact, &profiler->timeline);
    else
        PySys_WriteStderr("cairn: no timeline is kept of this process: no file can be made\n");
}

/* Forked children end by os._exit(), as multiprocessing has them do. */
static void find_exit(struct cairn_profiler *profiler)
{
    PyObject *module = PyImport_ImportModule("posix");
    PyObject *function = module == NULL ? NULL : PyObject_GetAttrString(module, "_exit");

    if (function != NULL && PyCFunction_Check(function))
        profiler->exit = ((PyCFunctionObject *)function)->m_ml;
    Py_XDECREF(function);
    Py_XDECREF(module);
    PyErr_Clear();
}

PyObject *cairn_profiler_record(PyObject *self, PyObject *args)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;
    PyObject *folder, *words, *result, *costs = NULL;
    Py_ssize_t times_bytes = 0;
    int on = 1, ring = 0;
    struct cairn_gate_costs left = {0};
    double limit = 0;

    if (!PyArg_ParseTuple(args, "OO!|pnpO!ddddd:record", &folder, &PyList_Type, &words, &on,
                          &times_bytes, &ring, &PyTuple_Type, &costs, &limit, &left.passed,
                          &left.counted, &left.plain_passed, &left.plain_counted) ||
        open_spool(profiler, folder) < 0 || cairn_gate_open(profiler, words) < 0)
        return NULL;
    if (profiler->gate.words != NULL)
        cairn_chooser_tell(&profiler->gate, folder, true);
    cairn_exact_spool(&profiler->exact, &profiler->spool, describe);
    cairn_text_tell(profiler);
    open_timeline(profiler, times_bytes, ring);
    if (cairn_costs_keep(profiler, costs) < 0 ||
        (limit > 0 && cairn_gate_limit(profiler, limit, &left) < 0))
        return NULL;
    find_exit(profiler);
    profiler->apart = true;
    profiler->types = CAIRN_MONITORS;
    result = on ? PyObject_CallMethod(self, "enable", NULL) : Py_None;
    if (!on)
        Py_INCREF(result);
    if (result != NULL)
        cairn_profiler_tell_lines(profiler);
    return result;
}

PyObject *cairn_profiler_end(PyObject *self, PyObject *unused)
{
    PyObject *result = PyObject_CallMethod(self, "disable", NULL);

    (void)unused;
    cairn_exact_end(&((struct cairn_profiler *)self)->exact);
    return result;
}
