/* texthook.c: the jumps, and what stands behind them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "texthook.h"

#include <string.h>

#if PY_VERSION_HEX >= 0x030f0000 && PY_VERSION_HEX < 0x03100000 && defined(__x86_64__) &&          \
    !defined(Py_GIL_DISABLED)
#include <dlfcn.h>
#include <stdio.h>

#define Py_BUILD_CORE 1
#include <internal/pycore_interp_structs.h>
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

#include "callevents.h"
#include "exactsums.h"
#include "textjump.h"

#define REASON_MAX_BYTES 120
#define LAID_OUT "the interpreter's memory is laid out otherwise than that of the headers"

typedef struct _PyInterpreterFrame frame_type; /* as the functions have it, not to be changed */
typedef int plain_function(PyThreadState *thread, int event, frame_type *frame,
                           _Py_CODEUNIT *instruction);
typedef int function_of_one(PyThreadState *thread, int event, frame_type *frame,
                            _Py_CODEUNIT *instruction, PyObject *argument);
typedef int function_of_two(PyThreadState *thread, int event, frame_type *frame,
                            _Py_CODEUNIT *instruction, PyObject *callee, PyObject *argument);

/* In the order of the callbacks. */
static const int events[CAIRN_TEXT_CALLBACKS] = {
    PY_MONITORING_EVENT_PY_START,  PY_MONITORING_EVENT_PY_RESUME, PY_MONITORING_EVENT_PY_THROW,
    PY_MONITORING_EVENT_PY_RETURN, PY_MONITORING_EVENT_PY_YIELD,  PY_MONITORING_EVENT_PY_UNWIND,
    PY_MONITORING_EVENT_CALL,      PY_MONITORING_EVENT_C_RETURN,  PY_MONITORING_EVENT_C_RAISE,
};

/* Threads of other interpreters look at it as well: what they find is not registered there. */
static struct {
    PyObject *callbacks[_PY_MONITORING_EVENTS]; /* by event; NULL: not for us */
    PyObject *missing;
    struct cairn_profiler *profiler; /* NULL: the jumps are for nobody */
    int tool;
    uint64_t met; /* events that were done here */
} at_work;

static struct cairn_textjump plain_jump, one_jump, two_jump;

/* --- behind the jumps --- */

static inline PyObject *code_of(const frame_type *frame)
{
    return (PyObject *)(frame->f_executable.bits & ~(uintptr_t)3); /* how it is held */
}

/* Which tools are to be told, as the interpreter finds it. */
static inline unsigned tools_of(PyObject *code, int event, const _Py_CODEUNIT *instruction)
{
    const PyCodeObject *at = (const PyCodeObject *)code;
    const _PyCoMonitoringData *told = at->_co_monitoring;
    const _Py_CODEUNIT *first = (const _Py_CODEUNIT *)(const void *)at->co_code_adaptive;

    if (told->tools != NULL)
        return told->tools[instruction - first];
    return told->active_monitors
        .tools[event >= _PY_MONITORING_UNGROUPED_EVENTS ? PY_MONITORING_EVENT_CALL : event];
}

/* Whether the event is for our callback, and for nobody else; then, as while a callback runs, none
 * of its thread comes until is_done(). */
static inline bool is_ours(PyThreadState *thread, int event, PyObject *code,
                           const _Py_CODEUNIT *instruction)
{
    PyObject *ours = __atomic_load_n(&at_work.callbacks[event], __ATOMIC_RELAXED);
    int tool = at_work.tool;

    if (ours == NULL || thread->tracing != 0 ||
        thread->interp->monitoring_callables[tool][event] != ours ||
        tools_of(code, event, instruction) != 1U << tool)
        return false;
    thread->tracing++;
    return true;
}

static inline bool is_done(PyThreadState *thread, bool done)
{
    thread->tracing--;
    at_work.met += done;
    return done;
}

static int on_plain(PyThreadState *thread, int event, frame_type *frame, _Py_CODEUNIT *instruction)
{
    PyObject *code = code_of(frame);

    if (event == PY_MONITORING_EVENT_PY_START && is_ours(thread, event, code, instruction) &&
        is_done(thread, cairn_on_enter(at_work.profiler, &code, frame)))
        return 0;
    if (event == PY_MONITORING_EVENT_PY_RESUME && is_ours(thread, event, code, instruction) &&
        is_done(thread, cairn_on_resume(at_work.profiler, &code, frame)))
        return 0;
    return ((plain_function *)plain_jump.original)(thread, event, frame, instruction);
}

