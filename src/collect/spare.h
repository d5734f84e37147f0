/* spare.h: what need not be at this tick, but soon, waits for one with time to spare.
 *
 * Among hundreds of processes that came together all of it falls due together, again and again;
 * done at once it takes the ticks that follow. Threads: one at a time.
 */
#ifndef CAIRN_SPARE_H
#define CAIRN_SPARE_H

#include <stdbool.h>
#include <stdint.h>

enum cairn_spare_kind {
    CAIRN_SPARE_CHILD,   /* to meet one that no record told of */
    CAIRN_SPARE_THREADS, /* to list them, as a second source beside the records */
    CAIRN_SPARE_RUNTIME, /* to read that of a process in which nothing runs */
    CAIRN_SPARE_KINDS,
};

struct cairn_spare {
    uint64_t most_ns; /* from the start of a tick on; UINT64_MAX: nothing waits */
    uint64_t begun_ns;
    bool had[CAIRN_SPARE_KINDS]; /* one of that kind had its turn */
};

/* Looks are taken every `interval_ns`; 0: as fast as it goes. */
void cairn_spare_init(struct cairn_spare *spare, uint64_t interval_ns);

/* A tick begins. */
void cairn_spare_begin(struct cairn_spare *spare, uint64_t now_ns);

/* Whether there is time for one: for the first of a kind always, so that each comes to its turn. */
bool cairn_spare_has(struct cairn_spare *spare, enum cairn_spare_kind kind);

#endif
