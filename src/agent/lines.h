/* lines.h: counts and times the lines of functions that somebody chose, and counts the units of
 * their bytecode.
 *
 * A line lasts from where it begins to where the next one of the same frame begins, or to where the
 * frame ends or yields: what it calls is in it. Frames are told apart by their addresses, so that
 * recursion, threads and generators each have lines of their own; what a generator does from where
 * it goes on to its next line is the time of the line that yielded, how long it slept is not.
 *
 * Several may ask for the same function, each from when to when it likes: each has a counter of its
 * own for it. The engine knows nothing of Python: a key is the address of a code object.
 *
 * With a spool the sums of counters that are kept lie in a file that is read when the process is
 * over, however it ended; a child made by fork begins a file of its own, with sums of 0.
 *
 * Threads: each has a stack of its own. All calls on one hub are made under one lock of the
 * caller's (the GIL); only the end of a thread is noticed without it. Owner: the caller has the
 * hub, the hub has what hangs on it, and outlives the threads. Memory is mapped, never from malloc;
 * errno is left as it was.
 *
 * It is long because what is counted of lines, of units and of what they were given begins and ends
 * with the same calls.
 */
#ifndef CAIRN_LINES_H
#define CAIRN_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "agentmem.h"
#include "exact.h"
#include "linemeter.h"
#include "spool.h"
#include "spots.h"

struct cairn_line_counts;
struct cairn_lines_block;

struct cairn_line_sum {
    int64_t hits;         /* how often it began */
    int64_t total, slept; /* in ticks (ticks.h), of what is over */
    int64_t called,
        native; /* of the total: in Python that it called, in C; where calls are known */
};

struct cairn_lines_code;
struct cairn_lines_thread;

/* Where the lines of one thread are counted, of a counter that is kept. */
struct cairn_lines_share {
    uint64_t number; /* of the thread */
    struct cairn_lines_block *block;
    struct cairn_lines_share *next;
};

struct cairn_lines_counter {
    struct cairn_lines_code *code;
    bool on;
    int64_t since;                    /* it counts from then on */
    struct cairn_lines_counter *next; /* of the same code */
    struct cairn_line_sum *sums;      /* code->line_count of them */
    struct cairn_lines_block *block;  /* in the spool, with the sums; NULL: it is not kept */
    uint64_t number;                  /* of the thread that the two are for; 0: of none yet */
    struct cairn_lines_share *shares; /* of all threads so far */
    unsigned share_count;
};

#define CAIRN_UNIT_LEADS 1   /* it is counted by itself; others through those before them */
#define CAIRN_UNIT_SPOT 2    /* what it is given is looked at (spots.h) */
#define CAIRN_UNIT_WATCHES 4 /* it leads a run of which others are spots */

struct cairn_units { /* how often each unit of a code object's bytecode was executed */
    uint32_t count;
    const uint8_t *what;     /* of each unit: CAIRN_UNIT_… */
    uint64_t *hits, *raises; /* NULL: there is no place to count them any more */
    struct cairn_spots spots;
    struct cairn_lines_block *block; /* in the spool, with the two */
};

struct cairn_units_plan { /* says the same as the listing; borrowed for good */
    uint32_t count, spot_count;
    const uint8_t *what; /* `count` of them */
    const struct cairn_spot_place *spots;
};

struct cairn_lines_code {
    const void *key;
    uint32_t first_line, line_count;
    unsigned active; /* counters that are on; 0: lines that come are passed over */
    bool judged;     /* whether it is to be recorded was asked */
    bool gone;       /* it was recorded, and let go: it cost too much */
    struct cairn_line_charge charge;
    struct cairn_lines_counter *counters;
    struct cairn_units *units;        /* NULL: they are not counted; else for good */
    struct cairn_line_counts *counts; /* likewise (linecounts.h) */
};

struct cairn_lines_hub {
    struct cairn_budget budget;
    struct cairn_pool pool;
    struct cairn_pairs codes, sleepers; /* by key; by frame, of those that yielded */
    struct cairn_lines_thread *threads;
    uint64_t thread_count;     /* that were there so far */
    uint64_t serial;           /* no other hub of this process has it */
    uint64_t lost;             /* lines, for want of memory, or that lie outside their function */
    struct cairn_spool *spool; /* NULL: nothing is kept */
    struct cairn_pool blocks;  /* in the spool */
    struct cairn_budget spool_budget;
    bool knows_calls, counts_units; /* units: while it is so */
    unsigned forks;                 /* that lay behind the process when it was last looked at */
    struct cairn_line_meter meter;
};

