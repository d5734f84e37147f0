#include "hush.h"

#if !CAIRN_MONITORS /* from then on nobody calls it */

static Py_tracefunc trampoline;   /* that of sys.setprofile(), which is one */
static __thread bool was_unheard; /* nobody but us was told of the call */

static int first_event(PyObject *function, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *thread = PyThreadState_Get();

    if (thread->c_profilefunc == first_event)
        thread->c_profilefunc = trampoline;
    return what == PyTrace_C_RETURN ? 0 : trampoline(function, frame, what, arg);
}

void cairn_hush_before(bool is_heard)
{
    was_unheard = !is_heard;
}

void cairn_hush_after(PyThreadState *thread)
{
    if (!was_unheard || thread->c_profilefunc == NULL || thread->c_profilefunc == first_event)
        return;
    was_unheard = false;
    trampoline = thread->c_profilefunc;
    thread->c_profilefunc = first_event;
}

#endif
