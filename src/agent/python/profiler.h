/* profiler.h: the Python object that profiles, and where its events come from.
 *
 * What the engine hands back when a callee is to be learnt is an array of two: what is called, and
 * for a method that is not bound what it is called on.
 * It converts and forwards: addresses of code objects, PyMethodDefs and types are the engine's
 * keys. All of it runs under the GIL. At most one profiler of an interpreter is enabled.
 */
#ifndef CAIRN_PROFILER_H
#define CAIRN_PROFILER_H

#include "pycompat.h"

#include "chooser.h"
#include "exact.h"
#include "timeline.h"

struct cairn_line_source;

struct cairn_profiler {
    PyObject_HEAD struct cairn_exact exact;
    PyObject *timer; /* NULL: the engine's own clock */
    double timeunit; /* seconds; 0: the timer tells seconds */
    int subcalls, builtins, types;
    const void *exit; /* what os._exit() is to the engine; NULL: it does not matter */
    struct cairn_line_source *lines; /* that are told of calls; NULL: none */
    bool apart;                      /* generators are one call for each body that began */
    struct cairn_spool spool;
    struct cairn_timeline timeline;
    struct cairn_chooser gate; /* of code whose calls are counted; no words: all */
    bool gated;                /* not all are: there are words, or something was let go */
    bool plain;                /* calls of Python are counted and nothing else, until 3.11 */
    bool leaves;               /* something was left out while it ran, or may have been */
    Py_ssize_t place;          /* of the gate's answers, in code objects of this interpreter */
    bool has_place;
    PyObject *kept[3];    /* bytes that the words of a callee are borrowed from */
    bool hooked;          /* while enabled, by jumps in the text as well (texthook.h) */
    const char *unhooked; /* why it is not, though it was asked for; NULL: nothing is known */
    int enabled;
    int tool;                 /* of sys.monitoring, while enabled */
    bool evaluates;           /* by PEP 523, before sys.monitoring */
    void *starters, *setters; /* C functions that start threads, and set a profile function, before
                                 sys.monitoring */
};

#if CAIRN_MONITORS
#define CAIRN_PROFILE_CALLED NULL
#else
#define CAIRN_PROFILE_CALLED cairn_profile_called
/* The two ways of 3.8 to 3.11: the profile function of every thread, and PEP 523. */
int cairn_profile_begin(struct cairn_profiler *profiler);

/* As the profile function that it is to a program. */
PyObject *cairn_profile_called(PyObject *self, PyObject *args, PyObject *named);
void cairn_eval_begin(struct cairn_profiler *profiler);
void cairn_eval_end(void);
#endif

#define CAIRN_MODULE_NAME "cairn._exact"

/* Begins and ends the flow of events, in all threads. 0; -1 with an exception set. */
int cairn_events_begin(struct cairn_profiler *profiler);
int cairn_events_end(struct cairn_profiler *profiler);

/* The same from within an event; what was begun is to be ended all the same. */
int cairn_events_halt(struct cairn_profiler *profiler);

/* As `outer` of struct cairn_exact_host. */
const void *cairn_events_outer(uintptr_t frame, uintptr_t *ret_caller);

/* The profiler goes, as the interpreter ends: nobody holds it any more. */
void cairn_events_forget(struct cairn_profiler *profiler);

/* From the linker: where this module lies. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Whether a method definition is of this module: what Cairn does is no call of the program.
 * cProfile has rows of its own methods, so where its numbers are wanted ours have some as well. */
