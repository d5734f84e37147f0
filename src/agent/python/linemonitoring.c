/* linemonitoring.c: events of lines from sys.monitoring, 3.12 and later: local ones of each code
 * object that was chosen. While there is a recording a second tool hears each code object begin,
 * once: what is not wanted is disabled there, and would be for all that the first one asks, too.
 * That a frame ends by an exception, or is thrown into, is told of all code until 3.14, for there
 * it cannot be asked of one.
 */
#include "lineevents.h"

#if CAIRN_MONITORS
#include "toolevents.h"

static inline struct cairn_lines_hub *hub_of(PyObject *self)
{
    return &((struct cairn_line_source *)((struct cairn_callback *)self)->context)->hub;
}

static PyObject *on_line(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);

    (void)nargs, (void)names;
    if (code != NULL)
        cairn_lines_line(hub, code, (uintptr_t)cairn_frame_now(), (uint32_t)PyLong_AsLong(args[1]));
    Py_RETURN_NONE;
}

/* Without it lines of functions that have but one are not told from 3.13 on. */
static PyObject *on_start(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);

    (void)nargs, (void)names;
    if (code != NULL)
        cairn_lines_enter(hub, code, (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

static PyObject *no_more; /* what a callback returns so that it is not called again: of one place */

/* Code begins that was not judged yet: each does so once. */
static PyObject *on_first(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_line_source *source = ((struct cairn_callback *)self)->context;
    struct cairn_lines_code *code = NULL;

    (void)nargs, (void)names;
    if (source->chooser.words != NULL)
        code = cairn_line_source_judge(source, args[0], PyEval_GetGlobals());
    if (code != NULL)
        cairn_lines_enter(&source->hub, code, (uintptr_t)cairn_frame_now());
    return Py_NewRef(no_more);
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);
    struct cairn_lines_code *code = cairn_lines_find(hub, args[0]);

    (void)nargs, (void)names;
    if (code != NULL)
        cairn_lines_resume(hub, code, (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);

    (void)nargs, (void)names;
    if (cairn_lines_find(hub, args[0]) != NULL)
        cairn_lines_leave(hub, (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
    struct cairn_lines_hub *hub = hub_of(self);

    (void)nargs, (void)names;
    if (cairn_lines_find(hub, args[0]) != NULL)
        cairn_lines_suspend(hub, (uintptr_t)cairn_frame_now());
    Py_RETURN_NONE;
}

static const struct cairn_tool_hook hooks[] = {
    {"LINE", on_line},       {"PY_START", on_start}, {"PY_RESUME", on_resume},
    {"PY_RETURN", on_leave}, {"PY_YIELD", on_yield}, {"PY_THROW", on_resume},
    {"PY_UNWIND", on_leave},
};

#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))
#define LOCAL (PY_VERSION_HEX >= 0x030f0000 ? HOOKS : HOOKS - 2) /* so many can be asked of one */

static int unhook_all(struct cairn_line_source *source)
{
    int code = cairn_tool_set(source->tool, 0);

    for (size_t i = 0; i < HOOKS; i++)
        if (cairn_tool_unhook(source->tool, &hooks[i]) < 0)
            code = -1;
    return cairn_tool_give(source->tool) < 0 ? -1 : code;
}

/* What is asked of each code object. */
static long local_bits;

static int hook_all(struct cairn_line_source *source)
{
    PyObject *const nothing[2] = {NULL, NULL};
    long local = 0, global = 0;
    int code = 0;

    if (cairn_tool_take(&source->tool) < 0)
        return -1;
    for (size_t i = 0; i < HOOKS && code == 0; i++)
        code =
            cairn_tool_hook(source->tool, &hooks[i], source, nothing, i < LOCAL ? &local : &global);
    if (code == 0)
        code = cairn_tool_set(source->tool, global);
    local_bits = local;
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

int cairn_line_events_begin(struct cairn_line_source *source, PyObject *code)
{
    return hold(source) < 0 ? -1 : cairn_tool_set_local(source->tool, code, local_bits);
}

int cairn_line_events_end(struct cairn_line_source *source, PyObject *code)
{
    int result = cairn_tool_set_local(source->tool, code, 0);

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

    if (no_more == NULL)
        no_more = cairn_tool_disable();
    if (no_more == NULL || cairn_tool_take(&source->judge) < 0)
        return -1;
    if (cairn_tool_hook(source->judge, &first_hook, source, nothing, &bits) == 0 &&
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
