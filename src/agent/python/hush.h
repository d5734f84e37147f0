/* hush.h: the program sets a profile function of its own while calls are counted.
 *
 * Python tells that function of the return of sys.setprofile(), because we were told of the call;
 * without us nobody would have been, and `profile` stops at a return without a call. So the first
 * event, if it is that one, is kept from it.
 *
 * Threads: those with a GIL.
 */
#ifndef CAIRN_HUSH_H
#define CAIRN_HUSH_H

#include <stdbool.h>

#include "pycompat.h"

/* sys.setprofile() is to be called, and has returned, in this thread. `is_heard`: the program has a
 * profile function that is told of the call. */
void cairn_hush_before(bool is_heard);
void cairn_hush_after(PyThreadState *thread);

#endif
