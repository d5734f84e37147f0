/* pieces.h: samples of one stack that stand in a file one for each state of its thread, put
 * together again: they were one, and its samples are those of the stack, whichever state they are
 * told with.
 *
 * Owner: whoever holds the struct. Threads: one at a time.
 */
#ifndef CAIRN_PIECES_H
#define CAIRN_PIECES_H

#include "guest.h"

#define CAIRN_PIECES_MAX 8 /* a thread has no more states */

struct cairn_pieces { /* all of one thread and stack */
    struct cairn_guest_sample items[CAIRN_PIECES_MAX];
    size_t count;
};

/* Whether `given` is part of one of them from now on. */
bool cairn_pieces_join(struct cairn_pieces *pieces, const struct cairn_guest_sample *given);

/* Whether `given` may stand beside them: false when it is of another stack, or they are too many.
 */
bool cairn_pieces_have_room(const struct cairn_pieces *pieces,
                            const struct cairn_guest_sample *given);

/* Time without a sample gets one of those among them that have several. */
void cairn_pieces_even_out(struct cairn_pieces *pieces);

#endif
