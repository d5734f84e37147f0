/* pytogether.h: whether the states of a thread that is in several interpreters were read of a time
 * at which it was in all of them, and in no other.
 *
 * They are read one after the other, and the thread may go on in between: out of the inner ones,
 * and back in by another way. So what would differ then is read once more, all of it at one moment.
 * Threads: one.
 */
#ifndef CAIRN_PYTOGETHER_H
#define CAIRN_PYTOGETHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_pyread;
struct cairn_pynested;

struct cairn_pytogether {
    size_t count; /* so many states, from the outermost on, stand as they were read */
    bool others;  /* the thread is in others too, or may be: the lists are not as they were */
};

/* `items`: the states that have a stack, outermost first, of the thread `pthread_id`. What has to
 * be read again besides them is told by cairn_pytogether_filled(). Sets `read->list_moved` when a
 * list begins with another. 0; -CAIRN_ENOMEM, -CAIRN_EGONE or -CAIRN_EPERM. */
int cairn_pytogether(struct cairn_pyread *read, const struct cairn_pynested *items, size_t count,
                     struct cairn_pytogether *ret);

/* A state that had no stack when it was read, and has one by what was just looked at: the next from
 * `*at` on, 0 at first; NULL: no more. */
struct cairn_pykept *cairn_pytogether_filled(const struct cairn_pyread *read, size_t *at);

#endif
