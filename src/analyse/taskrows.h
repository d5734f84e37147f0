/* taskrows.h: asyncio tasks as a report shows them: how long each ran and waited, and where.
 *
 * Of the whole recording, whatever span of time was chosen; of the threads that the filter keeps.
 */
#ifndef CAIRN_TASKROWS_H
#define CAIRN_TASKROWS_H

#include "tally.h"
#include "vec.h"

struct cairn_task_place { /* a line of the program's own code, where there is one */
    uint32_t function;    /* model index */
    uint32_t line;
    uint64_t waiting_ns;
};

struct cairn_task_row {
    struct cairn_span name, coroutine; /* name empty: tasks without one, together. Borrowed */
    uint32_t process;                  /* model index, or UINT32_MAX */
    uint64_t running_ns, waiting_ns;   /* of all tasks of that name */
    size_t first_place, place_count;   /* where they waited, the longest first */
};

enum cairn_tasks_known { CAIRN_TASKS_KNOWN, CAIRN_TASKS_NONE, CAIRN_TASKS_UNREAD };

struct cairn_task_rows { /* the longest running first, then the longest waiting */
    CAIRN_VEC(struct cairn_task_row) rows;
    CAIRN_VEC(struct cairn_task_place) places;
    /* NONE: no task was seen; UNREAD: asyncio was, so there were tasks that could not be read. */
    enum cairn_tasks_known known;
};

/* 0 or -CAIRN_ENOMEM; release on success. */
int cairn_task_rows_make(const struct cairn_tally *tally, struct cairn_task_rows *ret_rows);
void cairn_task_rows_release(struct cairn_task_rows *rows);

#endif
