/* linerecording.c: of the class Lines what counts into a recording: code is judged when it first
 * begins, and what is wanted of it goes into a file, for good.
 */
#include "linesclass.h"
#include "lines_parts.h"
#include "profiler.h"

static int begin_recording(struct cairn_lines_object *lines, PyObject *folder, PyObject *words,
                           bool wants_lines, PyObject *listing, PyObject *plan, bool on)
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
    if (plan != Py_None) {
        source->planned = PyList_New(0);
        source->plan = source->planned == NULL ? NULL : plan;
        Py_XINCREF(source->plan);
    }
    code = cairn_chooser_init(&source->chooser, words);
    if (code == 0 && PyList_GET_SIZE(words) > 0)
        cairn_chooser_tell(&source->chooser, folder, false);
    if (code < 0 || cairn_line_events_all(source) < 0) {
        cairn_chooser_release(&source->chooser);
        return -1;
    }
    source->recording = (PyObject *)lines;
    lines->on = on;
    source->hub.counts_units = on;
    return 0;
}

PyObject *cairn_lines_object_record(PyObject *self, PyObject *args)
{
    PyObject *folder, *words, *listing = Py_None, *plan = Py_None;
    struct cairn_lines_hub *hub = &((struct cairn_lines_object *)self)->source->hub;
    int wants_lines = 1, on = 1;
    double limit = 0, line_ns = 0, frame_ns = 0;

    if (!PyArg_ParseTuple(args, "OO|pOpOd(dd):record", &folder, &words, &wants_lines, &listing, &on,
                          &plan, &limit, &line_ns, &frame_ns) ||
        begin_recording((struct cairn_lines_object *)self, folder, words, wants_lines, listing,
                        plan, on) < 0)
        return NULL;
    if (plan == Py_None && listing == Py_None) { /* of others it was not measured */
        hub->spool->head->costs.event = line_ns;
        hub->spool->head->costs.call = frame_ns;
    }
    if (limit > 0) {
        cairn_line_meter_begin(hub, limit, line_ns, NULL);
        hub->spool->head->meter.setup_ns = cairn_gate_setup_ns();
    }
    Py_INCREF(self); /* for good, as the file is */
    Py_RETURN_NONE;
}

static void keep(struct cairn_lines_object *lines, PyObject *code)
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

