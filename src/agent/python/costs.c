/* costs.c: what counting adds to a call, measured in the process that it is added to. */
#include "clock.h"
#include "profiler.h"
#include "ticks.h"

PyObject *cairn_profiler_measure(PyObject *unused, PyObject *args)
{
    PyObject *function, *argument, *result;
    uint64_t before_ns, after_ns;

    (void)unused;
    if (!PyArg_ParseTuple(args, "OO:measure", &function, &argument))
        return NULL;
    before_ns = cairn_clock_mono_ns();
    result = PyObject_CallFunctionObjArgs(function, argument, NULL);
    after_ns = cairn_clock_mono_ns();
    if (result == NULL)
        return NULL;
    Py_DECREF(result);
    return PyLong_FromUnsignedLongLong(after_ns - before_ns);
}

/* Of two measurements the lesser, with what is inside it. */
static void lessen(double *cost, double *inside, double now, double now_inside)
{
    if (now <= 0 || now >= *cost)
        return;
    *cost = now;
    *inside = now_inside;
}

PyObject *cairn_profiler_cost(PyObject *self, PyObject *costs)
{
    struct cairn_profiler *profiler = (struct cairn_profiler *)self;
    struct cairn_spool_costs *to, now;

    if (!PyTuple_Check(costs) ||
        !PyArg_ParseTuple(costs, "dddddd:cost", &now.call, &now.call_inside, &now.native,
                          &now.native_inside, &now.resume, &now.resume_inside))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "costs are a tuple");
    if (profiler->spool.head != NULL) {
        to = &profiler->spool.head->costs;
        lessen(&to->call, &to->call_inside, now.call, now.call_inside);
        lessen(&to->native, &to->native_inside, now.native, now.native_inside);
        lessen(&to->resume, &to->resume_inside, now.resume, now.resume_inside);
    }
    Py_RETURN_NONE;
}

int cairn_costs_keep(struct cairn_profiler *profiler, PyObject *costs)
{
    struct cairn_spool_costs *to = &profiler->spool.head->costs;

    if (costs == NULL || PyTuple_GET_SIZE(costs) == 0)
        return 0;
    if (!PyArg_ParseTuple(costs, "dddddd:costs", &to->call, &to->call_inside, &to->native,
                          &to->native_inside, &to->resume, &to->resume_inside))
        return -1;
    if (profiler->exact.timeline != NULL)
        to->event = cairn_timeline_measure(&profiler->timeline) * cairn_ticks_ns();
    return 0;
}
