/* linesmodule.c: the class Lines of cairn._exact, that cairn.line_profiler builds on: counters of
 * the lines of some code objects, that are switched on and off together.
 */
#include "linesclass.h"
#include "profiler.h"
#include "ticks.h"

#define MOST_BYTES ((size_t)512 << 20)
#define SOURCE "cairn.lines" /* in the interpreter's dictionary: its struct cairn_line_source */

/* Of this interpreter. It stays for good: callbacks hold it, and threads that end. */
struct cairn_line_source *cairn_line_source_find(void)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp), *capsule;
    struct cairn_line_source *source;

    capsule = members == NULL ? NULL : PyDict_GetItemString(members, SOURCE);
    if (capsule != NULL)
        return PyCapsule_GetPointer(capsule, SOURCE);
    source = members == NULL ? NULL : PyMem_RawCalloc(1, sizeof(*source));
    capsule = source == NULL ? PyErr_NoMemory() : PyCapsule_New(source, SOURCE, NULL);
    if (capsule != NULL && PyDict_SetItemString(members, SOURCE, capsule) < 0)
        Py_CLEAR(capsule);
    if (capsule == NULL) {
        PyMem_RawFree(source);
        return NULL;
    }
    Py_DECREF(capsule);
    cairn_lines_init(&source->hub, MOST_BYTES);
    return source;
}

/* The least and the most line of its instructions; those without a line do not count. 0, -1 with an
 * exception set. */
static int find_lines(PyObject *code, long *ret_first, long *ret_last)
{
    *ret_first = LONG_MAX;
    *ret_last = 0;
#if PY_VERSION_HEX >= 0x030a0000
    PyObject *lines = PyObject_CallMethod(code, "co_lines", NULL), *entry;

    if (lines == NULL)
        return -1;
    while ((entry = PyIter_Next(lines)) != NULL) {
        PyObject *line = PyTuple_GetItem(entry, 2); /* borrowed */
        long number = line == NULL || line == Py_None ? 0 : PyLong_AsLong(line);

        Py_DECREF(entry);
        if (number > 0 && number < *ret_first)
            *ret_first = number;
        if (number > *ret_last)
            *ret_last = number;
    }
    Py_DECREF(lines);
    return PyErr_Occurred() ? -1 : 0;
#else
    PyObject *table = ((PyCodeObject *)code)->co_lnotab; /* pairs: bytes on, lines on */
    const char *pairs = PyBytes_AS_STRING(table);
    long line = ((PyCodeObject *)code)->co_firstlineno;

    for (Py_ssize_t i = 0; i <= PyBytes_GET_SIZE(table); i += 2) {
        if (line > 0 && line < *ret_first)
            *ret_first = line;
        if (line > *ret_last)
            *ret_last = line;
        if (i + 1 < PyBytes_GET_SIZE(table))
            line += (signed char)pairs[i + 1];
    }
    return 0;
#endif
}

/* Room for one more counter. */
static int reserve(struct cairn_lines_object *lines, Py_ssize_t count)
{
    size_t size_bytes = ((size_t)count + 1) * sizeof(struct cairn_lines_counter *);
    struct cairn_lines_counter **counters = PyMem_Realloc(lines->counters, size_bytes);

    if (counters == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    lines->counters = counters;
    return 0;
}

int cairn_code_lines(PyObject *code, long *ret_first, long *ret_last)
{
    if (find_lines(code, ret_first, ret_last) < 0)
        return -1;
    if (*ret_first > *ret_last) /* it has none */
        *ret_first = *ret_last = 1;
    if (*ret_last - *ret_first < CAIRN_LINES_MOST)
        return 0;
    PyErr_SetString(PyExc_ValueError, "a function of more than a million lines");
    return -1;
}

static int count_code(struct cairn_lines_object *lines, PyObject *code, long first, long last)
{
    struct cairn_lines_hub *hub = &lines->source->hub;
    bool is_new =
        cairn_lines_find(hub, code) == NULL || cairn_lines_find(hub, code)->counters == NULL;
    Py_ssize_t count = PyList_GET_SIZE(lines->codes);
    struct cairn_lines_counter *counter;

    if (reserve(lines, count) < 0)
        return -1;
    counter = cairn_lines_add(hub, code, (uint32_t)first, (uint32_t)(last - first + 1));
    if (counter == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if ((is_new && cairn_line_events_begin(lines->source, code) < 0) ||
        PyList_Append(lines->codes, code) < 0) {
        (void)cairn_lines_remove(hub, counter);
        return -1;
    }
    lines->counters[count] = counter;
    if (lines->on)
        cairn_lines_on(counter);
    return 0;
}

int cairn_lines_object_add(struct cairn_lines_object *lines, PyObject *code)
{
    long first, last;

    return cairn_code_lines(code, &first, &last) < 0 ? -1 : count_code(lines, code, first, last);
}

static PyObject *lines_add(PyObject *self, PyObject *code)
{
    struct cairn_lines_object *lines = (struct cairn_lines_object *)self;

    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "add() takes a code object");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines->codes); i++)
        if (PyList_GET_ITEM(lines->codes, i) == code)
            Py_RETURN_FALSE;
    if (cairn_lines_object_add(lines, code) < 0)
        return NULL;
    Py_RETURN_TRUE;
}

static PyObject *lines_enable(PyObject *self, PyObject *unused)
{
    struct cairn_lines_object *lines = (struct cairn_lines_object *)self;

    (void)unused;
    lines->on = true;
    if (lines->source->recording == self)
        lines->source->hub.counts_units = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines->codes); i++)
        cairn_lines_on(lines->counters[i]);
    Py_RETURN_NONE;
}

