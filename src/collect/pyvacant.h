/* pyvacant.h: the places of threads that are over, which those that come next take over.
 *
 * A thread that begins where another has just ended lies in the memory of that one: its state, the
 * first chunk of its data stack, its C stack. So this is copied along with the known threads for a
 * while, and a thread that is met there is read at the same moment as they are, not two reads
 * later: that would meet it where it had not begun yet. Owner: the reader. Threads: one.
 */
#ifndef CAIRN_PYVACANT_H
#define CAIRN_PYVACANT_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_pyread;
struct cairn_pykept;

/* Keeps what is known of the places of a thread that is over; `kept` is the reader's from now on.
 */
void cairn_pyvacant_keep(struct cairn_pyread *read, struct cairn_pykept *kept);

/* Forgets those of which nobody made use for long. */
void cairn_pyvacant_age(struct cairn_pyread *read);

enum cairn_pyvacant_found {
    CAIRN_PYVACANT_NONE,  /* the thread lies elsewhere, or nothing was copied there */
    CAIRN_PYVACANT_THERE, /* it was there when the places were copied: that can be settled */
    CAIRN_PYVACANT_LATER, /* it came after that */
};

/* Whether `kept`, which was just listed, took over one of the places: then it has them now. `kept`
 * has the header of the copy when it was THERE. */
enum cairn_pyvacant_found cairn_pyvacant_take(struct cairn_pyread *read, struct cairn_pykept *kept);

void cairn_pyvacant_release(struct cairn_pyread *read);

#endif
