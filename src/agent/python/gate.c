/* gate.c: which code's calls are counted, where somebody named some. Each code object is judged
 * when it is met first, and bears the answer from then on, which goes with it.
 */
#include "profiler.h"

#if CAIRN_MONITORS
#define REQUEST_EXTRA PyUnstable_Eval_RequestCodeExtraIndex
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#else
#define REQUEST_EXTRA _PyEval_RequestCodeExtraIndex
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#endif

static char yes, no; /* addresses that are answers */

int cairn_gate_open(struct cairn_profiler *profiler, PyObject *words)
{
    if (PyList_Check(words) && PyList_GET_SIZE(words) == 0)
        return 0;
    profiler->place = REQUEST_EXTRA(NULL);
    if (profiler->place < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no place for a mark is left in code objects");
        return -1;
    }
    return cairn_chooser_init(&profiler->gate, words);
}

bool cairn_gate_asks(struct cairn_profiler *profiler, PyObject *code, PyObject *globals)
{
    PyObject *type, *value, *trace;
    void *answer = NULL;

    if (GET_EXTRA(code, profiler->place, &answer) == 0 && answer != NULL)
        return answer == &yes;
    answer = cairn_chooser_wants(&profiler->gate, (PyCodeObject *)code, globals) ? &yes : &no;
    PyErr_Fetch(&type, &value, &trace); /* a generator that is thrown into begins with one */
    if (SET_EXTRA(code, profiler->place, answer) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return answer == &yes;
}
