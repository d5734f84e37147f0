/* linemonitoring.c: events of lines from sys.monitoring, 3.12 and later: local ones of each code
 * object that was chosen. While there is a recording a second tool hears each code object begin,
 * once: what is not wanted is disabled there, and would be for all that the first one asks, too.
 * That a frame ends by an exception, or is thrown into, is told of all code until 3.14, for there
 * it cannot be asked of one.
 */
#include "lineevents.h"

#if CAIRN_MONITORS
#include <opcode.h>
#include <string.h>

#include "linecounts.h"
#include "operands.h"
#include "toolevents.h"

static inline struct cairn_lines_hub *hub_of(PyObject *self)
{
    return &((struct cairn_line_source *)((struct cairn_callback *)self)->context)->hub;
}

static inline uint32_t unit_of(PyObject *offset)
{
    return (uint32_t)((size_t)PyLong_AsLong(offset) / sizeof(_Py_CODEUNIT));
}

static PyObject *no_more; /* what a callback returns so that it is not called again: of one place */

/* The unit at which the frame stands that runs the code. */
static inline uint32_t unit_now(PyObject *code)
{
    return (uint32_t)cairn_frame_unit(cairn_frame_now(), (PyCodeObject *)code);
}

/* A frame that was thrown into, and the line that it was suspended at. Where its handler lies on
 * that line, whether another event comes of it depends on the form of the instruction that it was
 * suspended at (3.13 on): the line did not begin again. */
static __thread struct {
    const void *frame; /* NULL: none */
    int line;
} thrown;

static inline bool only_goes_on(uint32_t line)
{
    if (__builtin_expect(thrown.frame == NULL, 1) || thrown.frame != cairn_frame_now())
        return false;
    thrown.frame = NULL;
    return (uint32_t)thrown.line == line;
}

/* Lines that are counted through others are let go, unless somebody wants their times. */
static PyObject *on_line(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);
    uint32_t line = (uint32_t)PyLong_AsLong(args[1]);

    (void)nargs, (void)names;
    if (code != NULL && cairn_lines_is_over(code))
        return Py_NewRef(no_more);
    if (code == NULL || only_goes_on(line))
        Py_RETURN_NONE;
    if (code->counters != NULL)
        cairn_lines_line(hub, code, (uintptr_t)cairn_frame_now(), line);
    if (code->counts != NULL && !cairn_lines_hit_at(hub, code, unit_now(args[0]), line) &&
        code->counters == NULL)
        return Py_NewRef(no_more);
    Py_RETURN_NONE;
}

/* Without it lines of functions that have but one are not told from 3.13 on. */
static PyObject *on_start(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);

    (void)nargs, (void)names;
    if (code != NULL && cairn_lines_is_over(code))
        return Py_NewRef(no_more);
    if (code != NULL)
        cairn_lines_enter(hub, code, (uintptr_t)cairn_frame_now());
    if (code != NULL && code->units != NULL) /* RESUME, which has no other event */
        cairn_lines_unit(hub, code, unit_of(args[1]));
    if (code != NULL && code->units == NULL && code->counters == NULL && code->counts != NULL &&
        !code->counts->starts)
        return Py_NewRef(no_more);
    Py_RETURN_NONE;
}

/* --- instructions, and what they are given --- */

static int ask(const struct cairn_line_source *source, PyObject *code, long but);

static long unit_bits, instruction_bit; /* what is asked of a code object, for whom */

/* The form that the spot has, if it is no general one, and how often it did not fit: the counter
 * behind it tells, from where it starts when a form is chosen (pycore_backoff.h). */
#define FOUND_AT 52
#define WAIT_BITS (PY_VERSION_HEX >= 0x030f0000 ? 3 : 4)

static uint32_t form_of(PyObject *code, const struct cairn_spot_place *place, uint32_t *ret_missed)
{
    const char *at = ((PyCodeObject *)code)->co_code_adaptive + place->unit * sizeof(_Py_CODEUNIT);
    uint8_t opcode = (uint8_t)*at;
    uint16_t counter;

    memcpy(&counter, at + sizeof(_Py_CODEUNIT), sizeof(counter));
    counter >>= WAIT_BITS;
    *ret_missed = counter < FOUND_AT ? (uint32_t)(FOUND_AT - counter) : 0;
    if (opcode != place->opcode && opcode < MIN_INSTRUMENTED_OPCODE)
        return opcode;
    *ret_missed = 0;
    return 0;
}