static int keep_lines(struct cairn_lines_object *lines, PyObject *code)
{
    if (cairn_lines_object_add(lines, code) < 0)
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

/* What is called here is not the program's: no profiler or debugger hears of it. */
static PyObject *call_quietly(PyObject *function, PyObject *code, PyObject *more)
{
    PyThreadState *thread = PyThreadState_Get();
    PyObject *result;

#if PY_VERSION_HEX >= 0x030b0000
    PyThreadState_EnterTracing(thread);
    result = PyObject_CallFunctionObjArgs(function, code, more, NULL);
    PyThreadState_LeaveTracing(thread);
#else
    thread->tracing++;
    result = PyObject_CallFunctionObjArgs(function, code, more, NULL);
    thread->tracing--;
#endif
    return result;
}

/* Whether it is (listing, what, spots) of the code: bytes each; one of `what` for each unit. */
static bool is_listing(PyObject *listed, PyObject *code)
{
    if (!PyTuple_Check(listed) || PyTuple_GET_SIZE(listed) != 3)
        return false;
    for (Py_ssize_t i = 0; i < 3; i++)
        if (!PyBytes_Check(PyTuple_GET_ITEM(listed, i)))
            return false;
    return PyBytes_GET_SIZE(PyTuple_GET_ITEM(listed, 1)) == units_in(code);
}

static PyObject *list_quietly(PyObject *listing, PyObject *code, PyObject *kept)
{
    PyObject *listed = kept == NULL ? NULL : call_quietly(listing, code, kept);

    if (listed == NULL || is_listing(listed, code))
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

static struct cairn_units_plan plan_of(PyObject *listed, uint32_t count)
{
    const struct cairn_span spots = span_of(PyTuple_GET_ITEM(listed, 2));

    return (struct cairn_units_plan){
        .count = count,
        .what = span_of(PyTuple_GET_ITEM(listed, 1)).data,
        .spot_count = (uint32_t)(spots.size_bytes / sizeof(struct cairn_spot_place)),
        .spots = (const struct cairn_spot_place *)(uintptr_t)spots.data,
    };
}

static int keep_units(struct cairn_line_source *source, PyObject *code)
{
    PyObject *held[3] = {NULL, NULL, NULL};
    PyObject *listed = list_quietly(source->listing, code, Py_None);
    struct cairn_exact_words words = {.first_line = 0};
    const struct cairn_lines_code *found;
    struct cairn_units_plan plan;
    int result;

    found = cairn_lines_find(&source->hub, code);
    if (listed == NULL ||
        (found != NULL && found->units != NULL)) { /* by another thread meanwhile */
        Py_XDECREF(listed);
        return listed == NULL ? -1 : 0;
    }
    cairn_describe(code, held, &words);
    plan = plan_of(listed, units_in(code));
    result = cairn_lines_count_units(&source->hub, code, &plan, &words,
                                     span_of(PyTuple_GET_ITEM(listed, 0)));
    for (Py_ssize_t i = 1; result == 0 && i < 3; i++)
        Py_INCREF(PyTuple_GET_ITEM(listed, i)); /* borrowed for good */
    for (size_t i = 0; i < 3; i++)
        Py_XDECREF(held[i]);
    Py_DECREF(listed);
    if (result < 0)
        return 0; /* said to be lost */
    /* The code object stays as well: its address is the key. */
    return PyList_Append(source->listed, code) < 0 ? -1 : cairn_line_events_begin(source, code);
}

/* {offset: (the form that was given up for a window, how often those did not fit)}; NULL: no
 * memory. */
static PyObject *given_up(const struct cairn_spots *spots)
{
    PyObject *all = PyDict_New();

    for (uint32_t i = 0; all != NULL && spots->met != NULL && i < spots->count; i++) {
        const struct cairn_spot *spot = &spots->met[i];
        PyObject *key, *value;
        int code;

        if (spot->watch.lost == 0)
            continue;
        key = PyLong_FromSize_t((size_t)spot->unit * sizeof(_Py_CODEUNIT));
        value = Py_BuildValue("II", spot->watch.lost, spot->watch.misses);
        code = key == NULL || value == NULL ? -1 : PyDict_SetItem(all, key, value);
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (code < 0)
            Py_CLEAR(all);
    }
    return all;
}

/* The program is over: the forms in which its instructions were run are known. */
static void list_again(struct cairn_line_source *source)
{
    for (Py_ssize_t i = 0; source->listed != NULL && i < PyList_GET_SIZE(source->listed); i++) {
        PyObject *code = PyList_GET_ITEM(source->listed, i), *held[3] = {NULL, NULL, NULL};
        const struct cairn_lines_code *found = cairn_lines_find(&source->hub, code);
        PyObject *kept = found == NULL ? NULL : given_up(&found->units->spots);
        PyObject *listed = list_quietly(source->listing, code, kept);
        struct cairn_exact_words words = {.first_line = 0};

        Py_XDECREF(kept);
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

/* The code's lines without their times, as the plan says: bytes, numbers of 32 bits: whether it is
 * to be told that the code begins, and places (struct cairn_line_plan). */
static int keep_counts(struct cairn_line_source *source, PyObject *code)
{
    PyObject *planned = call_quietly(source->plan, code, NULL), *held[3] = {NULL, NULL, NULL};
    const struct cairn_lines_code *found = cairn_lines_find(&source->hub, code);
    struct cairn_line_plan plan = {.unit_count = units_in(code)};
    struct cairn_exact_words words = {.first_line = 0};
    long first, last;
    int result;

    if (planned == NULL || !PyBytes_Check(planned) ||
        (found != NULL && found->counts != NULL) /* by another thread meanwhile */ ||
        cairn_code_lines(code, &first, &last) < 0) {
        Py_XDECREF(planned);
        return PyErr_Occurred() ? -1 : 0;
    }
    plan.count = (size_t)PyBytes_GET_SIZE(planned) / sizeof(*plan.numbers);
    plan.numbers = (const uint32_t *)(uintptr_t)PyBytes_AS_STRING(planned);
    cairn_describe(code, held, &words);
    if (plan.count > 0) {
        plan.count--;
        plan.numbers++;
    }
    result = cairn_lines_count(&source->hub, code, (uint32_t)first, (uint32_t)(last - first + 1),
                               &plan, &words);
    if (result == 0)
        cairn_lines_find(&source->hub, code)->counts->starts =
            PyBytes_GET_SIZE(planned) == 0 || plan.numbers[-1] != 0;
    for (size_t i = 0; i < 3; i++)
        Py_XDECREF(held[i]);
    Py_DECREF(planned);
    if (result < 0)
        return 0; /* said to be lost */
    return PyList_Append(source->planned, code) < 0 ? -1 : cairn_line_events_begin(source, code);
}

/* Counts the code into the file, as far as that is wanted and not done yet. 0; -1 with an exception
 * set. */
static int record_code(void *context, PyObject *code)
{
    struct cairn_lines_object *lines = context;
    struct cairn_line_source *source = lines->source;
    struct cairn_lines_code *found = cairn_lines_find(&source->hub, code);
    int result = 0;

    if (source->wants_lines && source->plan == NULL && !is_kept(found))
        result = keep_lines(lines, code);
    else if (source->wants_lines && source->plan != NULL &&
             (found == NULL || found->counts == NULL))
        result = keep_counts(source, code);
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
    struct cairn_line_source *source = cairn_line_source_find();

    PyErr_Clear();
    if (source == NULL || source->recording == NULL || source->plan != NULL)
        return;
    profiler->lines = source;
    profiler->exact.host.returned = returned;
    cairn_lines_know_calls(&source->hub, true);
}

PyObject *cairn_lines_object_choose(PyObject *self, PyObject *thing)
{
    if (((struct cairn_lines_object *)self)->source->chooser.words != NULL &&
        cairn_chooser_codes(thing, record_code, self) < 0)
        return NULL;
    Py_INCREF(thing);
    return thing;
}

static void lessen(double *cost_ns, double now_ns)
{
    if (now_ns < *cost_ns)
        *cost_ns = now_ns;
}

PyObject *cairn_lines_object_cost(PyObject *self, PyObject *args)
{
    struct cairn_lines_object *lines = (struct cairn_lines_object *)self;
    struct cairn_spool *spool = lines->source->hub.spool;
    double line_ns, frame_ns;

    if (!PyArg_ParseTuple(args, "dd:cost", &line_ns, &frame_ns))
        return NULL;
    if (lines->source->recording == self && spool != NULL && spool->head != NULL) {
        lessen(&spool->head->costs.event, line_ns);
        lessen(&spool->head->costs.call, frame_ns);
    }
    Py_RETURN_NONE;
}

PyObject *cairn_lines_object_end(PyObject *self, PyObject *unused)
{
    struct cairn_line_source *source = ((struct cairn_lines_object *)self)->source;

    if (source->recording != self || source->chooser.words == NULL)
        Py_RETURN_NONE;
    cairn_line_events_chosen(source);
    cairn_chooser_release(&source->chooser);
    Py_XDECREF(cairn_lines_object_disable(self, unused));
    list_again(source);
    cairn_lines_end(&source->hub);
    Py_RETURN_NONE;
}
