/* linesmodule.c: the class Lines of cairn._exact, that cairn.line_profiler builds on: counters of
 * the lines of some code objects, that are switched on and off together.
 */
#include "profiler.h"

#include "lineevents.h"
#include "lines_parts.h"
#include "ticks.h"

#define MOST_BYTES ((size_t)512 << 20)
#define MOST_LINES 1000000   /* of a function */
#define SOURCE "cairn.lines" /* in the interpreter's dictionary: its struct cairn_line_source */

struct lines {
    PyObject_HEAD struct cairn_line_source *source;
    PyObject *codes; /* a list; counters[i] counts codes[i] */
    struct cairn_lines_counter **counters;
    bool on;
};

/* Of this interpreter. It stays for good: callbacks hold it, and threads that end. */
static struct cairn_line_source *find_source(void)
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
static int reserve(struct lines *lines, Py_ssize_t count)
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

static int count_code(struct lines *lines, PyObject *code, long first, long last)
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

static int add_code(struct lines *lines, PyObject *code)
{
    long first, last;

    if (find_lines(code, &first, &last) < 0)
        return -1;
    if (first > last) /* it has none */
        first = last = 1;
    if (last - first >= MOST_LINES) {
        PyErr_SetString(PyExc_ValueError, "a function of more than a million lines");
        return -1;
    }
    return count_code(lines, code, first, last);
}

static PyObject *lines_add(PyObject *self, PyObject *code)
{
    struct lines *lines = (struct lines *)self;

    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "add() takes a code object");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines->codes); i++)
        if (PyList_GET_ITEM(lines->codes, i) == code)
            Py_RETURN_FALSE;
    if (add_code(lines, code) < 0)
        return NULL;
    Py_RETURN_TRUE;
}

static PyObject *lines_enable(PyObject *self, PyObject *unused)
{
    struct lines *lines = (struct lines *)self;

    (void)unused;
    lines->on = true;
    if (lines->source->recording == self)
        lines->source->hub.counts_units = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines->codes); i++)
        cairn_lines_on(lines->counters[i]);
    Py_RETURN_NONE;
}

static PyObject *lines_disable(PyObject *self, PyObject *unused)
{
    struct lines *lines = (struct lines *)self;

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
    struct lines *lines = (struct lines *)self;

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
    struct lines *lines = (struct lines *)self;
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
    return PyLong_FromUnsignedLongLong(((struct lines *)self)->source->hub.lost);
}

/* --- into a recording --- */

static int begin_recording(struct lines *lines, PyObject *folder, PyObject *words, bool wants_lines,
                           PyObject *listing, bool on)
{
    struct cairn_line_source *source = lines->source;
    PyObject *path;
    int code;

    if (source->recording != NULL || PyList_GET_SIZE(lines->codes) > 0) {
        PyErr_SetString(PyExc_RuntimeError, "it counts already");
        return -1;
    }
    if (!PyUnicode_FSConverter(folder, &path))
        return -1;
    code = cairn_spool_open(&source->spool, &cairn_spool_lines, PyBytes_AS_STRING(path));
    Py_DECREF(path);
    if (code < 0) {
        PyErr_SetString(PyExc_OSError, "no file can be made there");
        return -1;
    }
    cairn_lines_spool(&source->hub, &source->spool);
    source->wants_lines = wants_lines;
    if (listing != Py_None) {
        source->listed = PyList_New(0);
        source->listing = source->listed == NULL ? NULL : listing;
        Py_XINCREF(source->listing); /* for good, as all of this */
    }
    if (cairn_chooser_init(&source->chooser, words) < 0 || cairn_line_events_all(source) < 0) {
        cairn_chooser_release(&source->chooser);
        return -1;
    }
    source->recording = (PyObject *)lines;
    lines->on = on;
    source->hub.counts_units = on;
    return 0;
}

static PyObject *lines_record(PyObject *self, PyObject *args)
{
    PyObject *folder, *words, *listing = Py_None;
    int wants_lines = 1, on = 1;

    if (!PyArg_ParseTuple(args, "OO|pOp:record", &folder, &words, &wants_lines, &listing, &on) ||
        begin_recording((struct lines *)self, folder, words, wants_lines, listing, on) < 0)
        return NULL;
    Py_INCREF(self); /* for good, as the file is */
    Py_RETURN_NONE;
}

