/* exactmodule.c: cairn._exact, the class that cairn.cprofile builds on.
 *
 * Its type is called _lsprof.Profiler, for that name stands in the tables of every profile
 * ("{method 'disable' of '_lsprof.Profiler' objects}").
 */
#include "profiler.h"
#include "regiontypes.h"
#include "texthook.h"

#include <structseq.h>

#include "exactsums.h"
#include "heirs.h"
#include "ticks.h"

#define MOST_BYTES ((size_t)512 << 20)
#define MOST_NODES ((size_t)4 << 20)
#define MOST_DEPTH ((size_t)1 << 20)
#define ENABLED "cairn.enabled" /* in the interpreter's dictionary: the profiler that is */
#define NS 1e-9

/* The program does not find the module where Cairn loaded it (_site/sitecustomize.py): we do. */
static int keep_module(PyObject *module)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp);

    if (members == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return PyDict_SetItemString(members, CAIRN_MODULE_NAME, module);
}

PyObject *cairn_module_member(const char *name)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp);
    PyObject *module = members == NULL ? NULL : PyDict_GetItemString(members, CAIRN_MODULE_NAME);

    if (module == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter ends");
        return NULL;
    }
    return PyObject_GetAttrString(module, name);
}

/* --- the clock --- */

static int64_t read_timer(void *context)
{
    struct cairn_profiler *profiler = context;
    PyObject *told, *type, *value, *trace;
    int64_t time = 0;

    PyErr_Fetch(&type, &value, &trace);
    told = PyObject_CallObject(profiler->timer, NULL);
    if (told != NULL && profiler->timeunit > 0) {
        time = PyLong_AsLongLong(told);
    } else if (told != NULL) {
        double seconds = PyFloat_AsDouble(told);

        if (seconds > -9e9 && seconds < 9e9)
            time = (int64_t)(seconds / NS + (seconds < 0 ? -0.5 : 0.5));
        else if (!PyErr_Occurred())
            PyErr_SetString(PyExc_OverflowError, "the timer tells a time that is out of range");
    }
    Py_XDECREF(told);
    if (PyErr_Occurred()) {
        PyErr_WriteUnraisable(profiler->timer);
        time = 0;
    }
    PyErr_Restore(type, value, trace);
    return time;
}

static double factor_of(const struct cairn_profiler *profiler)
{
    if (profiler->timer == NULL)
        return cairn_ticks_ns() * NS;
    return profiler->timeunit > 0 ? profiler->timeunit : NS;
}

/* --- enable and disable --- */

/* The profiler that is enabled in this interpreter, borrowed; NULL: none. */
static PyObject *enabled_now(void)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp);

    return members == NULL ? NULL : PyDict_GetItemString(members, ENABLED);
}

static int set_enabled(PyObject *profiler)
{
    PyObject *members = PyInterpreterState_GetDict(PyThreadState_Get()->interp);

    if (members == NULL)
        return -1;
    return profiler != NULL ? PyDict_SetItemString(members, ENABLED, profiler)
                            : PyDict_DelItemString(members, ENABLED);
}

static PyObject *profiler_enable(PyObject *self, PyObject *args, PyObject *named)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;
    static const char *const names[] = {"subcalls", "builtins", NULL};
    int subcalls = -1, builtins = -1; /* as it was made, or enabled before */
    PyObject *other = enabled_now();

    if (!PyArg_ParseTupleAndKeywords(args, named, "|pp:enable", (char **)names, &subcalls,
                                     &builtins))
        return NULL;
    if (other != NULL && (other != self || CAIRN_MONITORS)) {
        PyErr_SetString(PyExc_ValueError, "Another profiling tool is already active");
        return NULL;
    }
    profiler->subcalls = subcalls < 0 ? profiler->subcalls : subcalls;
    profiler->builtins = builtins < 0 ? profiler->builtins : builtins;
    profiler->exact.flat = !profiler->subcalls;
    if (set_enabled(self) < 0)
        return NULL;
    profiler->enabled = 1;
    if (!cairn_meter_has_ended(&profiler->exact) && cairn_events_begin(profiler) < 0) {
        PyObject *type, *value, *trace;

        PyErr_Fetch(&type, &value, &trace);
        profiler->enabled = 0;
        (void)set_enabled(NULL);
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_RETURN_NONE;
}

