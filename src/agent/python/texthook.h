/* texthook.h: events of calls by a jump in the text of CPython 3.15, on x86-64.
 *
 * The tool of sys.monitoring and its callbacks stay as they are; the jumps, at the entries of the
 * three functions that call them, only go before. What our function there is sure of it does
 * itself, as the callback would (callevents.h): the event is one that we take, of the interpreter
 * that we are at work in, the callback is ours, and no other tool is to be told. All else (other
 * tools, what is let go, exceptions, lines) it hands on to the function as it was. So other tools,
 * and interpreters that are made later, may come and go.
 *
 * They are put in while one interpreter is alone in the process: who holds its GIL knows that no
 * thread stands in the bytes that are written. They may be taken out whenever.
 * A reason is a sentence without an end, which stays; NULL: it is done. Threads: under the GIL.
 */
#ifndef CAIRN_TEXTHOOK_H
#define CAIRN_TEXTHOOK_H

#include "profiler.h"

#define CAIRN_TEXT_CALLBACKS 9 /* those of monitoring.c, in its order */

/* Whether this process can have them: what it is, and, the first time, what comes of a small
 * program that is counted with them and without. No exception is set behind it. */
const char *cairn_text_try(void);

/* Puts them in, for a profiler whose callbacks are registered (borrowed; NULL: not wanted), and
 * takes them out, if it is this one that they are for. `missing`: what stands for no argument. */
const char *cairn_text_begin(struct cairn_profiler *profiler,
                             PyObject *const callbacks[CAIRN_TEXT_CALLBACKS], PyObject *missing);
void cairn_text_end(const struct cairn_profiler *profiler);

/* Method of the class. */
PyObject *cairn_profiler_hook(PyObject *self, PyObject *unused);

/* Has the recording say whether they are there. */
void cairn_text_tell(struct cairn_profiler *profiler);

#endif
