/* linetracing.c: events of lines until 3.11: a function around the evaluation of frames (PEP 523)
 * sets the trace function of its thread for the frames of chosen code, and takes it away for those
 * that they call. Other code runs untraced, but each call of it passes through here.
 *
 * A trace function that the program has goes on: it is called by ours, and where ours is not set it
 * is. The slots carry no argument of ours, hence the static state; the one GIL of these versions
 * guards it.
 */
#include "lineevents.h"

#if !CAIRN_MONITORS
#include "evalslot.h"
#include "linecounts.h"
#include "operands.h"

#if PY_VERSION_HEX >= 0x030b0000
#include <opcode.h>
#endif

/* Where frames are evaluated without C calls in between (3.11), ours bring them back; deeper than
 * this they are left to the interpreter, and traced one and all. */
#define MOST_NESTED 2000

static struct cairn_line_source *active;
static struct cairn_eval_slot slot;
static __thread Py_tracefunc others; /* the program's own trace function; NULL: none */
static __thread unsigned nested;

static int on_trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

#if PY_VERSION_HEX >= 0x030a0000
static void set_tracing(PyThreadState *thread, Py_tracefunc function)
{
    thread->c_tracefunc = function;
    thread->cframe->use_tracing = function != NULL || thread->c_profilefunc != NULL ? 255 : 0;
}
#else
/* How many threads trace is counted: none may be missing when the loop looks. */
static int *tracing_possible(PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x03090000
    return &thread->interp->ceval.tracing_possible;
#else
    (void)thread;
    return &_PyRuntime.ceval.tracing_possible;
#endif
}

static void set_tracing(PyThreadState *thread, Py_tracefunc function)
{
    *tracing_possible(thread) += (function != NULL) - (thread->c_tracefunc != NULL);
    thread->c_tracefunc = function;
    thread->use_tracing = function != NULL || thread->c_profilefunc != NULL;
}
#endif

static inline uintptr_t address_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)frame->f_frame;
#else
    return (uintptr_t)frame;
#endif
}

static const void *code_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return frame->f_frame->f_code;
#else
    return frame->f_code;
#endif
}

/* The unit that is executed next. */
static uint32_t unit_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uint32_t)_PyInterpreterFrame_LASTI(frame->f_frame);
#elif PY_VERSION_HEX >= 0x030a0000
    return (uint32_t)frame->f_lasti;
#else
    return (uint32_t)frame->f_lasti / sizeof(_Py_CODEUNIT);
#endif
}

/* Whether it stands at a RESUME, of which there is no event: 3.11. */
static bool resumes(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    int opcode = _Py_OPCODE(_PyCode_CODE(frame->f_frame->f_code)[unit_of(frame)]);

    return opcode == RESUME || opcode == RESUME_QUICK;
#else
    (void)frame;
    return false;
#endif
}

/* What a frame's f_trace_opcodes is when we want its instructions; the program sets 1. */
#define OURS 2

static void execute(struct cairn_lines_hub *hub, struct cairn_lines_code *code,
                    PyFrameObject *frame)
{
    uint32_t unit = unit_of(frame);
    struct cairn_spots *spots = NULL;

    cairn_lines_unit(hub, code, unit);
    if (unit < code->units->count && (code->units->what[unit] & CAIRN_UNIT_SPOT) != 0)
        spots = cairn_lines_spots_now(hub, code);
    if (spots != NULL)
        cairn_operands_look(hub, spots, cairn_spots_find(spots, unit), frame);
}

/* The program's own function. Which may set another one, or none, as a debugger does that is told
 * to go on: ours stays where it was. */
static int pass_on(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *thread = PyThreadState_Get();
    int result = others(self, frame, what, arg);

    if (thread->c_tracefunc != on_trace) {
        others = thread->c_tracefunc;
        set_tracing(thread, on_trace);
    }
    return result;
}

static int on_trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    struct cairn_lines_hub *hub = active == NULL ? NULL : &active->hub;
    struct cairn_lines_code *code = hub == NULL ? NULL : cairn_lines_find(hub, code_of(frame));
    bool is_ours = what == PyTrace_OPCODE && frame->f_trace_opcodes == OURS;
    int result;

    if (what == PyTrace_OPCODE && PyErr_Occurred())
        return -1; /* of the line that begins with it, which is forgotten until 3.9 */
    result = others == NULL || is_ours ? 0 : pass_on(self, frame, what, arg);
    if (code == NULL)
        return result;
    if (cairn_lines_is_over(code)) { /* the frame goes on without us */
        set_tracing(PyThreadState_Get(), others);
        return result;
    }
    if (code->units != NULL && (what == PyTrace_OPCODE || (what == PyTrace_CALL && resumes(frame))))
        execute(hub, code, frame);
    if (code->units != NULL && frame->f_trace_opcodes == 0)
        frame->f_trace_opcodes = OURS;
    if (code->counts != NULL && what == PyTrace_LINE)
        cairn_lines_hit(hub, code, (uint32_t)PyFrame_GetLineNumber(frame));
    if (code->counters != NULL && what == PyTrace_LINE)
        cairn_lines_line(hub, code, address_of(frame), (uint32_t)PyFrame_GetLineNumber(frame));
    else if (what == PyTrace_RETURN && nested >= MOST_NESTED)
        cairn_lines_leave(hub, address_of(frame));
    return result;
}

/* Whether a frame that begins was suspended before. */
static bool goes_on(const CAIRN_FRAME *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return frame->owner == FRAME_OWNED_BY_GENERATOR &&
           _Py_OPCODE(*frame->prev_instr) != RETURN_GENERATOR;
#else
    return frame->f_lasti >= 0;
#endif
}

