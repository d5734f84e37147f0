/* linesclass.h: objects of the class Lines of cairn._exact: linesmodule.c has the class,
 * linerecording.c those of its methods that count into a recording. For these alone, under the GIL.
 */
#ifndef CAIRN_LINESCLASS_H
#define CAIRN_LINESCLASS_H

#include "lineevents.h"

#define CAIRN_LINES_MOST 1000000 /* of a function */

struct cairn_lines_object {
    PyObject_HEAD struct cairn_line_source *source;
    PyObject *codes; /* a list; counters[i] counts codes[i] */
    struct cairn_lines_counter **counters;
    bool on;
};

/* That of this interpreter; NULL with an exception set. */
struct cairn_line_source *cairn_line_source_find(void);

/* The least and the most line of the code, which are no more than a million apart; of code without
 * lines 1 and 1. 0; -1 with an exception set. */
int cairn_code_lines(PyObject *code, long *ret_first, long *ret_last);

/* One counter more. 0; -1 with an exception set. */
int cairn_lines_object_add(struct cairn_lines_object *lines, PyObject *code);

/* Methods. */
PyObject *cairn_lines_object_disable(PyObject *self, PyObject *unused);
PyObject *cairn_lines_object_record(PyObject *self, PyObject *args);
PyObject *cairn_lines_object_choose(PyObject *self, PyObject *thing);
PyObject *cairn_lines_object_cost(PyObject *self, PyObject *args);
PyObject *cairn_lines_object_end(PyObject *self, PyObject *unused);

#endif