/* All spots are looked at again: their events were let go, and come back when they are asked for
 * anew. */
static void open_window(struct cairn_line_source *source, PyObject *code, struct cairn_spots *spots)
{
    for (uint32_t i = 0; i < spots->count; i++) {
        uint32_t missed, form = form_of(code, &spots->places[i], &missed);

        cairn_spots_open(spots, i, form, missed);
    }
    if (ask(source, code, instruction_bit) < 0 || ask(source, code, 0) < 0)
        PyErr_Clear(); /* it is asked for no more */
}

/* A run of instructions begins, in which there are spots. */
static void watch(struct cairn_line_source *source, PyObject *code, struct cairn_spots *spots,
                  uint32_t unit)
{
    bool due = false;

    spots->passed++;
    for (uint32_t i = cairn_spots_find(spots, unit);
         i < spots->count && spots->places[i].run == unit; i++) {
        uint32_t missed, form = form_of(code, &spots->places[i], &missed);

        due |= cairn_spots_see(spots, i, form, missed);
    }
    if (due)
        open_window(source, code, spots);
}

/* Whether it has to be told of again. */
static bool look(struct cairn_lines_hub *hub, struct cairn_spots *spots, PyObject *code,
                 uint32_t unit, bool leads)
{
    uint32_t index = cairn_spots_find(spots, unit);
    struct cairn_spot_watch *watch = &spots->met[index].watch;

    if (!leads && watch->left == 0)
        return false;
    cairn_operands_look(hub, spots, index, code, cairn_frame_now());
    return leads || --watch->left > 0;
}

/* What does not lead is let go: then the interpreter can specialise it. */
static PyObject *on_instruction(PyObject *self, PyObject *const *args, size_t nargs,
                                PyObject *names)
{
    struct cairn_line_source *source = ((struct cairn_callback *)self)->context;
    struct cairn_lines_hub *hub = &source->hub;
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);
    struct cairn_spots *spots;
    uint32_t unit;
    uint8_t what;

    (void)nargs, (void)names;
    if (code == NULL || code->units == NULL)
        Py_RETURN_NONE;
    if (cairn_lines_is_over(code))
        return Py_NewRef(no_more);
    unit = unit_of(args[1]);
    what = unit < code->units->count ? code->units->what[unit] : CAIRN_UNIT_LEADS;
    if ((what & (CAIRN_UNIT_LEADS | CAIRN_UNIT_SPOT)) == 0)
        return Py_NewRef(no_more);
    if ((what & CAIRN_UNIT_LEADS) != 0)
        cairn_lines_unit(hub, code, unit);
    spots = what == CAIRN_UNIT_LEADS ? NULL : cairn_lines_spots_now(hub, code);
    if (spots == NULL)
        Py_RETURN_NONE;
    if ((what & CAIRN_UNIT_WATCHES) != 0)
        watch(source, args[0], spots, unit);
    if ((what & CAIRN_UNIT_SPOT) != 0 &&
        !look(hub, spots, args[0], unit, (what & CAIRN_UNIT_LEADS) != 0))
        return Py_NewRef(no_more);
    Py_RETURN_NONE;
}

/* The unit at which the exception leaves its frame. That of the event is the one before a call,
 * when it comes from there; the traceback knows, whose latest entry is this frame's. */
static uint32_t raised_at(PyObject *const *args)
{
    PyObject *trace = PyException_GetTraceback(args[2]);
    uint32_t unit = unit_of(args[1]);

    if (trace != NULL && PyTraceBack_Check(trace)) {
        const PyTracebackObject *entry = (PyTracebackObject *)trace;
        PyCodeObject *code = PyFrame_GetCode(entry->tb_frame);

        if ((PyObject *)code == args[0] && entry->tb_lasti >= 0)
            unit = (uint32_t)entry->tb_lasti / sizeof(_Py_CODEUNIT);
        Py_DECREF(code);
    }
    Py_XDECREF(trace);
    return unit;
}

