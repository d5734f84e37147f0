/* pytaskplaces.h: where asyncio keeps its tasks, as `_asyncio` itself tells (3.14 on).
 *
 * The section .AsyncioDebug is looked for once asyncio's code was met on a stack, ever more rarely
 * while it is not there. Threads: one at a time.
 */
#ifndef CAIRN_PYTASKPLACES_H
#define CAIRN_PYTASKPLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

#define CAIRN_PYTASKPLACES_TASK_BYTES 1024
#define CAIRN_PYTASKPLACES_TOLD_BYTES 104

struct cairn_pyread;

/* Offsets in bytes; believed as a whole: each lies inside its structure. */
struct cairn_pytaskplaces {
    uint64_t task_size, task_name, task_is_task, task_coro;
    uint64_t task_node; /* {next, previous} in the list */
    uint64_t interp_tasks_head;
    uint64_t thread_running_task, thread_tasks_head;

    bool known;       /* the above is filled */
    bool used;        /* asyncio's code was met */
    size_t codes_met; /* of the reader's codes, that were looked at for that */
    uint64_t seek_at_ns, seek_wait_ns;
};

/* Judges what stands in the section. False: it cannot be. */
bool cairn_pytaskplaces_take(struct cairn_pytaskplaces *places, struct cairn_span told);

/* Whether it is time to look for asyncio's tasks: its code was met, and they were not looked for
 * lately. */
bool cairn_pytaskplaces_due(const struct cairn_pyread *read, struct cairn_pytaskplaces *places);

/* 0: they are known. -CAIRN_ENOTFOUND: not (yet). */
int cairn_pytaskplaces_seek(struct cairn_pyread *read, struct cairn_pytaskplaces *places);

#endif
