/* exact.h: counts and times every call, in a tree of calls for each thread.
 *
 * A caller says who enters and who leaves; the engine keeps a shadow stack a thread and one node
 * for each path of calls: calls, time, time in the node itself. It knows nothing of Python: a key
 * is the address of what is called, a frame the address of the frame that runs it. Addresses of
 * frames are even; one that is odd belongs to a callee that has no frame, called by frame - 1.
 *
 * Stacks heal: who leaves takes with it all that was entered above it and never left; who is not
 * there to leave is counted and passed over; who enters below a caller ends what stood above that.
 * Who has ended so and is at work again (a greenlet was switched away from) is asked for its
 * callers, and all of them stand there again; that nobody called stands at a root. Beyond
 * `max_bytes` or `max_nodes` paths are folded to pairs of caller and callee: all sums stay exact,
 * only the tree ends there. What cannot be held even so is counted as lost.
 *
 * With a spool all of it lies in a file that is read when the process is over, however it ended;
 * a forked child begins a file of its own, with an empty tree. Generators are one call there for
 * each body that began: cairn_exact_resume() and cairn_exact_suspend() come in place of enter and
 * leave where one goes on and where it yields.
 *
 * Threads: each has a record of its own. All calls on one profile are made under one lock of the
 * caller's (the GIL); only the end of a thread is noticed without it. After a fork the child goes
 * on with the record of the thread that forked and leaves the others alone.
 * Owner: the caller has the struct and ends it with cairn_exact_release(). Memory is mapped, never
 * from malloc; errno is left as it was.
 */
#ifndef CAIRN_EXACT_H
#define CAIRN_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#include "agentmem.h"
#include "cursor.h"
#include "meter.h"
#include "spool.h"

struct cairn_exact_thread;
struct cairn_timeline;

struct cairn_exact_words { /* what a callee is called: UTF-8, borrowed until the next call */
    struct cairn_span name, qualname, file;
    uint32_t first_line;
};

typedef void cairn_exact_describe(void *context, void *learnt, struct cairn_exact_words *ret_words);

#define CAIRN_EXACT_HIDDEN UINTPTR_MAX

struct cairn_exact_host {
    void *context;
    /* The time in a unit of the caller's; NULL: cairn_ticks_now(). Events that come while it runs
     * are passed over. */
    int64_t (*now)(void *context);
    /* A key is met for the first time in a thread: what stands for it, to be kept alive. `callee`
     * is what the event brought. NULL: it cannot be had, the call is lost. */
    void *(*learn)(void *context, const void *key, void *callee);
    void (*forget)(void *context, void *learnt);
    /* Something that `caller` had called, a frame, or a callee without one (odd), is over or
     * yields, after so many units of time; `native`: it had no frame. NULL: nobody wants to know.
     */
    void (*returned)(void *context, uintptr_t caller, int64_t time, bool native);
    /* Of a frame at work: the key of what runs there, and its caller's frame, 0: none,
     * CAIRN_EXACT_HIDDEN: that cannot be told. NULL: frames cannot be asked, and what has ended
     * does not come back. */
    const void *(*outer)(uintptr_t frame, uintptr_t *ret_caller);
};

struct cairn_exact_tally { /* what is not in the tree */
    uint64_t lost;         /* calls, for want of memory, or in a thread that was just ending */
    uint64_t strays;       /* leavings of what was not seen entering */
    uint64_t healed;       /* entries that ended without being left */
    uint64_t folded;       /* calls that have no path of their own */
};

struct cairn_exact {
    struct cairn_exact_host host;
    struct cairn_budget budget;
    size_t max_nodes, max_depth, nodes; /* nodes: atomic, over all threads */
    uint64_t serial;                    /* no other profile of this process has it */
    struct cairn_exact_thread *threads;
    struct cairn_exact_tally tally; /* of no thread in particular */
    struct cairn_spool *spool;      /* NULL: memory of its own */
    cairn_exact_describe *describe;
    struct cairn_timeline *timeline; /* NULL: when calls were is not kept */
    unsigned forks, records;         /* with a spool: of the process, and in the file */
    struct cairn_pool pool;          /* with a spool: what belongs to no thread */
    struct cairn_pairs sleepers;     /* frames that yielded */
    struct cairn_meter meter;
    bool partial; /* not all calls have events: callers may be unknown */
    bool flat;    /* from the next empty stack on: callers are not told apart */
};

void cairn_exact_init(struct cairn_exact *exact, const struct cairn_exact_host *host,
                      size_t max_bytes, size_t max_nodes, size_t max_depth);
void cairn_exact_release(struct cairn_exact *exact);

/* Lays the tree into the spool, which is open; before the first event. `describe` tells what
 * something that was learnt is called, and is asked once for each. */
void cairn_exact_spool(struct cairn_exact *exact, struct cairn_spool *spool,
                       cairn_exact_describe *describe);

/* Keeps when each call was, too: in a timeline that is open, beside that spool. */
void cairn_exact_keep_times(struct cairn_exact *exact, struct cairn_timeline *timeline);

/* Forgets all that was counted. */
void cairn_exact_clear(struct cairn_exact *exact);

/* `caller`: the frame that called it; 0: none did, or, where frames cannot be asked, nobody knows.
 */
void cairn_exact_enter(struct cairn_exact *exact, const void *key, uintptr_t frame,
                       uintptr_t caller, void *callee);
void cairn_exact_leave(struct cairn_exact *exact, uintptr_t frame);
/* It is over, and was no call: a generator was thrown into before its body began. */
void cairn_exact_take_back(struct cairn_exact *exact, uintptr_t frame);
/* The same as leave of what may never have been seen entering. */
void cairn_exact_leave_top(struct cairn_exact *exact, uintptr_t frame);

/* A call that is not timed, whose end nobody tells: that it began, and below whom. */
void cairn_exact_count(struct cairn_exact *exact, const void *key, uintptr_t caller, void *callee);
/* It was none, as in cairn_exact_take_back(). */
void cairn_exact_uncount(struct cairn_exact *exact, const void *key, uintptr_t caller,
                         void *callee);

/* The same where no stack is kept: `caller`, a key, is what called, NULL: nothing did. `calling` is
 * to `learn` for it what `callee` is for the key. */
void cairn_exact_count_pair(struct cairn_exact *exact, const void *key, const void *caller,
                            void *callee, void *calling);

/* A generator goes on, which is no call; it yields. */
void cairn_exact_resume(struct cairn_exact *exact, const void *key, uintptr_t frame,
                        uintptr_t caller, void *callee);
void cairn_exact_suspend(struct cairn_exact *exact, uintptr_t frame);

/* Ends whatever has been entered and not left, in all threads, now. */
void cairn_exact_stop(struct cairn_exact *exact);

/* The same, for good: what the spool holds is whole. */
void cairn_exact_end(struct cairn_exact *exact);

/* Whether this process was forked from the one that began, and has a spool of its own. */
bool cairn_exact_is_forked(const struct cairn_exact *exact);

/* Whether there is a spool that this process writes: a child that has met no event has its
 * parent's.
 */
bool cairn_exact_owns_spool(const struct cairn_exact *exact);

/* Whether this thread is inside an event: the clock is being read. */
bool cairn_exact_is_busy(const struct cairn_exact *exact);

/* Sums over all threads. */
void cairn_exact_tally(const struct cairn_exact *exact, struct cairn_exact_tally *ret_tally);

#endif