/* Told of each frame that the exception goes through. */
static PyObject *on_raise(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);
    uint32_t unit;

    (void)nargs, (void)names;
    if (code == NULL || (code->units == NULL && code->counts == NULL))
        Py_RETURN_NONE;
    unit = raised_at(args);
    if (code->units != NULL)
        cairn_lines_raise(hub, code, unit);
    if (code->counts != NULL)
        cairn_lines_gone(hub, code, unit);
    Py_RETURN_NONE;
}

/* Code begins that was not judged yet: each does so once. */
static PyObject *on_first(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_line_source *source = ((struct cairn_callback *)self)->context;
    struct cairn_lines_code *code = cairn_lines_find(&source->hub, args[0]);
    bool had_units = code != NULL && code->units != NULL;

    (void)nargs, (void)names;
    code = NULL;
    if (source->chooser.words != NULL)
        code = cairn_line_source_judge(source, args[0], PyEval_GetGlobals());
    if (code != NULL)
        cairn_lines_enter(&source->hub, code, (uintptr_t)cairn_frame_now());
    if (code != NULL && code->units != NULL && !had_units) /* this one has no event any more */
        cairn_lines_unit(&source->hub, code, unit_of(args[1]));
    return Py_NewRef(no_more);
}

static void resume(struct cairn_lines_hub *hub, struct cairn_lines_code *code)
{
    if (code != NULL)
        cairn_lines_resume(hub, code, (uintptr_t)cairn_frame_now());
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);

    (void)nargs, (void)names;
    resume(hub, code);
    if (code != NULL) {
        thrown.frame = cairn_frame_now();
        thrown.line = PyCode_Addr2Line((PyCodeObject *)args[0], (int)PyLong_AsLong(args[1]));
    }
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);

    (void)nargs, (void)names;
    if (code != NULL && cairn_lines_is_over(code))
        return Py_NewRef(no_more);
    if (code != NULL && code->units != NULL)
        cairn_lines_unit(hub, code, unit_of(args[1]));
    resume(hub, code);
    Py_RETURN_NONE;
}