static int refuse_in_timer(const struct cairn_profiler *profiler, const char *what)
{
    if (!cairn_exact_is_busy(&profiler->exact))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "cannot %s profiler in external timer", what);
    return -1;
}

static int turn_off(struct cairn_profiler *profiler)
{
    int code;

    profiler->enabled = 0;
    code = cairn_events_end(profiler);
    cairn_exact_stop(&profiler->exact);
    return set_enabled(NULL) < 0 ? -1 : code;
}

static PyObject *profiler_disable(PyObject *self, PyObject *unused)
{
    PyObject *enabled = enabled_now();

    (void)unused;
    if (refuse_in_timer((struct cairn_profiler *)self, "disable") < 0)
        return NULL;
#if CAIRN_MONITORS
    if (enabled != self)
        Py_RETURN_NONE;
#endif
    /* Until 3.11 the tool of that version turns off whoever is on, too: there is one slot. */
    if (enabled != NULL) {
        int code;

        Py_INCREF(enabled);
        code = turn_off((struct cairn_profiler *)enabled);
        Py_DECREF(enabled);
        if (code < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *profiler_clear(PyObject *self, PyObject *unused)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;

    (void)unused;
    if (refuse_in_timer(profiler, "clear") < 0)
        return NULL;
    cairn_exact_clear(&profiler->exact);
    Py_RETURN_NONE;
}

/* --- what was counted --- */

static PyObject *name_of(const struct cairn_exact_row *row)
{
    PyObject *learnt = row->learnt;

    if (PyTuple_Check(learnt))
        learnt = PyTuple_GET_ITEM(learnt, 0);
    Py_INCREF(learnt);
    return learnt;
}

/* Fills the members that rows and their callees have in common; 0, -1 with an exception set. */
static int fill(PyObject *tuple, PyObject *code, const struct cairn_exact_sum *sum, double factor)
{
    PyObject *members[] = {
        code,
        PyLong_FromLongLong(sum->calls),
        PyLong_FromLongLong(sum->calls - sum->primitive_calls),
        PyFloat_FromDouble((double)sum->total * factor),
        PyFloat_FromDouble((double)sum->self * factor),
    };
    int result = 0;

    for (Py_ssize_t i = 0; i < 5; i++) {
        PyStructSequence_SetItem(tuple, i, members[i]);
        result = members[i] == NULL ? -1 : result;
    }
    return result;
}

/* The callees of a row, None when it has none; NULL with an exception set. */
static PyObject *callees_of(const struct cairn_exact_sums *sums, const struct cairn_exact_row *row,
                            PyTypeObject *type, double factor)
{
    PyObject *list = PyList_New(0);

    for (size_t at = row->first_callee; list != NULL && at != CAIRN_EXACT_NONE;
         at = sums->callees.items[at].next) {
        const struct cairn_exact_callee *callee = &sums->callees.items[at];
        PyObject *entry;

        if (callee->sum.calls == 0)
            continue;
        entry = PyStructSequence_New(type);
        if (entry == NULL ||
            fill(entry, name_of(&sums->rows.items[callee->row]), &callee->sum, factor) < 0 ||
            PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    if (list == NULL || PyList_GET_SIZE(list) > 0)
        return list;
    Py_DECREF(list);
    Py_RETURN_NONE;
}

static int add_entry(PyObject *list, const struct cairn_exact_sums *sums, size_t row,
                     PyTypeObject *types[2], double factor)
{
    PyObject *callees = callees_of(sums, &sums->rows.items[row], types[1], factor);
    PyObject *entry = callees == NULL ? NULL : PyStructSequence_New(types[0]);
    int code = -1;

    if (entry != NULL) {
        PyStructSequence_SetItem(entry, 5, callees);
        callees = NULL;
        code = fill(entry, name_of(&sums->rows.items[row]), &sums->rows.items[row].sum, factor);
    }
    if (code == 0)
        code = PyList_Append(list, entry);
    Py_XDECREF(callees);
    Py_XDECREF(entry);
    return code;
}

static PyObject *profiler_getstats(PyObject *self, PyObject *unused)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;
    PyObject *types[2] = {cairn_module_member("profiler_entry"),
                          cairn_module_member("profiler_subentry")};
    PyObject *list = types[0] == NULL || types[1] == NULL ? NULL : PyList_New(0);
    struct cairn_exact_sums sums = {0};
    double factor = factor_of(profiler);

    (void)unused;
    if (list != NULL && cairn_exact_sums_make(&profiler->exact, &sums) < 0) {
        PyErr_NoMemory();
        Py_CLEAR(list);
    }
    for (size_t i = 0; list != NULL && i < sums.rows.count; i++)
        if (sums.rows.items[i].sum.calls > 0 &&
            add_entry(list, &sums, i, (PyTypeObject **)types, factor) < 0)
            Py_CLEAR(list);
    cairn_exact_sums_release(&sums);
    Py_XDECREF(types[0]);
    Py_XDECREF(types[1]);
    return list;
}

static PyObject *profiler_tally(PyObject *self, PyObject *unused)
{
    struct cairn_exact_tally tally;

    (void)unused;
    cairn_exact_tally(&((struct cairn_profiler *)self)->exact, &tally);
    return Py_BuildValue("{sKsKsKsK}", "lost", (unsigned long long)tally.lost, "strays",
                         (unsigned long long)tally.strays, "healed",
                         (unsigned long long)tally.healed, "folded",
                         (unsigned long long)tally.folded);
}

/* --- the type --- */

static int profiler_init(PyObject *self, PyObject *args, PyObject *named)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;
    static const char *const names[] = {"timer", "timeunit", "subcalls", "builtins",
                                        "types", "apart",    NULL};
    int subcalls = 1, builtins = 1, types = 0, apart = 0;
    double timeunit = 0;
    PyObject *timer = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|Odpp$pp:Profiler", (char **)names, &timer,
                                     &timeunit, &subcalls, &builtins, &types, &apart))
        return -1;
    if (types && !CAIRN_MONITORS) {
        PyErr_SetString(PyExc_ValueError, "calls of types are seen from Python 3.12 on");
        return -1;
    }
    if (timer == Py_None)
        timer = NULL;
    Py_XINCREF(timer);
    Py_XSETREF(profiler->timer, timer);
    profiler->timeunit = timeunit;
    profiler->subcalls = subcalls;
    profiler->builtins = builtins;
    profiler->types = types;
    profiler->apart = apart;
    profiler->exact.host.now = timer == NULL ? NULL : read_timer;
    return 0;
}

