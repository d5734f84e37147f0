/* gate.c: which code's calls are counted, where somebody named some, or counting costs too much.
 * Each code object is judged when it is met first, and bears the answer from then on, which goes
 * with it.
 */
#include "profiler.h"

#include "clock.h"
#include "ticks.h"

#if CAIRN_MONITORS
#define REQUEST_EXTRA PyUnstable_Eval_RequestCodeExtraIndex
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#else
#define REQUEST_EXTRA _PyEval_RequestCodeExtraIndex
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#endif

/* Addresses that are answers; the last three of what is left out: all, what it calls of C, that and
 * its times. */
static char yes, no, gone, bare, counted;

static uint64_t loaded_ns; /* CPU time of this process when the module was loaded */

void cairn_gate_loaded(void)
{
    loaded_ns = cairn_clock_own_cpu_ns();
}

double cairn_gate_setup_ns(void)
{
    return (double)(cairn_clock_own_cpu_ns() - loaded_ns);
}

static int find_place(struct cairn_profiler *profiler)
{
    if (profiler->has_place)
        return 0;
    profiler->place = REQUEST_EXTRA(NULL);
    profiler->has_place = profiler->place >= 0;
    if (profiler->has_place)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "no place for a mark is left in code objects");
    return -1;
}

int cairn_gate_open(struct cairn_profiler *profiler, PyObject *words)
{
    if (PyList_Check(words) && PyList_GET_SIZE(words) == 0)
        return 0;
    if (find_place(profiler) < 0)
        return -1;
    profiler->gated = profiler->exact.partial = true;
    return cairn_chooser_init(&profiler->gate, words);
}

PyObject *cairn_profiler_only(PyObject *self, PyObject *words)
{
    if (cairn_gate_open((struct cairn_profiler *)self, words) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Exceptions are left as they were: a generator that is thrown into begins with one. */
static void mark(struct cairn_profiler *profiler, PyObject *code, void *answer)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    if (SET_EXTRA(code, profiler->place, answer) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

static enum cairn_gate meaning_of(const void *answer)
{
    return answer == &yes       ? CAIRN_GATE_ALL
           : answer == &bare    ? CAIRN_GATE_ITSELF
           : answer == &counted ? CAIRN_GATE_COUNT
                                : CAIRN_GATE_NOTHING;
}

enum cairn_gate cairn_gate_asks(struct cairn_profiler *profiler, PyObject *code, PyObject *globals)
{
    void *answer = NULL;

    if (GET_EXTRA(code, profiler->place, &answer) == 0 && answer != NULL)
        return meaning_of(answer);
    if (profiler->gate.words == NULL)
        return CAIRN_GATE_ALL;
    if (globals == NULL)
        globals = PyEval_GetGlobals();
    answer = cairn_chooser_wants(&profiler->gate, (PyCodeObject *)code, globals) ? &yes : &no;
    mark(profiler, code, answer);
    return meaning_of(answer);
}

bool cairn_gate_has_let_go(struct cairn_profiler *profiler, PyObject *code)
{
    void *answer = NULL;

    return profiler->has_place && GET_EXTRA(code, profiler->place, &answer) == 0 &&
           (answer == &gone || answer == &counted);
}

/* --- what is left out so that counting costs no more than it may --- */

static void leave_out(struct cairn_profiler *profiler, PyObject *code, void *answer)
{
    mark(profiler, code, answer);
    profiler->gated = profiler->leaves = true;
}

static void let_go(void *context, void *learnt, unsigned what)
{
    struct cairn_profiler *profiler = context;

    if (!PyCode_Check((PyObject *)learnt))
        return;
    leave_out(profiler, learnt,
              what == CAIRN_LET_GO_NATIVES ? &bare
              : what == CAIRN_LET_GO_TIMES ? &counted
                                           : &gone);
}

PyObject *cairn_profiler_count(PyObject *self, PyObject *code)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;

    if (code == Py_None && !CAIRN_MONITORS) {
        profiler->plain = profiler->exact.partial = true;
        Py_RETURN_NONE;
    }
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "code objects are counted");
        return NULL;
    }
    if (find_place(profiler) < 0)
        return NULL;
    leave_out(profiler, code, &counted);
    profiler->exact.partial = true;
    Py_RETURN_NONE;
}

/* From within an event, as the end of all. */
static void turn_plain(void *context)
{
    struct cairn_profiler *profiler = context;
    struct cairn_spool_head *head = profiler->spool.head;
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    profiler->plain = true;
    if (cairn_events_end(profiler) < 0 || cairn_events_begin(profiler) < 0)
        PyErr_Clear(); /* as below */
    PyErr_Restore(type, value, trace);
    if (head != NULL)
        head->costs.counted = profiler->exact.meter.host.plain_counted;
}

static void stop(void *context)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    if (cairn_events_halt(context) < 0)
        PyErr_Clear(); /* an audit hook forbids it: all goes on, and the report tells what it cost
                        */
    PyErr_Restore(type, value, trace);
}

int cairn_gate_limit(struct cairn_profiler *profiler, double share,
                     const struct cairn_gate_costs *known)
{
    struct cairn_spool_costs *costs = &profiler->spool.head->costs;
    struct cairn_meter_host host = {.let_go = let_go,
                                    .stop = stop,
                                    .tick_ns = cairn_ticks_ns(),
                                    .share = share,
                                    .call = costs->call + costs->event,
                                    .native = costs->native + costs->event,
                                    .resume = costs->resume + costs->event,
                                    .passed = known->passed,
                                    .counted = known->counted,
                                    .plain = known->plain_counted > 0 ? turn_plain : NULL,
                                    .plain_passed = known->plain_passed,
                                    .plain_counted = known->plain_counted,
                                    .passes_stay = !CAIRN_MONITORS};

    if (costs->call <= 0) {
        PyErr_SetString(PyExc_RuntimeError, "what counting costs could not be measured");
        return -1;
    }
    if (find_place(profiler) < 0)
        return -1;
    costs->counted = known->counted;
    cairn_meter_begin(&profiler->exact, &host);
    profiler->spool.head->meter.setup_ns = cairn_gate_setup_ns();
    return 0;
}
