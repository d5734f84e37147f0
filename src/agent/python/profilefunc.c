/* profilefunc.c: events from the profile function of each thread, until 3.11, where calls of C are
 * wanted.
 *
 * It is set in every thread there is, and in a new one when the call that started it returns: the
 * thread exists then and cannot have run, since whoever started it still holds the GIL.
 *
 * A thread has one profile function. The program's own takes the place of ours, and keeps it; that
 * what runs meanwhile is not seen is told in the spool.
 */
#include "evalslot.h"
#include "hush.h"
#include "profiler.h"

#if !CAIRN_MONITORS
#if PY_VERSION_HEX >= 0x030b0000
#include <opcode.h>
#endif

/* What a frame is to the engines: that of lines knows no other address either. */
static inline uintptr_t address_of(const PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)frame->f_frame;
#else
    return (uintptr_t)frame;
#endif
}

static inline const void *code_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return frame->f_frame->f_code;
#else
    return frame->f_code;
#endif
}

static inline uintptr_t caller_of(const PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (uintptr_t)frame->f_frame->previous;
#else
    return (uintptr_t)frame->f_back;
#endif
}

const void *cairn_events_outer(uintptr_t frame, uintptr_t *ret_caller)
{
    const CAIRN_FRAME *at = (const CAIRN_FRAME *)frame;

#if PY_VERSION_HEX >= 0x030b0000
    *ret_caller = (uintptr_t)at->previous;
#else
    *ret_caller = (uintptr_t)at->f_back;
    /* While 3.9 throws into what a generator awaits, its frame is the caller and has none. */
    if (at->f_back == NULL &&
        at->f_code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))
        *ret_caller = CAIRN_EXACT_HIDDEN;
#endif
    return at->f_code;
}