static PyObject *profiler_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)type->tp_alloc(type, 0);

    (void)args, (void)named;
    if (profiler != NULL) {
        const struct cairn_exact_host host = {.context = profiler,
                                              .learn = cairn_callee_learn,
                                              .forget = cairn_callee_forget,
                                              .outer = cairn_events_outer};

        cairn_exact_init(&profiler->exact, &host, MOST_BYTES, MOST_NODES, MOST_DEPTH);
    }
    return (PyObject *)profiler;
}

static int profiler_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct cairn_profiler *)self)->timer);
    CAIRN_VISIT_TYPE(self);
    return 0;
}

static int profiler_drop_timer(PyObject *self)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;

    profiler->exact.host.now = NULL;
    Py_CLEAR(profiler->timer);
    return 0;
}

static void profiler_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    cairn_events_forget((struct cairn_profiler *)self);
    cairn_exact_release(&((struct cairn_profiler *)self)->exact);
    for (int i = 0; i < 3; i++)
        Py_CLEAR(((struct cairn_profiler *)self)->kept[i]);
    cairn_chooser_release(&((struct cairn_profiler *)self)->gate);
    (void)profiler_drop_timer(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef profiler_methods[] = {
    {"enable", (PyCFunction)(void (*)(void))profiler_enable, METH_VARARGS | METH_KEYWORDS,
     "enable(subcalls=True, builtins=True)\n\nStart counting the calls of all threads."},
    {"disable", profiler_disable, METH_NOARGS, "disable()\n\nStop counting."},
    {"clear", profiler_clear, METH_NOARGS, "clear()\n\nForget all that was counted."},
    {"getstats", profiler_getstats, METH_NOARGS,
     "getstats() -> list of profiler_entry objects\n\nWhat was counted of calls that are over."},
    {"record", cairn_profiler_record, METH_VARARGS,
     "record(folder, words, on=True, times_bytes=0, ring=False, costs=(), limit=0, passed=0, "
     "counted=0, plain_passed=0, plain_counted=0)\n\n"
     "Start counting into a file in `folder`, for good; if not `on`, when enabled. Of code that "
     "the words mean; without words, of all. Keeps when calls were in up to `times_bytes`, of a "
     "ring the latest; and with it what counting costs, as ns: a call, so much of it inside; the "
     "same of C, and of a resume. Of a `limit`, a share, more is not to be spent on it than that "
     "of what the program needs; `passed`: what an event costs that is not counted, ns; "
     "`counted`: a call whose time is not taken; the same where, until 3.11, nothing but these is "
     "counted."},
    {"only", cairn_profiler_only, METH_O,
     "only(words)\n\nCount calls of code that the words mean, from before enable() on."},
    {"count", cairn_profiler_count, METH_O,
     "count(code)\n\nFrom now on count the calls of this code, and do not time them; None: of all "
     "code, and nothing else, until 3.11, from before enable() on."},
    {"hook", cairn_profiler_hook, METH_NOARGS,
     "hook() -> str or None\n\nFrom the next enable() on calls are told of by jumps in the text of "
     "Python 3.15 as well, unless that may go wrong: why they are not."},
    {"measure", cairn_profiler_measure, METH_VARARGS | METH_STATIC,
     "measure(function, argument) -> int\n\nHow long function(argument) takes, ns."},
    {"cost", cairn_profiler_cost, METH_O, "cost(costs)\n\nMeasured again; the lesser counts."},
    {"end", cairn_profiler_end, METH_NOARGS, "end()\n\nEnd what record() began."},
    {"tally", profiler_tally, METH_NOARGS, "tally() -> dict\n\nWhat has no place in the tree."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot profiler_slots[] = {
    {Py_tp_doc,
     (void *)"Profiler(timer=None, timeunit=0.0, subcalls=True, builtins=True, *, types=False, "
             "apart=False)"},
    {Py_tp_new, profiler_new},
    {Py_tp_init, profiler_init},
    {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_traverse, profiler_traverse},
    {Py_tp_clear, profiler_drop_timer},
    {Py_tp_methods, profiler_methods},
    {CAIRN_MONITORS ? 0 : Py_tp_call, CAIRN_PROFILE_CALLED}, /* 0 ends them */
    {0, NULL},
};

static PyType_Spec profiler_spec = {
    .name = "_lsprof.Profiler",
    .basicsize = sizeof(struct cairn_profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = profiler_slots,
};

static PyStructSequence_Field entry_fields[] = {
    {"code", "code object or built-in function name"},
    {"callcount", "how many times this was called"},
    {"reccallcount", "how many times called recursively"},
    {"totaltime", "total time in this entry"},
    {"inlinetime", "inline time in this entry (not in subcalls)"},
    {"calls", "details of the calls"},
    {NULL, NULL},
};
static PyStructSequence_Field subentry_fields[] = {
    {"code", "called code object or built-in function name"},
    {"callcount", "how many times this is called"},
    {"reccallcount", "how many times this is called recursively"},
    {"totaltime", "total time spent in this call"},
    {"inlinetime", "inline time (not in further subcalls)"},
    {NULL, NULL},
};
static PyStructSequence_Desc entry_desc = {"_lsprof.profiler_entry", "", entry_fields, 6};
static PyStructSequence_Desc subentry_desc = {"_lsprof.profiler_subentry", "", subentry_fields, 5};

static int add(PyObject *module, const char *name, PyObject *what)
{
    if (what != NULL && PyModule_AddObject(module, name, what) == 0)
        return 0;
    Py_XDECREF(what);
    return -1;
}

static int module_exec(PyObject *module)
{
    cairn_gate_loaded();
    if (cairn_heirs_add(module) < 0 ||
        add(module, "Profiler", PyType_FromSpec(&profiler_spec)) < 0 ||
        add(module, "Lines", cairn_lines_type()) < 0 ||
        add(module, "profiler_entry", (PyObject *)PyStructSequence_NewType(&entry_desc)) < 0 ||
        add(module, "profiler_subentry", (PyObject *)PyStructSequence_NewType(&subentry_desc)) < 0)
        return -1;
    return cairn_events_add(module) < 0 || cairn_regions_add(module) < 0 ? -1 : keep_module(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if CAIRN_MONITORS
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = CAIRN_MODULE_NAME,
    .m_doc = "Calls, counted and timed one by one.",
    .m_methods = cairn_toggle_methods,
    .m_slots = module_slots,
};

CAIRN_MODULE_INIT PyInit__exact(void); /* no header has it */

CAIRN_MODULE_INIT PyInit__exact(void)
{
    return PyModuleDef_Init(&module_def);
}