/* By an exception: not to be let go, until 3.14. */
static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);

    (void)nargs, (void)names;
    if (thrown.frame == cairn_frame_now())
        thrown.frame = NULL;
    if (cairn_lines_find(hub, args[0]) != NULL)
        cairn_lines_leave(hub, (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

static PyObject *on_return(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    const struct cairn_lines_code *code = cairn_lines_find(hub_of(self), args[0]);

    if (code != NULL && cairn_lines_is_over(code))
        return Py_NewRef(no_more);
    return on_unwind(self, args, nargs, names);
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    const struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);

    (void)nargs, (void)names;
    if (code != NULL && cairn_lines_is_over(code))
        return Py_NewRef(no_more);
    if (code != NULL)
        cairn_lines_suspend(hub, (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

static const struct cairn_tool_hook hooks[] = {
    {"INSTRUCTION", on_instruction},
    {"PY_START", on_start},
    {"PY_RESUME", on_resume},
    {"LINE", on_line},
    {"PY_RETURN", on_return},
    {"PY_YIELD", on_yield},
    {"PY_THROW", on_throw},
    {"PY_UNWIND", on_unwind},
    {"RAISE", on_raise},
};

#define INSTRUCTION 0
#define START 1
#define LINE 3
#define THROW 6
#define UNWIND 7
#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))
#define FOR_UNITS 3  /* so many are for those who ask for instructions */
#define FROM_LINES 1 /* and from this one on for those who ask for lines */
#define LOCAL (PY_VERSION_HEX >= 0x030f0000 ? HOOKS - 1 : HOOKS - 3) /* can be asked of one */

static int unhook_all(struct cairn_line_source *source)
{
    int code = cairn_tool_set(source->tool, 0);

    for (size_t i = 0; i < HOOKS; i++)
        if (cairn_tool_unhook(source->tool, &hooks[i]) < 0)
            code = -1;
    return cairn_tool_give(source->tool) < 0 ? -1 : code;
}

/* With events of starts, which the judge has as well, the interpreter knows from the beginning that
 * two tools look at this code: one that comes later would make it forget whose instructions are. */
static long line_bits, count_bits; /* likewise */

static int hook_all(struct cairn_line_source *source)
{
    PyObject *const nothing[2] = {NULL, NULL};
    long bits[HOOKS] = {0}, global = 0;
    int code = 0;

    if (no_more == NULL)
        no_more = cairn_tool_disable();
    if (no_more == NULL || cairn_tool_take(&source->tool) < 0)
        return -1;
    for (size_t i = 0; i < HOOKS - (source->listing == NULL && source->plan == NULL) && code == 0;
         i++)
        code = cairn_tool_hook(source->tool, &hooks[i], source, nothing,
                               i < LOCAL ? &bits[i] : &global, NULL);
    if (code == 0)
        code = cairn_tool_set(source->tool, global);
    line_bits = unit_bits = 0;
    instruction_bit = bits[INSTRUCTION];
    count_bits = bits[START] | bits[LINE] | bits[THROW] | bits[UNWIND];
    for (size_t i = 0; i < LOCAL; i++) {
        unit_bits |= i < FOR_UNITS ? bits[i] : 0;
        line_bits |= i >= FROM_LINES ? bits[i] : 0;
    }
    if (code < 0) {
        PyObject *error = PyErr_GetRaisedException();

        (void)unhook_all(source);
        PyErr_SetRaisedException(error);
    }
    return code;
}

/* The hooks are there as long as there is code that events come from, or a recording. */
static int hold(struct cairn_line_source *source)
{
    if (source->codes == 0 && hook_all(source) < 0)
        return -1;
    source->codes++;
    return 0;
}

static int let_go(struct cairn_line_source *source)
{
    return --source->codes == 0 ? unhook_all(source) : 0;
}

/* Asks for what is wanted of the code, but for some events. */
static int ask(const struct cairn_line_source *source, PyObject *code, long but)
{
    const struct cairn_lines_code *asked = cairn_lines_find(&source->hub, code);
    long bits = 0;

    if (asked != NULL && asked->counters != NULL)
        bits |= line_bits;
    if (asked != NULL && asked->units != NULL)
        bits |= unit_bits;
    if (asked != NULL && asked->counts != NULL)
        bits |= count_bits;
    return cairn_tool_set_local(source->tool, code, bits & ~but);
}

/* Times are wanted of code whose events were let go: whatever was comes again, once. */
static int ask_again(const struct cairn_line_source *source, PyObject *code)
{
    const struct cairn_lines_code *asked = cairn_lines_find(&source->hub, code);

    if (asked == NULL || (asked->counts == NULL && !asked->gone) || asked->counters == NULL)
        return 0;
    return cairn_tool_restart();
}

int cairn_line_events_begin(struct cairn_line_source *source, PyObject *code)
{
    return hold(source) < 0 || ask(source, code, 0) < 0 ? -1 : ask_again(source, code);
}

int cairn_line_events_end(struct cairn_line_source *source, PyObject *code)
{
    int result = ask(source, code, 0);

    return let_go(source) < 0 ? -1 : result;
}

static const struct cairn_tool_hook first_hook = {"PY_START", on_first};

static void judge_none(struct cairn_line_source *source)
{
    if (cairn_tool_set(source->judge, 0) < 0)
        PyErr_Clear();
    if (cairn_tool_unhook(source->judge, &first_hook) < 0)
        PyErr_Clear();
    if (cairn_tool_give(source->judge) < 0)
        PyErr_Clear();
}

static int judge_all(struct cairn_line_source *source)
{
    PyObject *const nothing[2] = {NULL, NULL};
    long bits = 0;

    if (cairn_tool_take(&source->judge) < 0)
        return -1;
    if (cairn_tool_hook(source->judge, &first_hook, source, nothing, &bits, NULL) == 0 &&
        cairn_tool_set(source->judge, bits) == 0)
        return 0;
    PyObject *error = PyErr_GetRaisedException();

    judge_none(source);
    PyErr_SetRaisedException(error);
    return -1;
}

int cairn_line_events_all(struct cairn_line_source *source)
{
    if (hold(source) < 0)
        return -1;
    if (judge_all(source) == 0)
        return 0;
    PyObject *error = PyErr_GetRaisedException();

    if (let_go(source) < 0)
        PyErr_Clear();
    PyErr_SetRaisedException(error);
    return -1;
}

void cairn_line_events_chosen(struct cairn_line_source *source)
{
    judge_none(source);
    if (let_go(source) < 0)
        PyErr_Clear();
}
#endif
