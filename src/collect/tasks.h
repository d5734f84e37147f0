/* tasks.h: asyncio tasks into rows: who of them waited where, and who ran, from round to round.
 *
 * Tasks of one thread and one name are one track; those that were given no name, one for each
 * coroutine. Tasks of a track that stand on the same stack are one row with their number, for as
 * many rounds as nothing changes. A round is made every 10 ms at most, and costs no more than a
 * fiftieth of the time. Threads: one at a time.
 */
#ifndef CAIRN_TASKS_H
#define CAIRN_TASKS_H

#include "pytasks.h"
#include "subject.h"
#include "writer.h"

struct cairn_tasks_labels { /* locations of the recording */
    uint32_t torn, truncated, unknown;
    uint32_t own; /* Cairn's own code on the program's stack */
};

/* Makes a round when it is time to. 0, or a negative code of the writer. */
int cairn_tasks_look(struct cairn_subject *subject, struct cairn_writer *writer,
                     const struct cairn_tasks_labels *labels, uint64_t now_ns);

/* Writes the rows that are open. As above. */
int cairn_tasks_settle(struct cairn_subject *subject, struct cairn_writer *writer);

/* The same before the process, or the program in it, is given up. */
int cairn_tasks_end(struct cairn_subject *subject, struct cairn_writer *writer);

/* The process is gone: nothing will tell of its tasks any more. */
void cairn_tasks_end_tracks(struct cairn_subject *subject, struct cairn_writer *writer);

struct cairn_tasks;                               /* what a subject keeps of its tasks */
void cairn_tasks_free(struct cairn_tasks *tasks); /* NULL allowed */

#endif
