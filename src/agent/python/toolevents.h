/* toolevents.h: a tool of sys.monitoring, 3.12 and later, whose callbacks are C.
 *
 * What is registered are objects of a type of our own with a vectorcall slot: the interpreter calls
 * straight into C, and no Python object is made for an event. The tool's id is never 2, so that
 * cProfile and others that take that one go on beside us. Bits of events go by name: they differ
 * between versions. What returns int is 0, or -1 with an exception set.
 */
#ifndef CAIRN_TOOLEVENTS_H
#define CAIRN_TOOLEVENTS_H

#include "pycompat.h"

#if CAIRN_MONITORS

struct cairn_callback {
    PyObject_HEAD vectorcallfunc call;
    void *context;
    PyObject *held[2]; /* kept alive as long as the callback; NULL allowed */
};

/* Makes the type of callbacks, a member of the module. */
int cairn_tool_add_type(PyObject *module);

/* Takes an id that nobody has. */
int cairn_tool_take(int *ret_tool);
int cairn_tool_give(int tool);

struct cairn_tool_hook {
    const char *event;
    vectorcallfunc call;
};

/* Has `call` called at the event; adds the event's bit to *bits. `held` as in the callback, which
 * is lent, while it is registered, to whom it interests: NULL for nobody. */
int cairn_tool_hook(int tool, const struct cairn_tool_hook *hook, void *context,
                    PyObject *const held[2], long *bits, PyObject **ret_callback);
int cairn_tool_unhook(int tool, const struct cairn_tool_hook *hook);

/* What a callback returns to be called no more at that place, a new reference; NULL with an
 * exception set. */
PyObject *cairn_tool_disable(void);

/* Whatever was disabled, by any tool, comes again. */
int cairn_tool_restart(void);

/* Which events come from all code; from one code object. */
int cairn_tool_set(int tool, long bits);
int cairn_tool_set_local(int tool, PyObject *code, long bits);

#endif
#endif
