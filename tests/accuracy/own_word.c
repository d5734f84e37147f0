/* own_word: a module that notes, at moments of a timer, whose frame is current: from the inside, at
 * the very instruction that was interrupted. start() begins, stop() gives the names.
 * The timer is of the thread and of irregular length, so that it meets no period of the program. */
#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOMENTS_MAX 1000000
#define SHORTEST_NS 200000u
#define SIGNAL (SIGRTMIN + 3)
#define HOPS_MAX 8 /* what is not written yet may go in circles */

static PyCodeObject *codes[MOMENTS_MAX];
static volatile int count, unknown;
static PyThreadState *thread;
static timer_t timer;
static unsigned seed = 1;

static void arm(void)
{
    struct itimerspec when = {0};

    seed = seed * 1103515245u + 12345u;
    when.it_value.tv_nsec = SHORTEST_NS + (seed >> 8) % SHORTEST_NS;
    timer_settime(timer, 0, &when, NULL);
}

/* Where a frame is just being made, what leads to it may not be written yet. */
static int get(const void *from, void *to, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)from, size};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

#if PY_VERSION_HEX >= 0x030b0000

#if PY_VERSION_HEX >= 0x030d0000
#define f_code f_executable
#define prev_instr instr_ptr
#endif

/* What it runs, if it is Python's, and does. NULL, as CPython has it: it has not begun, or makes the
 * generator that it is to be, or it is no frame. */
static PyObject *code_of(const _PyInterpreterFrame *frame)
{
    PyObject *code = (PyObject *)frame->f_code;
    PyTypeObject *type;
    int first;

    if (!get(&code->ob_type, &type, sizeof(type)) || type != &PyCode_Type)
        return NULL;
    first = ((PyCodeObject *)code)->_co_firsttraceable;
    return frame->owner != FRAME_OWNED_BY_GENERATOR &&
                   frame->prev_instr < (_Py_CODEUNIT *)((PyCodeObject *)code)->co_code_adaptive + first
               ? NULL
               : code;
}

static PyObject *innermost(void)
{
    const void *at = NULL;
    _PyInterpreterFrame frame;
    PyObject *code;

#if PY_VERSION_HEX >= 0x030d0000
    at = thread->current_frame;
#else
    if (!get(&thread->cframe->current_frame, &at, sizeof(at)))
        return NULL;
#endif
    for (int i = 0; i < HOPS_MAX && at; i++, at = frame.previous)
        if (!get(at, &frame, offsetof(_PyInterpreterFrame, localsplus)))
            break;
        else if ((code = code_of(&frame)) != NULL)
            return code;
    return NULL;
}

#define NAME co_qualname

#else

static PyObject *innermost(void)
{
    PyTypeObject *type;
    PyObject *code;

    return thread->frame && get(&thread->frame->f_code, &code, sizeof(code)) &&
                   get(&code->ob_type, &type, sizeof(type)) && type == &PyCode_Type
               ? code
               : NULL;
}

#define NAME co_name

#endif

static void note(int number)
{
    PyObject *code = count < MOMENTS_MAX ? innermost() : NULL;

    (void)number;
    if (code) {
        Py_INCREF(code);
        codes[count++] = (PyCodeObject *)code;
    } else {
        unknown++;
    }
    arm();
}

static PyObject *start(PyObject *self, PyObject *ignored)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};

    (void)self, (void)ignored;
    thread = PyThreadState_Get();
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    sigaction(SIGNAL, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    arm();
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *self, PyObject *ignored)
{
    PyObject *names = PyList_New(0);

    (void)self, (void)ignored;
    signal(SIGNAL, SIG_IGN);
    timer_delete(timer);
    for (int i = 0; names && i < count; i++)
        if (PyList_Append(names, codes[i]->NAME) < 0)
            Py_CLEAR(names);
    return names ? Py_BuildValue("Ni", names, unknown) : NULL;
}

static PyMethodDef methods[] = {
    {"start", start, METH_NOARGS, NULL}, {"stop", stop, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "own_word", NULL, -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_own_word(void)
{
    return PyModule_Create(&module);
}
