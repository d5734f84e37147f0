/* books.h: what engines said that counting cost (spool.h), of all processes, as counters of a
 * recording.
 */
#ifndef CAIRN_BOOKS_H
#define CAIRN_BOOKS_H

#include "spool.h"
#include "writer.h"

struct cairn_books {
    struct cairn_spool_meter sums; /* but of the share */
    uint64_t plain; /* in so many all calls of Python were counted without their times in the end */
    uint64_t over;  /* so many processes spent more */
};

/* One process more. What a file says may be anything: what cannot be is left out. */
void cairn_books_add(struct cairn_books *books, const struct cairn_spool_meter *said);

/* Those of two engines, which share what may be spent in the same processes; nothing where nobody
 * kept any. */
int cairn_books_put(struct cairn_writer *writer, const struct cairn_books *calls,
                    const struct cairn_books *lines);

#endif
