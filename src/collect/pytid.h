/* pytid.h: the kernel's number of a Python thread where Python does not keep it (3.8 to 3.10), or
 * has the number of before a fork that it was not told of.
 *
 * It is in the C library's descriptor of the thread, which the thread's identity points to, at a
 * place that each C library has for itself. That is searched for: it is the place at which every
 * thread has a number that the process has a task of, and no two the same.
 * Threads: one.
 */
#ifndef CAIRN_PYTID_H
#define CAIRN_PYTID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "procfs.h"

struct cairn_pyread;
struct cairn_pykept;

struct cairn_pytids {
    pid_t pid;               /* 0: not a living process, no thread has a number */
    uint32_t place;          /* in the descriptor; 0: not known yet */
    struct cairn_pids tasks; /* as the target's own pid namespace counts them, ascending */
};

void cairn_pytids_release(struct cairn_pytids *tids);

/* Gives the thread its number, once it is known for sure; else it stays without. 0, -CAIRN_ENOMEM,
 * -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pytids_find(struct cairn_pyread *read, struct cairn_pykept *kept);

/* Has the number read with the thread: in front of its state (`index` 0, until 3.10) and behind all
 * of it (1). A thread may get the state, the descriptor and the memory of one that is over, and
 * what was copied between two numbers that differ may be of both. Where it is not known it is not
 * read. 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT. */
int cairn_pytids_plan(struct cairn_pyread *read, struct cairn_pykept *kept, size_t index);

/* What was read so; NULL: nothing was. */
void cairn_pytids_take(struct cairn_pykept *kept, size_t index, const uint8_t *data,
                       size_t size_bytes);

/* The number in such bytes, 8 at most; 0: there is none. */
uint64_t cairn_pytids_number(const uint8_t *data, size_t size_bytes);

/* Until 3.10: whether that is another one than it had; then it is to be found anew. */
bool cairn_pytids_is_another(struct cairn_pykept *kept);

#endif
