/* waits.h: what a thread that is blocked waits for: the system call, and the file, socket, process
 * or lock it is about.
 *
 * Asked once for each time a thread blocks, from /proc/PID/task/TID/syscall, and kept until it ran
 * again. A futex inside a GIL is a wait for the GIL: the address tells, not a guess from the stack.
 * The text is the call's name and, where it can be known, a blank and the object: "read
 * /etc/hosts", "recvfrom socket 127.0.0.1:5432", "futex lock 0x7f12", "clock_nanosleep". Owner:
 * borrows everything it is given. Threads: one at a time.
 */
#ifndef CAIRN_WAITS_H
#define CAIRN_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "intern.h"
#include "map.h"
#include "procfs.h"

struct cairn_pyread;
struct cairn_writer;

/* A thread's. */
struct cairn_wait {
    int fd;            /* its syscall file, while it is asked often; -1: not open */
    uint64_t asked_ns; /* when it was last read */
    bool refused;      /* it may not be read: nothing is known */
    bool seen;         /* what follows is of the wait it is in now, else of the last one */
    bool gil;          /* for the GIL */
    bool unsure;       /* it may be for the GIL, whose place is not known */
    uint32_t on;       /* string in the recording; 0: none was seen yet */
    int64_t number;    /* of the call that `on` names, and its first arguments */
    uint64_t args[2];
    uint64_t named_ns; /* when that was looked up: a descriptor may be another file by now */
};

/* A process'. */
struct cairn_waits {
    struct cairn_map sockets; /* inode to the text of its addresses, in `texts` */
    struct cairn_intern texts;
    uint64_t sockets_ns; /* when the kernel's tables were last read */
    size_t sockets_most; /* from so many on, they are read anew and the rest is forgotten */
    uint32_t last_on;    /* the highest string that was given out … */
    uint32_t on_count;   /* … and how many that named an object */
};

struct cairn_waiter { /* who waits, and where it is written down */
    pid_t pid, tid;
    const struct cairn_pyread *py; /* NULL: no Python that is read */
    struct cairn_writer *writer;
};

void cairn_wait_init(struct cairn_wait *wait);
void cairn_wait_release(struct cairn_wait *wait);

/* 0 or -CAIRN_ENOMEM; release in both cases. */
int cairn_waits_init(struct cairn_waits *waits);
void cairn_waits_release(struct cairn_waits *waits);

/* Appends the text of a call that a thread is blocked in. Failure stays in the buffer. */
void cairn_waits_describe(struct cairn_waits *waits, const struct cairn_waiter *waiter,
                          const struct cairn_proc_syscall *now, uint64_t now_ns,
                          struct cairn_buf *out);

/* Looks what a thread that was found blocked waits for, unless that is known. 0, or a negative code
 * of the writer; a thread that runs again, or that may not be asked, is no failure. */
int cairn_wait_look(struct cairn_waits *waits, struct cairn_wait *wait,
                    const struct cairn_waiter *waiter, uint64_t now_ns);

#endif