PyObject *cairn_lines_object_disable(PyObject *self, PyObject *unused)
{
    struct cairn_lines_object *lines = (struct cairn_lines_object *)self;

    (void)unused;
    lines->on = false;
    if (lines->source->recording == self)
        lines->source->hub.counts_units = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines->codes); i++)
        cairn_lines_off(&lines->source->hub, lines->counters[i]);
    Py_RETURN_NONE;
}

static PyObject *lines_clear(PyObject *self, PyObject *unused)
{
    struct cairn_lines_object *lines = (struct cairn_lines_object *)self;

    (void)unused;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines->codes); i++)
        cairn_lines_clear(lines->counters[i]);
    Py_RETURN_NONE;
}

/* [(line, hits, ticks, ticks asleep)] of the lines that began. */
static PyObject *sums_of(const struct cairn_lines_counter *counter)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list != NULL && counter->sums != NULL && i < counter->code->line_count;
         i++) {
        const struct cairn_line_sum *sum = &counter->sums[i];
        PyObject *entry;

        if (sum->hits == 0 && sum->total == 0)
            continue;
        entry = Py_BuildValue("ILLL", (unsigned)(counter->code->first_line + i),
                              (long long)sum->hits, (long long)sum->total, (long long)sum->slept);
        if (entry == NULL || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *lines_get(PyObject *self, PyObject *unused)
{
    struct cairn_lines_object *lines = (struct cairn_lines_object *)self;
    PyObject *list = PyList_New(0);

    (void)unused;
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(lines->codes); i++) {
        PyObject *sums = sums_of(lines->counters[i]);
        PyObject *pair =
            sums == NULL ? NULL : PyTuple_Pack(2, PyList_GET_ITEM(lines->codes, i), sums);

        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
        Py_XDECREF(sums);
    }
    return list;
}

static PyObject *lines_unit(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyFloat_FromDouble(cairn_ticks_ns() * 1e-9);
}

static PyObject *lines_lost(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct cairn_lines_object *)self)->source->hub.lost);
}

static PyObject *lines_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    struct cairn_line_source *source = cairn_line_source_find();
    struct cairn_lines_object *lines =
        source == NULL ? NULL : (struct cairn_lines_object *)type->tp_alloc(type, 0);

    (void)args, (void)named;
    if (lines == NULL)
        return NULL;
    lines->source = source;
    lines->codes = PyList_New(0);
    if (lines->codes == NULL)
        Py_CLEAR(lines);
    return (PyObject *)lines;
}

static int lines_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct cairn_lines_object *)self)->codes);
    CAIRN_VISIT_TYPE(self);
    return 0;
}

/* The code objects stay as long as their counters: their addresses are the keys. */
static void drop(struct cairn_lines_object *lines)
{
    Py_ssize_t count = lines->codes == NULL ? 0 : PyList_GET_SIZE(lines->codes);
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    for (Py_ssize_t i = 0; i < count; i++)
        if (cairn_lines_remove(&lines->source->hub, lines->counters[i]) &&
            cairn_line_events_end(lines->source, PyList_GET_ITEM(lines->codes, i)) < 0)
            PyErr_Clear(); /* the interpreter ends */
    PyErr_Restore(type, value, trace);
    PyMem_Free(lines->counters);
    lines->counters = NULL;
    Py_CLEAR(lines->codes);
}

static void lines_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    drop((struct cairn_lines_object *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef lines_methods[] = {
    {"add", lines_add, METH_O, "add(code) -> bool\n\nCount the lines of a code object, too."},
    {"enable", lines_enable, METH_NOARGS, "enable()\n\nStart counting, in all threads."},
    {"disable", cairn_lines_object_disable, METH_NOARGS, "disable()\n\nStop counting."},
    {"clear", lines_clear, METH_NOARGS, "clear()\n\nForget all that was counted."},
    {"get", lines_get, METH_NOARGS,
     "get() -> [(code, [(line, hits, time, slept)])]\n\nTimes in units of unit() seconds."},
    {"unit", lines_unit, METH_NOARGS, "unit() -> float\n\nSeconds in a unit of time."},
    {"record", cairn_lines_object_record, METH_VARARGS,
     "record(folder, words, lines=True, listing=None, on=True, plan=None, limit=0., costs=(0., "
     "0.))\n\n"
     "Count what the words mean into a file in `folder`, for good: lines, with plan(code) -> bytes "
     "without their times, and with listing(code, kept) -> (bytes, bytes, bytes) instructions; for "
     "no more than a share of what the program needs, where a line costs so many ns, and a frame."},
    {"choose", cairn_lines_object_choose, METH_O,
     "choose(function) -> function\n\nCount it as well: a decorator."},
    {"cost", cairn_lines_object_cost, METH_VARARGS,
     "cost(line, frame)\n\nWhat they took when that was measured again; the lesser counts."},
    {"end", cairn_lines_object_end, METH_NOARGS, "end()\n\nEnd what record() began."},
    {"lost", lines_lost, METH_NOARGS, "lost() -> int\n\nLines that could not be counted."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot lines_slots[] = {
    {Py_tp_doc, (void *)"Lines()\n\nCounters of the lines of code objects."},
    {Py_tp_new, lines_new},
    {Py_tp_dealloc, lines_dealloc},
    {Py_tp_traverse, lines_traverse},
    {Py_tp_methods, lines_methods},
    {0, NULL},
};

static PyType_Spec lines_spec = {
    .name = CAIRN_MODULE_NAME ".Lines",
    .basicsize = sizeof(struct cairn_lines_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = lines_slots,
};

PyObject *cairn_lines_type(void)
{
    return PyType_FromSpec(&lines_spec);
}
