/* pynest.h: which thread state a thread went from into which, where it has several: one for each
 * interpreter that it runs code of.
 *
 * A thread that runs code in a sub-interpreter leaves the state it was in as it is, and goes back
 * to it at the end. So the outer one lies further up the C stack: where it was entered tells,
 * from 3.11 on. Before that it is the one of the older interpreter. Threads: one.
 */
#ifndef CAIRN_PYNEST_H
#define CAIRN_PYNEST_H

#include <stdbool.h>

struct cairn_pyread;
struct cairn_pykept;

/* Whether a thread can have several states, or could a moment ago. */
bool cairn_pynest_any(const struct cairn_pyread *read);

/* Links the thread states of each thread, after they were read, and looks whether the outer ones
 * still stand as they were read: then the inner ones were read meanwhile. Where they do not, or
 * where the thread went through one that was read as empty before it did, all of
 * that thread are to be read again, or, at the `last` chance, the inner one is marked as apart. 0,
 * or -CAIRN_ENOMEM, -CAIRN_EGONE, -CAIRN_EPERM. */
int cairn_pynest_link(struct cairn_pyread *read, bool last);

/* The thread state leaves the list. */
void cairn_pynest_unlink(struct cairn_pykept *kept);

#endif