static int on_one(PyThreadState *thread, int event, frame_type *frame, _Py_CODEUNIT *instruction,
                  PyObject *argument)
{
    PyObject *code = code_of(frame);

    if (event == PY_MONITORING_EVENT_PY_RETURN && is_ours(thread, event, code, instruction) &&
        is_done(thread, cairn_on_leave(at_work.profiler, code, frame)))
        return 0;
    if (event == PY_MONITORING_EVENT_PY_YIELD && is_ours(thread, event, code, instruction) &&
        is_done(thread, cairn_on_yield(at_work.profiler, code, frame)))
        return 0;
    return ((function_of_one *)one_jump.original)(thread, event, frame, instruction, argument);
}

static int on_two(PyThreadState *thread, int event, frame_type *frame, _Py_CODEUNIT *instruction,
                  PyObject *callee, PyObject *argument)
{
    PyObject *code = code_of(frame), *called[2] = {callee, argument};

    if (event == PY_MONITORING_EVENT_CALL && is_ours(thread, event, code, instruction) &&
        is_done(thread,
                cairn_on_call(at_work.profiler, code, called, argument != at_work.missing, frame)))
        return 0;
    if (event == PY_MONITORING_EVENT_C_RETURN && is_ours(thread, event, code, instruction)) {
        cairn_on_called(at_work.profiler, code, callee, argument != at_work.missing, frame);
        (void)is_done(thread, true);
        return 0;
    }
    return ((function_of_two *)two_jump.original)(thread, event, frame, instruction, callee,
                                                  argument);
}

/* --- putting them in, and taking them out --- */

static struct {
    const char *name;
    struct cairn_textjump *jump;
    const void *target;
} jumps[] = {
    {"_Py_call_instrumentation", &plain_jump, (const void *)on_plain},
    {"_Py_call_instrumentation_arg", &one_jump, (const void *)on_one},
    {"_Py_call_instrumentation_2args", &two_jump, (const void *)on_two},
};

#define JUMPS (sizeof(jumps) / sizeof(jumps[0]))

/* Whether the interpreter, by what it tells debuggers, has in its memory what is used here, and
 * what lies around it, where it was compiled for; its own state is as long as the way it was built.
 */
static bool is_laid_out(void)
{
    const struct _Py_DebugOffsets *told = &_PyRuntime.debug_offsets;

    return told->version == PY_VERSION_HEX && told->free_threaded == 0 &&
           told->thread_state.size == sizeof(PyThreadState) &&
           told->thread_state.interp == offsetof(PyThreadState, interp) &&
           told->thread_state.current_frame == offsetof(PyThreadState, current_frame) &&
           told->interpreter_frame.size == sizeof(frame_type) &&
           told->interpreter_frame.executable == offsetof(frame_type, f_executable) &&
           told->interpreter_frame.previous == offsetof(frame_type, previous) &&
           told->interpreter_frame.owner == offsetof(frame_type, owner) &&
           told->code_object.size == sizeof(PyCodeObject) &&
           told->code_object.co_code_adaptive == offsetof(PyCodeObject, co_code_adaptive);
}

static const char *make_jumps(void)
{
    const char *why = is_laid_out() ? NULL : LAID_OUT;

    for (size_t i = 0; i < JUMPS && why == NULL; i++) {
        void *entry = dlsym(RTLD_DEFAULT, jumps[i].name);

        why = entry == NULL ? "the interpreter does not export the functions that tell of events"
                            : cairn_textjump_make(jumps[i].jump, entry, jumps[i].target);
    }
    return why;
}

/* What cannot be taken out passes all on: `at_work` is empty. */
static void take_out(void)
{
    for (size_t i = 0; i < JUMPS; i++)
        (void)cairn_textjump_take(jumps[i].jump);
}

static const char *put_in(void)
{
    const char *why = NULL;

    for (size_t i = 0; i < JUMPS && why == NULL; i++)
        why = cairn_textjump_put(jumps[i].jump);
    if (why != NULL)
        take_out();
    return why;
}

/* Threads of others may stand in what is written, under a GIL of their own. The list is looked at
 * no further than it is ours: the newest comes first. */
static const char *find_interpreters(void)
{
    PyInterpreterState *own = PyInterpreterState_Get();

    return PyInterpreterState_Head() == own && PyInterpreterState_Next(own) == NULL
               ? NULL
               : "there is more than one interpreter in the process";
}