static inline bool cairn_callee_is_own(const struct cairn_profiler *profiler, const void *method)
{
    return profiler->apart &&
           (uintptr_t)method - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* What the engine is to take for the key of a callee that is no Python code; NULL: it has no row.
 */
const void *cairn_profiler_key(const struct cairn_profiler *profiler, PyObject *callee,
                               bool has_self);

/* As `learn` and `forget` of struct cairn_exact_host (callees.c): a new reference to the code
 * object, or to the name; NULL when there is no memory for it. */
void *cairn_callee_learn(void *context, const void *key, void *callee);
void cairn_callee_forget(void *context, void *learnt);

/* Makes the types that events need, as members of the module; 0, -1 with an exception set. */
int cairn_events_add(PyObject *module);

/* Functions of the module (toggle.c): what a signal, or the program, switches on and off. */
extern PyMethodDef cairn_toggle_methods[];

/* From now on calls are counted only of code that one of the words means (gate.c); without words,
 * of all. Of functions of C those that such code calls. 0; -1 with an exception set. */
int cairn_gate_open(struct cairn_profiler *profiler, PyObject *words);

/* What is counted of some code. */
enum cairn_gate {
    CAIRN_GATE_NOTHING,
    CAIRN_GATE_COUNT,  /* its calls, not for how long; nor what it calls of C */
    CAIRN_GATE_ITSELF, /* not what it calls of C */
    CAIRN_GATE_ALL,
};

/* `globals`: that it runs with; NULL: those of the frame that runs. */
enum cairn_gate cairn_gate_asks(struct cairn_profiler *profiler, PyObject *code, PyObject *globals);

static inline enum cairn_gate cairn_gate_of(struct cairn_profiler *profiler, const void *code,
                                            PyObject *globals)
{
    return __builtin_expect(!profiler->gated, 1)
               ? CAIRN_GATE_ALL
               : cairn_gate_asks(profiler, (PyObject *)(uintptr_t)code, globals);
}

/* Whether all calls of this code were let go, or are counted alone. */
bool cairn_gate_has_let_go(struct cairn_profiler *profiler, PyObject *code);

struct cairn_gate_costs {   /* ns */
    double passed, counted; /* an event that is passed over; a call whose time is not taken */
    double plain_passed, plain_counted; /* the same where nothing else is counted; 0: no such way */
};

/* From now on what counting costs is kept below a share of what the program itself needs (meter.h).
 * 0; -1 with an exception set. */
int cairn_gate_limit(struct cairn_profiler *profiler, double share,
                     const struct cairn_gate_costs *costs);

/* Once, as the module is loaded: since then CPU time is Cairn's. */
void cairn_gate_loaded(void);

/* CPU time of this process since then, ns. */
double cairn_gate_setup_ns(void);

/* Methods of the class: only(words) for cairn_gate_open(); count(code): its times are not taken;
 * None: of no code, by PEP 523, until 3.11. */
PyObject *cairn_profiler_only(PyObject *self, PyObject *words);
PyObject *cairn_profiler_count(PyObject *self, PyObject *code);

/* Methods of the class: record() begins to count into a file of a folder, end() ends it. */
PyObject *cairn_profiler_record(PyObject *self, PyObject *args);
PyObject *cairn_profiler_end(PyObject *self, PyObject *unused);

/* Static: measure(function, argument), how long that call takes, ns. */
PyObject *cairn_profiler_measure(PyObject *unused, PyObject *args);

/* cost(costs): the same, measured again; the lesser of each counts. */
PyObject *cairn_profiler_cost(PyObject *self, PyObject *costs);

/* Notes in the spool what counting costs: a tuple as struct cairn_spool_costs begins, empty or
 * NULL; of a timeline it is measured. 0; -1 with an exception set. */
int cairn_costs_keep(struct cairn_profiler *profiler, PyObject *costs);

/* What is to be done before C is called: a forked child that calls os._exit() ends on purpose. */
static inline void cairn_profiler_before(struct cairn_profiler *profiler, const void *key)
{
    if (__builtin_expect(key == profiler->exit, 0) && cairn_exact_is_forked(&profiler->exact))
        cairn_exact_end(&profiler->exact);
}

/* What a code object, or the name that stands for a function of C, is called: borrowed, in part
 * from `keep`, three of them. */
void cairn_describe(PyObject *what, PyObject *keep[3], struct cairn_exact_words *ret_words);

/* Where lines are recorded, the engine of calls tells them what their code calls; else nothing. */
void cairn_profiler_tell_lines(struct cairn_profiler *profiler);

/* The class Lines (linesmodule.c), a new reference; NULL with an exception set. */
PyObject *cairn_lines_type(void);

/* Something of this module, a new reference. */
PyObject *cairn_module_member(const char *name);

#endif
