/* apart.h: keeps this thread off the processor of who it looks at.
 *
 * Who sleeps wakes where it slept, and stays there though the processor beside it is idle: a
 * sampler that works for some microseconds a millisecond is nothing that the kernel would move for
 * long. If a thread that it looks at runs there, each look puts that off, and takes its caches. So
 * where a thread was put off before several looks in a row and is on this processor, this one goes
 * to another, if there is room; it may come back at any time. Threads: per thread.
 */
#ifndef CAIRN_APART_H
#define CAIRN_APART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cairn_apart {           /* all zero: nothing was seen */
    unsigned looks;            /* in a row, before which somebody was put off */
    uint64_t from_ns, wait_ns; /* not before; so long from the last time */
    bool went;                 /* the last time; else nobody was there, or there was no room */
};

/* To any other of the processors that this thread may use. False: there is none, or very many. */
bool cairn_apart_leave(int processor);

/* A look is over, before which `tid` of `pid` wanted a processor all the time and was put off; 0:
 * nobody was. Best effort. */
void cairn_apart_look(struct cairn_apart *apart, pid_t pid, pid_t tid, uint64_t now_ns);

#endif