static void keep(struct lines *lines, PyObject *code)
{
    Py_ssize_t last = PyList_GET_SIZE(lines->codes) - 1;
    struct cairn_exact_words words = {.first_line = 0};
    PyObject *held[3] = {NULL, NULL, NULL};

    cairn_describe(code, held, &words);
    if (cairn_lines_keep(&lines->source->hub, lines->counters[last], &words) < 0)
        cairn_lines_off(&lines->source->hub, lines->counters[last]);
    for (size_t i = 0; i < 3; i++)
        Py_XDECREF(held[i]);
}

/* Whether a counter of this code's is kept. */
static bool is_kept(const struct cairn_lines_code *code)
{
    const struct cairn_lines_counter *counter = code == NULL ? NULL : code->counters;

    while (counter != NULL && counter->block == NULL)
        counter = counter->next;
    return counter != NULL;
}

static int keep_lines(struct lines *lines, PyObject *code)
{
    if (add_code(lines, code) < 0)
        return -1;
    keep(lines, code);
    return 0;
}

static uint32_t units_in(PyObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uint32_t)Py_SIZE(code);
#else
    return (uint32_t)((size_t)PyBytes_GET_SIZE(((PyCodeObject *)code)->co_code) /
                      sizeof(_Py_CODEUNIT));
#endif
}

/* (listing, leads) of the code: bytes and bytes, one for each unit. What is called for it is not
 * the program's: no profiler or debugger hears of it. */
static PyObject *list_quietly(PyObject *listing, PyObject *code, PyObject *is_over)
{
    PyThreadState *thread = PyThreadState_Get();
    PyObject *listed;

#if PY_VERSION_HEX >= 0x030b0000
    PyThreadState_EnterTracing(thread);
    listed = PyObject_CallFunctionObjArgs(listing, code, is_over, NULL);
    PyThreadState_LeaveTracing(thread);
#else
    thread->tracing++;
    listed = PyObject_CallFunctionObjArgs(listing, code, is_over, NULL);
    thread->tracing--;
#endif
    if (listed == NULL ||
        (PyTuple_Check(listed) && PyTuple_GET_SIZE(listed) == 2 &&
         PyBytes_Check(PyTuple_GET_ITEM(listed, 0)) && PyBytes_Check(PyTuple_GET_ITEM(listed, 1)) &&
         PyBytes_GET_SIZE(PyTuple_GET_ITEM(listed, 1)) == units_in(code)))
        return listed;
    Py_DECREF(listed);
    PyErr_SetString(PyExc_TypeError, "that is no listing");
    return NULL;
}

static struct cairn_span span_of(PyObject *bytes)
{
    return (struct cairn_span){(const uint8_t *)PyBytes_AS_STRING(bytes),
                               (size_t)PyBytes_GET_SIZE(bytes)};
}

static int keep_units(struct cairn_line_source *source, PyObject *code)
{
    PyObject *held[3] = {NULL, NULL, NULL};
    PyObject *listed = list_quietly(source->listing, code, Py_False);
    struct cairn_exact_words words = {.first_line = 0};
    const struct cairn_lines_code *found;
    int result;

    found = cairn_lines_find(&source->hub, code);
    if (listed == NULL ||
        (found != NULL && found->units != NULL)) { /* by another thread meanwhile */
        Py_XDECREF(listed);
        return listed == NULL ? -1 : 0;
    }
    cairn_describe(code, held, &words);
    result = cairn_lines_count_units(&source->hub, code, units_in(code),
                                     span_of(PyTuple_GET_ITEM(listed, 1)).data, &words,
                                     span_of(PyTuple_GET_ITEM(listed, 0)));
    if (result == 0)
        Py_INCREF(PyTuple_GET_ITEM(listed, 1)); /* borrowed for good */
    for (size_t i = 0; i < 3; i++)
        Py_XDECREF(held[i]);
    Py_DECREF(listed);
    if (result < 0)
        return 0; /* said to be lost */
    /* The code object stays as well: its address is the key. */
    return PyList_Append(source->listed, code) < 0 ? -1 : cairn_line_events_begin(source, code);
}

/* The program is over: the forms in which its instructions were run are known. */
static void list_again(struct cairn_line_source *source)
{
    for (Py_ssize_t i = 0; source->listed != NULL && i < PyList_GET_SIZE(source->listed); i++) {
        PyObject *code = PyList_GET_ITEM(source->listed, i), *held[3] = {NULL, NULL, NULL};
        PyObject *listed = list_quietly(source->listing, code, Py_True);
        struct cairn_exact_words words = {.first_line = 0};

        if (listed == NULL) {
            PyErr_Clear();
            continue;
        }
        cairn_describe(code, held, &words);
        cairn_lines_list_again(&source->hub, code, &words, span_of(PyTuple_GET_ITEM(listed, 0)));
        for (size_t k = 0; k < 3; k++)
            Py_XDECREF(held[k]);
        Py_DECREF(listed);
    }
}

