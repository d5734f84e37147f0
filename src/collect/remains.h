/* remains.h: CPU time of a process that no thread's book tells any more.
 *
 * The kernel forgets a thread when it is over, and with it what it did since it was last asked;
 * one that came and went between two ticks was never asked at all. But the process' own book holds
 * what all its threads ran, those that are gone too. What is in there and neither in the book of a
 * thread that lives nor in a row is left over, and goes to the next thread that is met running for
 * the first time: where threads are short, whoever is met stands for those that were missed.
 *
 * The process' book is read before those of its threads: what is left over may be told too late,
 * never too early. Owner: a part of its subject. Threads: one at a time.
 */
#ifndef CAIRN_REMAINS_H
#define CAIRN_REMAINS_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_proc_schedstat;
struct cairn_subject;
struct cairn_worker;

#define CAIRN_REMAINS_LATE_NS 5000000 /* of a tick: some short lives went by, and none was met */

struct cairn_remains {
    bool open;             /* the books are held against each other at this tick */
    bool again;            /* … and are to be at the next: a thread came or went */
    bool blind;            /* a book was not to be had: only loose ends are left over */
    uint32_t quiet;        /* so many ticks at which none did, as far as that matters */
    uint64_t process_ns;   /* the process' book, when last read */
    uint64_t gone_ns;      /* of it: what rows hold of threads that are over, or were before us */
    uint64_t attached_ns;  /* when it was met in mid-life; 0: it is known from its birth */
    uint64_t end_ns;       /* what it came to, when the process is gone; 0: not known */
    int64_t left_ns;       /* of it: what no row holds; below 0: what rows hold too much */
    uint32_t track, stack; /* of the last one that came and went, and what it did; 0: none did */
};

/* Before the workers are looked at: reads the process' book where it may tell something new. */
void cairn_remains_open(struct cairn_subject *subject, bool threads_changed);

/* After they were looked at. */
void cairn_remains_close(struct cairn_subject *subject);

/* What all that went before now is nobody's: after an exec, and when it is met in mid-life. */
void cairn_remains_forget(struct cairn_subject *subject);
void cairn_remains_attach(struct cairn_subject *subject);

/* Whether a thread with that book, which none of the lists of threads had before, is not new: they
 * were cut short. It ran and waited for a processor for longer than the process is known. If so,
 * what it ran before is its own, and not of those that were before us. */
bool cairn_remains_met_late(struct cairn_subject *subject, const struct cairn_proc_schedstat *book);

/* The worker goes; what of its time no row holds (its delta, its carry) is left over. */
void cairn_remains_of(struct cairn_subject *subject, const struct cairn_worker *worker);

/* Whether it may be one of those that come and go: the kernel's book has hardly told of it yet. */
bool cairn_remains_fresh(const struct cairn_worker *worker);

/* Whether something is left over, and it may be this worker's: it came not long ago, by its own
 * clock and by that on the wall, and was on a processor since it was looked at. */
bool cairn_remains_wanted(const struct cairn_subject *subject, const struct cairn_worker *worker);

/* Whether a thread without Python runs, or did since the tick before. One that came not long ago
 * may have gone since it was looked at, with what it did in Python: it must be found running. */
bool cairn_remains_runs(const struct cairn_worker *worker);

/* The worker has a row of `span_ns` at this tick: settles its delta with what is left over, which
 * it takes when it is `wanted`. No row of a fresh one holds more than there is room for: the next
 * takes what does not fit, or it is left over. What rows hold too much of threads that are gone is
 * taken from those that are like them. */
void cairn_remains_settle(struct cairn_subject *subject, struct cairn_worker *worker, bool wanted,
                          uint64_t span_ns);

/* What is left over when all workers have their samples, and goes to nobody that is met: of a tick
 * of `span_ns` that came so late that many lives went by (whether one of them is met at its end is
 * chance, and no later tick has room for what ran), where short threads fill the time, so that
 * more is left over than those that are met have room for, or where none came for a while: the
 * next may never come. 0: mostly. */
uint64_t cairn_remains_missed_ns(const struct cairn_subject *subject, uint64_t span_ns);

/* A row took so much of that. */
void cairn_remains_taken(struct cairn_subject *subject, uint64_t taken_ns);

/* Whether the book of a process that is over is to be had: it is known, or nobody has waited for
 * the process yet. */
bool cairn_remains_have_end(struct cairn_subject *subject);

/* What is left over, or too much, when all its workers have gone. */
int64_t cairn_remains_end(struct cairn_subject *subject);

#endif