/* Whether a frame that begins was suspended before. */
static bool goes_on(PyFrameObject *frame, const PyCodeObject *code)
{
    if ((code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0)
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    /* Its body begins at the one RESUME with the argument 0. Thrown into, it stands at a yield;
     * where it was made, if it is closed before it began: Python enters the frame once, as it did
     * before. */
    const _Py_CODEUNIT *at = _PyCode_CODE(code) + PyFrame_GetLasti(frame) / (int)sizeof(*at);

    switch (_Py_OPCODE(*at)) {
    case RESUME:
    case RESUME_QUICK:
        return _Py_OPARG(*at) != 0;
    case RETURN_GENERATOR:
        return false;
    default:
        return true;
    }
#else
    return frame->f_lasti >= 0;
#endif
}

/* Whether a frame that ends will go on. */
static bool yields(PyFrameObject *frame, const PyCodeObject *code, const PyObject *result)
{
    if (result == NULL ||
        (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0)
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    return _Py_OPCODE(_PyCode_CODE(code)[PyFrame_GetLasti(frame) / (int)sizeof(_Py_CODEUNIT)]) ==
           YIELD_VALUE;
#elif PY_VERSION_HEX >= 0x030a0000
    return frame->f_state == FRAME_SUSPENDED;
#else
    return frame->f_stacktop != NULL;
#endif
}

/* Whether a frame ends that was thrown into before its body began: that it would be is not to be
 * seen until 3.10, when it begins. */
static bool never_began(PyFrameObject *frame, const PyCodeObject *code, const PyObject *result)
{
    if (result != NULL ||
        (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0)
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    return PyFrame_GetLasti(frame) / (int)sizeof(_Py_CODEUNIT) < code->_co_firsttraceable;
#else
    return frame->f_lasti < 0;
#endif
}

static int set_thread(PyThreadState *thread, Py_tracefunc function, PyObject *profiler)
{
#if PY_VERSION_HEX >= 0x03090000
    return _PyEval_SetProfile(thread, function, profiler);
#else
    PyObject *before = thread->c_profileobj; /* 3.8 has a function for the own thread only */

    Py_XINCREF(profiler);
    thread->c_profilefunc = NULL;
    thread->c_profileobj = NULL;
    thread->use_tracing = thread->c_tracefunc != NULL;
    Py_XDECREF(before);
    thread->c_profileobj = profiler;
    thread->c_profilefunc = function;
    thread->use_tracing = function != NULL || thread->c_tracefunc != NULL;
    return 0;
#endif
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

static bool has_ours(const struct cairn_profiler *profiler, const PyThreadState *thread)
{
    return thread->c_profilefunc == on_event && thread->c_profileobj == (const PyObject *)profiler;
}

enum whom { EVERYBODY, NOBODYS }; /* threads: that have no profile function */

/* Sets the function in threads that have not got it, or takes it from those that have. */
static int set_all(struct cairn_profiler *profiler, bool on, enum whom whom)
{
    PyInterpreterState *interpreter = PyThreadState_Get()->interp;
    PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter);
    int code = 0;

    for (; thread != NULL; thread = PyThreadState_Next(thread)) {
        if (has_ours(profiler, thread) != on &&
            (whom == EVERYBODY || thread->c_profilefunc == NULL) &&
            set_thread(thread, on ? on_event : NULL, on ? (PyObject *)profiler : NULL) < 0)
            code = -1;
    }
    return code;
}

static const PyMethodDef *method_of(PyObject *callee)
{
    return ((PyCFunctionObject *)callee)->m_ml;
}

static void *function_of(PyObject *callee)
{
    return (void *)method_of(callee)->ml_meth;
}

/* What sys or another module has under a name, if that is written in C; else NULL. */
static PyMethodDef *known_method(const char *module, const char *name)
{
    PyObject *from = PyImport_ImportModule(module);
    PyObject *function = from == NULL ? NULL : PyObject_GetAttrString(from, name);
    PyMethodDef *found = function != NULL && PyCFunction_Check(function)
                             ? ((PyCFunctionObject *)function)->m_ml
                             : NULL;

    Py_XDECREF(function);
    Py_XDECREF(from);
    PyErr_Clear();
    return found; /* modules of C hold it for good */
}

static void *known_function(const char *module, const char *name)
{
    PyMethodDef *method = known_method(module, name);

    return method == NULL ? NULL : (void *)method->ml_meth;
}

static PyCFunction plain_setter;

/* In the place of what sys.setprofile() does. */
static PyObject *set_profile(PyObject *self, PyObject *function)
{
    PyThreadState *thread = PyThreadState_Get();
    bool is_ours = thread->c_profilefunc == on_event;
    PyObject *profiler = thread->c_profileobj, *result;

    cairn_hush_before(!is_ours);
    result = plain_setter(self, function);
    if (result != NULL && thread->c_profileobj != profiler)
        cairn_hush_after(thread);
    return result;
}

/* The function stays, with all that the program sees of it. */
static void exchange_setter(void)
{
    PyMethodDef *method = known_method("sys", "setprofile");

    if (method == NULL || method->ml_meth == set_profile || method->ml_flags != METH_O)
        return;
    plain_setter = method->ml_meth;
    method->ml_meth = set_profile;
}

/* The program's profile function is, or will be, where ours was. */
static void note_displaced(struct cairn_profiler *profiler)
{
    if (cairn_exact_owns_spool(&profiler->exact))
        profiler->spool.head->displaced = 1;
}

/* Whether a thread that lives has another one: this one, or one with the program's. */
static void look_for_displaced(struct cairn_profiler *profiler)
{
    PyThreadState *here = PyThreadState_Get(),
                  *thread = PyInterpreterState_ThreadHead(here->interp);

    for (; thread != NULL; thread = PyThreadState_Next(thread))
        if (!has_ours(profiler, thread) && (thread == here || thread->c_profilefunc != NULL))
            note_displaced(profiler);
}

static void enter(struct cairn_profiler *profiler, PyFrameObject *frame)
{
    const void *key = code_of(frame);
    uintptr_t caller = caller_of(frame);
    PyObject *callee[] = {(PyObject *)(uintptr_t)key, NULL};

    if (profiler->apart && goes_on(frame, key))
        cairn_exact_resume(&profiler->exact, key, address_of(frame), caller, callee);
    else
        cairn_exact_enter(&profiler->exact, key, address_of(frame), caller, callee);
}

static void leave(struct cairn_profiler *profiler, PyFrameObject *frame, const PyObject *result)
{
    const PyCodeObject *code = code_of(frame);

    if (profiler->apart && yields(frame, code, result))
        cairn_exact_suspend(&profiler->exact, address_of(frame));
    else if (profiler->apart && never_began(frame, code, result))
        cairn_exact_take_back(&profiler->exact, address_of(frame));
    else
        cairn_exact_leave(&profiler->exact, address_of(frame));
}

static void count_event(struct cairn_profiler *profiler, PyFrameObject *frame, int what,
                        PyObject *arg)
{
    PyObject *callee[] = {arg, NULL};
    const void *key;

    switch (what) {
    case PyTrace_CALL:
        enter(profiler, frame);
        break;
    case PyTrace_RETURN:
        leave(profiler, frame, arg);
        break;
    case PyTrace_C_CALL:
        key = profiler->builtins && PyCFunction_Check(arg) ? method_of(arg) : NULL;
        if (key != NULL && !cairn_callee_is_own(profiler, key))
            cairn_exact_enter(&profiler->exact, key, address_of(frame) | 1, address_of(frame),
                              callee);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (profiler->builtins && !(arg != NULL && PyCFunction_Check(arg) &&
                                    cairn_callee_is_own(profiler, method_of(arg))))
            cairn_exact_leave(&profiler->exact, address_of(frame) | 1);
        break;
    default:
        break;
    }
}

/* An event of code that is not counted, or as it begins alone; it may have been so since it ran. */
static void pass_event(struct cairn_profiler *profiler, PyFrameObject *frame, int what,
                       const PyObject *arg, enum cairn_gate gate)
{
    const void *key = code_of(frame);
    PyObject *callee[] = {(PyObject *)(uintptr_t)key, NULL};

    if (gate == CAIRN_GATE_COUNT && what == PyTrace_CALL &&
        !(profiler->apart && goes_on(frame, key)))
        cairn_exact_count(&profiler->exact, key, caller_of(frame), callee);
    else if (gate == CAIRN_GATE_COUNT && what == PyTrace_RETURN && profiler->apart &&
             never_began(frame, key, arg))
        cairn_exact_uncount(&profiler->exact, key, caller_of(frame), callee);
    else if (what == PyTrace_CALL || what == PyTrace_C_CALL)
        cairn_meter_pass(&profiler->exact);
    else if (profiler->leaves)
        cairn_exact_leave_top(&profiler->exact,
                              address_of(frame) | (what == PyTrace_RETURN ? 0 : 1));
}

static PyObject *globals_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return frame->f_frame->f_globals;
#else
    return frame->f_globals;
#endif
}

/* C that matters beside its being counted. */
static void watch(struct cairn_profiler *profiler, bool is_over, PyObject *callee)
{
    if (!is_over && function_of(callee) == profiler->setters)
        note_displaced(profiler);
    if (is_over && function_of(callee) == profiler->starters && profiler->enabled &&
        set_all(profiler, true, NOBODYS) < 0)
        PyErr_Clear(); /* an audit hook forbids it: the new thread goes unseen */
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;
    bool is_native =
        what != PyTrace_CALL && what != PyTrace_RETURN && arg != NULL && PyCFunction_Check(arg);
    enum cairn_gate gate;

    if (is_native && what == PyTrace_C_CALL && profiler->builtins)
        cairn_profiler_before(profiler, method_of(arg));
    gate = cairn_gate_of(profiler, profiler->gated ? code_of(frame) : NULL,
                         profiler->gated ? globals_of(frame) : NULL);
    if (gate == CAIRN_GATE_ALL ||
        (gate == CAIRN_GATE_ITSELF && (what == PyTrace_CALL || what == PyTrace_RETURN)))
        count_event(profiler, frame, what, arg);
    else
        pass_event(profiler, frame, what, arg, gate);
    if (is_native)
        watch(profiler, what != PyTrace_C_CALL, arg);
    return 0;
}

/* Which event the words of sys.setprofile() tell of; -1: of none. */
static int event_called(PyObject *word)
{
    static const struct {
        const char *word;
        int what;
    } events[] = {{"call", PyTrace_CALL},
                  {"return", PyTrace_RETURN},
                  {"c_call", PyTrace_C_CALL},
                  {"c_return", PyTrace_C_RETURN},
                  {"c_exception", PyTrace_C_EXCEPTION}};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (PyUnicode_CompareWithASCIIString(word, events[i].word) == 0)
            return events[i].what;
    return -1;
}

/* Python calls the profiler where the program has set again what sys.getprofile() gave it. From
 * here on the thread has ours as before, unless it was the program's own function that passed this
 * on. */
PyObject *cairn_profile_called(PyObject *self, PyObject *args, PyObject *named)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;
    PyThreadState *thread = PyThreadState_Get();
    PyObject *frame, *word, *arg;
    int what;

    if (!cairn_exact_owns_spool(&profiler->exact))
        return PyErr_Format(PyExc_TypeError, "'%.200s' object is not callable",
                            Py_TYPE(self)->tp_name);
    if (named != NULL || !PyArg_ParseTuple(args, "O!UO", &PyFrame_Type, &frame, &word, &arg))
        return PyErr_Format(PyExc_TypeError, "a profile function takes a frame, an event, and what "
                                             "belongs to it");
    what = event_called(word);
    if (thread->c_profileobj != self || !profiler->enabled || profiler->plain ||
        cairn_meter_has_ended(&profiler->exact) || what < 0)
        Py_RETURN_NONE;
    if (set_thread(thread, on_event, self) < 0)
        PyErr_Clear(); /* an audit hook forbids it: the thread goes uncounted */
    else
        (void)on_event(self, (PyFrameObject *)frame, what, arg);
    Py_RETURN_NONE;
}

int cairn_events_add(PyObject *module)
{
    (void)module;
    return 0;
}

int cairn_profile_begin(struct cairn_profiler *profiler)
{
    /* Without it, or replaced, threads that are to come go unseen. */
    if (profiler->apart)
        exchange_setter();
    profiler->starters = known_function("_thread", "start_new_thread");
    profiler->setters = known_function("sys", "setprofile");
    return set_all(profiler, true, EVERYBODY);
}

int cairn_events_begin(struct cairn_profiler *profiler)
{
    if (profiler->plain) {
        cairn_eval_begin(profiler);
        profiler->evaluates = true;
        return 0;
    }
    /* Enabled once more, with other flags: frames have other addresses then, so all ends here. */
    if (profiler->evaluates == (bool)profiler->builtins) {
        (void)cairn_events_end(profiler);
        cairn_exact_stop(&profiler->exact);
    }
    if (profiler->builtins)
        return cairn_profile_begin(profiler);
    if (!profiler->evaluates)
        cairn_eval_begin(profiler);
    profiler->evaluates = true;
    return 0;
}

void cairn_events_forget(struct cairn_profiler *profiler)
{
    if (profiler->evaluates)
        cairn_eval_end();
    profiler->evaluates = false;
}

int cairn_events_halt(struct cairn_profiler *profiler)
{
    return cairn_events_end(profiler);
}

int cairn_events_end(struct cairn_profiler *profiler)
{
    if (!profiler->evaluates)
        look_for_displaced(profiler);
    cairn_events_forget(profiler);
    return set_all(profiler, false, EVERYBODY);
}
#endif