/* Counts the code into the file, as far as that is wanted and not done yet. 0; -1 with an exception
 * set. */
static int record_code(void *context, PyObject *code)
{
    struct lines *lines = context;
    struct cairn_line_source *source = lines->source;
    struct cairn_lines_code *found = cairn_lines_find(&source->hub, code);
    int result = 0;

    if (source->wants_lines && !is_kept(found))
        result = keep_lines(lines, code);
    if (result == 0 && source->listing != NULL && (found == NULL || found->units == NULL))
        result = keep_units(source, code);
    if (result < 0)
        cairn_lines_lose(&source->hub);
    return result;
}

struct cairn_lines_code *cairn_line_source_judge(struct cairn_line_source *source, PyObject *code,
                                                 PyObject *globals)
{
    PyObject *type, *value, *trace;
    struct cairn_lines_code *judged;

    if (cairn_chooser_wants(&source->chooser, (PyCodeObject *)code, globals)) {
        PyErr_Fetch(&type, &value, &trace);
        if (record_code(source->recording, code) < 0 &&
            PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
            PyErr_SetInterrupt(); /* it was the program's: it gets another */
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    judged = cairn_lines_find(&source->hub, code);
    if (!cairn_lines_asked(judged))
        return NULL;
    judged->judged = true;
    return judged;
}

static void returned(void *context, uintptr_t caller, int64_t ticks, bool native)
{
    struct cairn_profiler *profiler = context;

    if (caller & 1) /* C called it */
        return;
    cairn_lines_called(&profiler->lines->hub, caller, ticks, native);
}

void cairn_profiler_tell_lines(struct cairn_profiler *profiler)
{
    struct cairn_line_source *source = find_source();

    PyErr_Clear();
    if (source == NULL || source->recording == NULL)
        return;
    profiler->lines = source;
    profiler->exact.host.returned = returned;
    cairn_lines_know_calls(&source->hub, true);
}

static PyObject *lines_choose(PyObject *self, PyObject *thing)
{
    if (((struct lines *)self)->source->chooser.words != NULL &&
        cairn_chooser_codes(thing, record_code, self) < 0)
        return NULL;
    Py_INCREF(thing);
    return thing;
}

static PyObject *lines_end(PyObject *self, PyObject *unused)
{
    struct cairn_line_source *source = ((struct lines *)self)->source;

    if (source->recording != self || source->chooser.words == NULL)
        Py_RETURN_NONE;
    cairn_line_events_chosen(source);
    cairn_chooser_release(&source->chooser);
    Py_XDECREF(lines_disable(self, unused));
    list_again(source);
    cairn_lines_end(&source->hub);
    Py_RETURN_NONE;
}

static PyObject *lines_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    struct cairn_line_source *source = find_source();
    struct lines *lines = source == NULL ? NULL : (struct lines *)type->tp_alloc(type, 0);

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
    Py_VISIT(((struct lines *)self)->codes);
    CAIRN_VISIT_TYPE(self);
    return 0;
}

/* The code objects stay as long as their counters: their addresses are the keys. */
static void drop(struct lines *lines)
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
    drop((struct lines *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef lines_methods[] = {
    {"add", lines_add, METH_O, "add(code) -> bool\n\nCount the lines of a code object, too."},
    {"enable", lines_enable, METH_NOARGS, "enable()\n\nStart counting, in all threads."},
    {"disable", lines_disable, METH_NOARGS, "disable()\n\nStop counting."},
    {"clear", lines_clear, METH_NOARGS, "clear()\n\nForget all that was counted."},
    {"get", lines_get, METH_NOARGS,
     "get() -> [(code, [(line, hits, time, slept)])]\n\nTimes in units of unit() seconds."},
    {"unit", lines_unit, METH_NOARGS, "unit() -> float\n\nSeconds in a unit of time."},
    {"record", lines_record, METH_VARARGS,
     "record(folder, words, lines=True, listing=None, on=True)\n\nCount what the words mean into a "
     "file in "
     "`folder`, for good: lines, and with listing(code, is_over) -> (bytes, bytes) instructions."},
    {"choose", lines_choose, METH_O,
     "choose(function) -> function\n\nCount it as well: a decorator."},
    {"end", lines_end, METH_NOARGS, "end()\n\nEnd what record() began."},
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
    .basicsize = sizeof(struct lines),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = lines_slots,
};

PyObject *cairn_lines_type(void)
{
    return PyType_FromSpec(&lines_spec);
}