/* Nobody but Cairn. */
static const char *find_others(const PyInterpreterState *interpreter)
{
    if (interpreter->sys_profiling_threads > 0 || interpreter->sys_tracing_threads > 0)
        return "the program has set a profile or trace function";
    for (int tool = 0; tool < PY_MONITORING_TOOL_IDS; tool++) {
        PyObject *name = interpreter->monitoring_tool_names[tool];

        if (name != NULL &&
            !(PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "cairn") == 0))
            return "another tool of sys.monitoring is in use";
    }
    return NULL;
}

const char *cairn_text_begin(struct cairn_profiler *profiler,
                             PyObject *const callbacks[CAIRN_TEXT_CALLBACKS], PyObject *missing)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    const char *why = find_interpreters();

    if (why != NULL)
        return why;
    if (at_work.profiler != NULL)
        return "another profiler has the jumps";
    for (size_t i = 0; i < CAIRN_TEXT_CALLBACKS; i++)
        if (callbacks[i] != NULL &&
            interpreter->monitoring_callables[profiler->tool][events[i]] != callbacks[i])
            return LAID_OUT;
    why = find_others(interpreter);
    if (why == NULL)
        why = put_in();
    if (why != NULL)
        return why;
    at_work.profiler = profiler;
    at_work.tool = profiler->tool;
    at_work.missing = missing;
    for (size_t i = 0; i < CAIRN_TEXT_CALLBACKS; i++)
        __atomic_store_n(&at_work.callbacks[events[i]], callbacks[i], __ATOMIC_RELAXED);
    return NULL;
}

void cairn_text_end(const struct cairn_profiler *profiler)
{
    if (at_work.profiler != profiler)
        return;
    for (size_t i = 0; i < CAIRN_TEXT_CALLBACKS; i++)
        __atomic_store_n(&at_work.callbacks[events[i]], NULL, __ATOMIC_RELAXED);
    at_work.profiler = NULL;
    take_out();
}

/* --- whether they do what they are to do --- */

/* By hand: begun 9, went on 2, yielded 2, returned 9, called 13, of them 5 of C that returned. */
#define EVENTS_OF_TRIAL 40

static const char trial[] = "def leaf(many):\n"
                            "    return len(many)\n"
                            "def steps():\n"
                            "    yield 1\n"
                            "    yield leaf(())\n"
                            "def deep(n):\n"
                            "    return deep(n - 1) if n else int()\n"
                            "def work():\n"
                            "    for one in steps():\n"
                            "        leaf([one])\n"
                            "    deep(3)\n"
                            "    [].append(work)\n";

/* The function that is tried, a new reference; NULL with an exception set. */
static PyObject *make_work(void)
{
    PyObject *code = Py_CompileString(trial, "<cairn>", Py_file_input);
    PyObject *globals = code == NULL ? NULL : PyDict_New();
    PyObject *done = globals == NULL ? NULL : PyEval_EvalCode(code, globals, globals);
    PyObject *work = done == NULL ? NULL : Py_XNewRef(PyDict_GetItemString(globals, "work"));

    Py_XDECREF(done);
    Py_XDECREF(globals);
    Py_XDECREF(code);
    return work;
}

/* Counts it; a new profiler, NULL with an exception set. */
static PyObject *count_work(PyObject *work, bool hooked)
{
    PyObject *type = cairn_module_member("Profiler"), *none = PyTuple_New(0);
    PyObject *named = Py_BuildValue("{sOsO}", "types", Py_True, "apart", Py_True);
    PyObject *profiler =
        type == NULL || none == NULL || named == NULL ? NULL : PyObject_Call(type, none, named);
    PyObject *on = NULL, *done = NULL, *off = NULL;

    if (profiler != NULL) {
        ((struct cairn_profiler *)profiler)->hooked = hooked;
        on = PyObject_CallMethod(profiler, "enable", NULL);
    }
    if (on != NULL) {
        done = PyObject_CallNoArgs(work);
        off = PyObject_CallMethod(profiler, "disable", NULL);
    }
    if (done == NULL || off == NULL)
        Py_CLEAR(profiler);
    Py_XDECREF(off);
    Py_XDECREF(done);
    Py_XDECREF(on);
    Py_XDECREF(named);
    Py_XDECREF(none);
    Py_XDECREF(type);
    return profiler;
}

static bool same_sum(const struct cairn_exact_sum *a, const struct cairn_exact_sum *b)
{
    return a->calls == b->calls && a->primitive_calls == b->primitive_calls;
}