/* Whether a frame that ended will go on. */
static bool yielded(CAIRN_FRAME *frame, const PyObject *result)
{
    if (result == NULL)
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    return frame->owner == FRAME_OWNED_BY_GENERATOR &&
           _PyFrame_GetGenerator(frame)->gi_frame_state == FRAME_SUSPENDED;
#elif PY_VERSION_HEX >= 0x030a0000
    return frame->f_state == FRAME_SUSPENDED;
#else
    return frame->f_stacktop != NULL;
#endif
}

/* A frame of chosen code. */
static PyObject *traced(PyThreadState *thread, CAIRN_FRAME *frame, int throws,
                        struct cairn_lines_code *code)
{
    struct cairn_lines_hub *hub = &active->hub;
    bool begins = thread->c_tracefunc != on_trace;
    PyObject *result;

    if (begins) {
        others = thread->c_tracefunc;
        set_tracing(thread, on_trace);
    }
    if (goes_on(frame))
        cairn_lines_resume(hub, code, (uintptr_t)frame);
    else
        cairn_lines_enter(hub, code, (uintptr_t)frame);
    result = cairn_eval_pass(&slot, thread, frame, throws);
    if (yielded(frame, result))
        cairn_lines_suspend(hub, (uintptr_t)frame);
    else
        cairn_lines_leave(hub, (uintptr_t)frame);
    if (begins && thread->c_tracefunc == on_trace)
        set_tracing(thread, others);
    else if (begins && !cairn_lines_is_over(code))
        cairn_lines_displaced(hub); /* by the program, within the frame */
    else if (!begins && cairn_lines_is_over(code) && thread->c_tracefunc == others)
        set_tracing(thread, on_trace); /* which it had until it was let go */
    return result;
}

/* What a frame of chosen code calls. */
static PyObject *untraced(PyThreadState *thread, CAIRN_FRAME *frame, int throws)
{
    PyObject *result;

    set_tracing(thread, others);
    result = cairn_eval_pass(&slot, thread, frame, throws);
    others = thread->c_tracefunc; /* which the program may have changed */
    set_tracing(thread, on_trace);
    return result;
}

/* Code that was judged and is not wanted bears a mark, which goes with it. */
static Py_ssize_t mark = -1;

static struct cairn_lines_code *judge(CAIRN_FRAME *frame)
{
    struct cairn_lines_code *code;
    PyObject *type, *value, *trace;
    void *judged = NULL;

    if (_PyCode_GetExtra((PyObject *)frame->f_code, mark, &judged) == 0 && judged != NULL)
        return cairn_lines_find(&active->hub, frame->f_code); /* others may count it since */
    PyErr_Fetch(&type, &value, &trace); /* a generator that is thrown into begins with one */
    code = cairn_line_source_judge(active, (PyObject *)frame->f_code, frame->f_globals);
    if (code == NULL && _PyCode_SetExtra((PyObject *)frame->f_code, mark, &mark) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return code;
}

static struct cairn_lines_code *code_that_begins(PyThreadState *thread, CAIRN_FRAME *frame)
{
    struct cairn_lines_code *code;

    if (active == NULL || thread->tracing || cairn_eval_only_makes(frame))
        return NULL;
    code = cairn_lines_find(&active->hub, frame->f_code);
    if (active->chooser.words == NULL || (cairn_lines_asked(code) && code->judged))
        return code;
    return judge(frame);
}

static inline bool is_wanted(const struct cairn_lines_code *code)
{
    /* Of a recording also while it is switched off: frames that run then are there afterwards. */
    return code != NULL && !cairn_lines_is_over(code) &&
           (code->active > 0 || code->units != NULL || code->counts != NULL ||
            (code->counters != NULL && active->hub.spool != NULL));
}

static PyObject *around(PyThreadState *thread, CAIRN_FRAME *frame, int throws)
{
    struct cairn_lines_code *code = code_that_begins(thread, frame);
    PyObject *result;

    nested++;
    if (PY_VERSION_HEX >= 0x030b0000 && nested == MOST_NESTED) {
        cairn_eval_leave(&slot);
        result = is_wanted(code) ? traced(thread, frame, throws, code)
                                 : cairn_eval_pass(&slot, thread, frame, throws);
        if (active != NULL)
            cairn_eval_enter(&slot);
    } else if (is_wanted(code)) {
        result = traced(thread, frame, throws, code);
    } else if (thread->c_tracefunc == on_trace && !thread->tracing) {
        result = untraced(thread, frame, throws);
    } else {
        result = cairn_eval_pass(&slot, thread, frame, throws);
    }
    nested--;
    return result;
}

CAIRN_EVAL_FUNCTION(evaluate, around)

int cairn_line_events_begin(struct cairn_line_source *source, PyObject *code)
{
    (void)code;
    if (active != NULL && active != source) {
        PyErr_SetString(PyExc_RuntimeError, "lines are counted in another interpreter");
        return -1;
    }
    if (source->codes++ == 0) {
        active = source;
        slot.function = evaluate;
        cairn_eval_enter(&slot);
    }
    return 0;
}

int cairn_line_events_all(struct cairn_line_source *source)
{
    if (mark < 0)
        mark = _PyEval_RequestCodeExtraIndex(NULL);
    if (mark < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no place for a mark is left in code objects");
        return -1;
    }
    return cairn_line_events_begin(source, NULL);
}

void cairn_line_events_chosen(struct cairn_line_source *source)
{
    (void)cairn_line_events_end(source, NULL);
}

int cairn_line_events_end(struct cairn_line_source *source, PyObject *code)
{
    (void)code;
    if (--source->codes == 0) {
        cairn_eval_leave(&slot);
        active = NULL;
    }
    return 0;
}
#endif
