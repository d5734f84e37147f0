/* meter.h: what counting costs by its own books, and what it leaves out to cost no more than it
 * may.
 *
 * Each event is charged with what events of its kind were measured to take; one of about 64 is
 * looked at, which tells what is called how often, and for how long. Now and then the sum is held
 * against the CPU time of the process. While it is more than its share of what the program itself
 * needed, what saves most beyond a share of its own time is done: a callee's calls are counted
 * without their times, or, where that would be too dear by itself, let go; or what a callee calls
 * of C is. The host is told, and sees to it that no more events come than are needed; where they
 * come all the same and cost too much by themselves, all calls are counted in a cheaper way, if
 * there is one, or none any more. Threads: under the engine's lock. Owner: part of a profile
 * (exact.h), which has the memory.
 */
#ifndef CAIRN_METER_H
#define CAIRN_METER_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_exact;
struct cairn_exact_key;

#define CAIRN_LET_GO_SELF 1u    /* calls of it are not seen any more */
#define CAIRN_LET_GO_NATIVES 2u /* nor what it calls of C */
#define CAIRN_LET_GO_TIMES                                                                         \
    4u                   /* its calls are counted, not timed; what it calls of C is not seen       \
                          */
#define CAIRN_UNTIMED 8u /* of a row in a file: its calls were not timed */

#define CAIRN_METER_FLOOR_NS                                                                       \
    2e5 /* so much may be spent in any case: before, nothing can be told                           \
         */

struct cairn_meter_host {
    /* From now on no events of it, of what it calls of C alone, or of its ends are to come: one of
     * CAIRN_LET_GO_*. */
    void (*let_go)(void *context, void *learnt, unsigned what);
    void (*stop)(void *context);  /* no events at all */
    void (*plain)(void *context); /* calls are to be counted alone, by less; NULL: no such way */
    uint64_t (*cpu_ns)(void *context);   /* NULL: CPU time of this process */
    double tick_ns;                      /* of the engine's clock */
    double share;                        /* of what the program itself needs, 0.05 */
    double call, native, resume, passed; /* ns; passed: an event of what was let go */
    double counted;                      /* a call that is counted alone; 0: cannot be */
    double plain_counted, plain_passed;  /* of events that come that way */
    bool passes_stay; /* what was let go has events all the same, each of which is passed over */
};

struct cairn_meter {
    struct cairn_meter_host host;
    bool on, plain;
    double slack_ns;             /* what is spent until it is known what is too dear */
    uint32_t left, stride, draw; /* events until the next look, of so many */
    uint64_t events, natives, resumes, passed, counted; /* of all events, so many are of C, … */
    double looking_ns;
    struct cairn_exact_key *touched; /* that were looked at in this period */
    uint32_t samples;                /* of this period */
    uint64_t period_events, period_cpu_ns;
    double period_cost_ns;
    uint64_t let_go, untimed; /* functions, or what they call of C; that are counted alone */
};

/* Before the first event, and with a spool after that is there. */
void cairn_meter_begin(struct cairn_exact *exact, const struct cairn_meter_host *host);

/* In a child made by fork: its books begin. */
void cairn_meter_again(struct cairn_exact *exact);

/* All counting ends here, for good. */
void cairn_meter_end(struct cairn_exact *exact);

/* Whether it did: what may be spent is spent, whoever asks for more. */
bool cairn_meter_has_ended(const struct cairn_exact *exact);

/* Writes the books into the spool. */
void cairn_meter_write(struct cairn_exact *exact);

/* What counting has cost in this process, ns. */
double cairn_meter_cost_ns(const struct cairn_meter *meter);

/* An event came of what was let go, or is nobody's. */
void cairn_meter_pass(struct cairn_exact *exact);

#endif