static bool same_sums(const struct cairn_exact_sums *a, const struct cairn_exact_sums *b)
{
    if (a->rows.count != b->rows.count || a->callees.count != b->callees.count)
        return false;
    for (size_t i = 0; i < a->rows.count; i++)
        if (a->rows.items[i].key != b->rows.items[i].key ||
            !same_sum(&a->rows.items[i].sum, &b->rows.items[i].sum) ||
            a->rows.items[i].first_callee != b->rows.items[i].first_callee)
            return false;
    for (size_t i = 0; i < a->callees.count; i++)
        if (a->callees.items[i].row != b->callees.items[i].row ||
            a->callees.items[i].next != b->callees.items[i].next ||
            !same_sum(&a->callees.items[i].sum, &b->callees.items[i].sum))
            return false;
    return a->rows.count > 0;
}

static bool counted_the_same(PyObject *a, PyObject *b)
{
    struct cairn_exact_sums sums[2] = {{.rows.count = 0}, {.rows.count = 0}};
    bool same = cairn_exact_sums_make(&((struct cairn_profiler *)a)->exact, &sums[0]) == 0 &&
                cairn_exact_sums_make(&((struct cairn_profiler *)b)->exact, &sums[1]) == 0 &&
                same_sums(&sums[0], &sums[1]);

    cairn_exact_sums_release(&sums[0]);
    cairn_exact_sums_release(&sums[1]);
    return same;
}

static const char *try_them(void)
{
    PyObject *work = make_work(), *without = NULL, *with = NULL;
    const char *why = NULL;
    uint64_t before;

    without = work == NULL ? NULL : count_work(work, false);
    before = at_work.met;
    with = without == NULL ? NULL : count_work(work, true);
    if (with == NULL)
        why = "the trial of it failed";
    else if (((struct cairn_profiler *)with)->unhooked != NULL)
        why = ((struct cairn_profiler *)with)->unhooked;
    else if (at_work.met - before != EVENTS_OF_TRIAL)
        why = "in a trial other events came by it than had to";
    else if (!counted_the_same(without, with))
        why = "in a trial other calls were counted by it than without";
    PyErr_Clear();
    if (work != NULL)
        PyDict_Clear(PyFunction_GET_GLOBALS(work)); /* which hold it */
    Py_XDECREF(with);
    Py_XDECREF(without);
    Py_XDECREF(work);
    return why;
}

const char *cairn_text_try(void)
{
    static char other[REASON_MAX_BYTES];
    static const char *refused;
    static bool made, tried;
    const char *why = find_interpreters(); /* then what is static is ours */

    if (why != NULL)
        return why;
    if (Py_Version != PY_VERSION_HEX) {
        (void)snprintf(other, sizeof(other),
                       "this is CPython %lu.%lu.%lu, and Cairn's module was made for " PY_VERSION,
                       Py_Version >> 24, Py_Version >> 16 & 0xff, Py_Version >> 8 & 0xff);
        return other;
    }
    if (!made)
        refused = make_jumps();
    made = true;
    if (refused != NULL || tried)
        return refused;
    refused = try_them();
    tried = true;
    return refused;
}
#else
#define ELSEWHERE "it is for CPython 3.15 on x86-64, with a GIL"

const char *cairn_text_try(void)
{
    return ELSEWHERE;
}

const char *cairn_text_begin(struct cairn_profiler *profiler,
                             PyObject *const callbacks[CAIRN_TEXT_CALLBACKS], PyObject *missing)
{
    (void)profiler, (void)callbacks, (void)missing;
    return ELSEWHERE;
}

void cairn_text_end(const struct cairn_profiler *profiler)
{
    (void)profiler;
}
#endif

PyObject *cairn_profiler_hook(PyObject *self, PyObject *unused)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;

    (void)unused;
    profiler->unhooked = cairn_text_try();
    profiler->hooked = profiler->unhooked == NULL;
    if (profiler->hooked)
        Py_RETURN_NONE;
    return PyUnicode_FromString(profiler->unhooked);
}

void cairn_text_tell(struct cairn_profiler *profiler)
{
    struct cairn_spool_head *head = profiler->spool.head;

    if (!(profiler->hooked || profiler->unhooked != NULL) ||
        !cairn_exact_owns_spool(&profiler->exact) || head->text == CAIRN_SPOOL_TEXT_LEFT)
        return;
    head->text = profiler->unhooked == NULL ? CAIRN_SPOOL_TEXT_USED : CAIRN_SPOOL_TEXT_LEFT;
    if (profiler->unhooked != NULL)
        strncpy(head->text_why, profiler->unhooked, sizeof(head->text_why) - 1);
}