void cairn_lines_init(struct cairn_lines_hub *hub, size_t max_bytes);
void cairn_lines_release(struct cairn_lines_hub *hub);

/* A new counter of the code's lines from `first_line` on, which is off. NULL: no memory. */
struct cairn_lines_counter *cairn_lines_add(struct cairn_lines_hub *hub, const void *key,
                                            uint32_t first_line, uint32_t line_count);

/* The counter is nobody's any more. True when it was the last of its code: the key may be given to
 * other code from now on. */
bool cairn_lines_remove(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter);

/* From now on counters can be kept in the spool, which is open. One that is new is, under the words
 * that its code has: 0, -CAIRN_ENOMEM. The end of the spool is that of what it holds: it is whole.
 */
void cairn_lines_spool(struct cairn_lines_hub *hub, struct cairn_spool *spool);
int cairn_lines_keep(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter,
                     const struct cairn_exact_words *words);
void cairn_lines_end(struct cairn_lines_hub *hub);

/* Whether cairn_lines_called() is told of all calls, for who reads the spool. */
void cairn_lines_know_calls(struct cairn_lines_hub *hub, bool knows);

/* Begins to count; ends, with what has begun and is not over until now. */
void cairn_lines_on(struct cairn_lines_counter *counter);
void cairn_lines_off(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter);

/* Counts, from now on, how often the code's units are executed, in the spool, under the words that
 * the code has and a listing that says what they are (lines_parts.h). 0, -CAIRN_ENOMEM. */
int cairn_lines_count_units(struct cairn_lines_hub *hub, const void *key,
                            const struct cairn_units_plan *plan,
                            const struct cairn_exact_words *words, struct cairn_span listing);

/* The listing of code whose units are counted, anew: what was counted goes on. Without memory the
 * old one stays. */
void cairn_lines_list_again(struct cairn_lines_hub *hub, const void *key,
                            const struct cairn_exact_words *words, struct cairn_span listing);

/* Forgets what was counted. */
void cairn_lines_clear(struct cairn_lines_counter *counter);

/* NULL: nobody asks for it. */
static inline struct cairn_lines_code *cairn_lines_find(const struct cairn_lines_hub *hub,
                                                        const void *key)
{
    return cairn_pairs_get(&hub->codes, (uintptr_t)key, 0);
}

/* Whether anybody asks for something of it. */
static inline bool cairn_lines_asked(const struct cairn_lines_code *code)
{
    return code != NULL && (code->counters != NULL || code->units != NULL || code->counts != NULL);
}

/* Until 3.11: a trace function of the program's took our place in a frame. */
void cairn_lines_displaced(struct cairn_lines_hub *hub);

/* Nobody asks for it any more: no event of it needs to be told. */
static inline bool cairn_lines_is_over(const struct cairn_lines_code *code)
{
    return code->gone && code->active == 0;
}

/* What is kept of the code is not counted from now on. */
void cairn_lines_let_go(struct cairn_lines_hub *hub, struct cairn_lines_code *code);

/* A unit of the code is executed; an exception leaves the code's units there. */
void cairn_lines_unit(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uint32_t unit);
void cairn_lines_raise(struct cairn_lines_hub *hub, const struct cairn_lines_code *code,
                       uint32_t unit);

/* The spots of code whose units are counted; NULL: nothing is counted there now. */
struct cairn_spots *cairn_lines_spots_now(struct cairn_lines_hub *hub,
                                          const struct cairn_lines_code *code);

/* What happens in a frame: it begins; a line of it begins; it ends. */
void cairn_lines_enter(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uintptr_t frame);
void cairn_lines_line(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uintptr_t frame,
                      uint32_t line);
void cairn_lines_leave(struct cairn_lines_hub *hub, uintptr_t frame);

/* What a frame had called is over, or yields, after so many ticks: Python, or something native. */
void cairn_lines_called(struct cairn_lines_hub *hub, uintptr_t frame, int64_t ticks, bool native);

/* A generator yields; it goes on, or is thrown into. */
void cairn_lines_suspend(struct cairn_lines_hub *hub, uintptr_t frame);
void cairn_lines_resume(struct cairn_lines_hub *hub, struct cairn_lines_code *code,
                        uintptr_t frame);

#endif
