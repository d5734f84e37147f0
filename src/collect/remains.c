#include "remains.h"

#include "clock.h"
#include "subject.h"

#define MUCH_NS 1000000    /* some threads' lives, of those that a tick misses */
#define PLENTY_NS 20000000 /* more than those that are met have room for */
#define OWED_PART 128      /* of all that the process ran: no more waits for the next thread */
#define QUIET_TICKS 4
#define FRESH_NS 12000000u /* of CPU time: a scheduler tick, at 100 Hz, and some */
#define YOUNG_NS 20000000u /* who is there for longer is not one of those that come and go */

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Without a thread's book nothing can be told from the process', from then on. One that was over
 * before its book was opened needs none: what it ran is left over. */
static bool books_sum(struct cairn_subject *subject, uint64_t *ret_ns)
{
    *ret_ns = 0;
    for (size_t i = 0; i < subject->workers.count; i++) {
        const struct cairn_worker *worker = subject->workers.items[i];

        subject->remains.blind |=
            !worker->has_book && worker->schedstat_fd < 0 && worker->schedstat_fd != -CAIRN_EGONE;
        *ret_ns += worker->book_ns;
    }
    return !subject->remains.blind;
}

void cairn_remains_open(struct cairn_subject *subject, bool threads_changed)
{
    struct cairn_remains *remains = &subject->remains;

    bool changed = threads_changed || remains->again;

    remains->open = changed && cairn_proc_cpu_ns(subject->pid, &remains->process_ns) == 0;
    remains->again = threads_changed;
    remains->quiet = changed ? 0 : remains->quiet + (remains->quiet < QUIET_TICKS);
}

void cairn_remains_close(struct cairn_subject *subject)
{
    struct cairn_remains *remains = &subject->remains;
    uint64_t books_ns;

    if (!remains->open || !books_sum(subject, &books_ns))
        return;
    remains->left_ns = (int64_t)(remains->process_ns - books_ns - remains->gone_ns);
}

void cairn_remains_forget(struct cairn_subject *subject)
{
    struct cairn_remains *remains = &subject->remains;
    uint64_t process_ns, books_ns;

    remains->left_ns = 0;
    if (!books_sum(subject, &books_ns) || cairn_proc_cpu_ns(subject->pid, &process_ns) < 0)
        remains->blind = true;
    else
        remains->gone_ns = process_ns - books_ns;
}

void cairn_remains_attach(struct cairn_subject *subject)
{
    cairn_remains_forget(subject);
    subject->remains.attached_ns = cairn_clock_mono_ns();
}

bool cairn_remains_met_late(struct cairn_subject *subject, const struct cairn_proc_schedstat *book)
{
    struct cairn_remains *remains = &subject->remains;

    if (!remains->attached_ns ||
        book->cpu_ns + book->runq_ns <= cairn_clock_mono_ns() - remains->attached_ns)
        return false;
    remains->gone_ns -= book->cpu_ns;
    return true;
}

void cairn_remains_of(struct cairn_subject *subject, const struct cairn_worker *worker)
{
    uint64_t loose_ns = worker->cpu_delta_ns + worker->cpu_carry_ns;

    /* No less than 0: what is loose is of its own time, or was given to it and is in gone_ns. */
    subject->remains.gone_ns += worker->cpu_ns - loose_ns;
    subject->remains.left_ns += (int64_t)loose_ns;
    if (cairn_remains_fresh(worker) && worker->track && worker->last_stack) {
        subject->remains.track = worker->track;
        subject->remains.stack = worker->last_stack;
    }
    subject->remains.again = true;
}

uint64_t cairn_remains_missed_ns(const struct cairn_subject *subject, uint64_t span_ns)
{
    int64_t left_ns = subject->remains.left_ns;
    int64_t much_ns = (int64_t)(subject->remains.process_ns / OWED_PART);
    bool nobody_comes = span_ns >= CAIRN_REMAINS_LATE_NS || subject->remains.quiet == QUIET_TICKS;

    if (much_ns < MUCH_NS || nobody_comes)
        much_ns = MUCH_NS;
    else if (much_ns > PLENTY_NS)
        much_ns = PLENTY_NS;
    return left_ns > much_ns ? (uint64_t)left_ns : 0;
}

void cairn_remains_taken(struct cairn_subject *subject, uint64_t taken_ns)
{
    subject->remains.gone_ns += taken_ns;
    subject->remains.left_ns -= (int64_t)taken_ns;
}

bool cairn_remains_fresh(const struct cairn_worker *worker)
{
    return worker->cpu_ns < FRESH_NS;
}

/* Whether its clock went on since it said so much: who waits for a processor has one that stands.
 */
static bool went_on(const struct cairn_worker *worker, uint64_t since_ns)
{
    uint64_t clock_ns;

    return cairn_perf_clock_read(&worker->clock, &clock_ns) == 0 && clock_ns > since_ns;
}

/* Whether it was there at this tick, with a stack, and has gone since. */
static bool is_over(const struct cairn_subject *subject, const struct cairn_worker *worker)
{
    return worker->py && !cairn_proc_has_thread(subject->pid, worker->tid);
}

bool cairn_remains_wanted(const struct cairn_subject *subject, const struct cairn_worker *worker)
{
    if (subject->remains.left_ns <= 0 || !cairn_remains_fresh(worker) ||
        worker->look_ns - worker->met_ns > YOUNG_NS)
        return false;
    /* Rather to one that was just put off its processor than to nobody, in the end. */
    if (worker->runs && worker->turns &&
        (!worker->clock.page || went_on(worker, worker->clock_ns) ||
         (worker->py && subject->remains.left_ns > MUCH_NS)))
        return true;
    return is_over(subject, worker);
}

bool cairn_remains_runs(const struct cairn_worker *worker)
{
    uint64_t clock_ns;

    if (!cairn_remains_fresh(worker) || !worker->clock.page)
        return worker->cpu_delta_ns;
    return worker->runs && cairn_perf_clock_read(&worker->clock, &clock_ns) == 0 &&
           went_on(worker, clock_ns);
}

void cairn_remains_settle(struct cairn_subject *subject, struct cairn_worker *worker, bool wanted,
                          uint64_t span_ns)
{
    int64_t left_ns = subject->remains.left_ns, part_ns = 0;
    int64_t room_ns = (int64_t)(span_ns - worker->cpu_delta_ns - worker->cpu_carry_ns);

    if (room_ns < 0 && cairn_remains_fresh(worker))
        part_ns = -min_of((int64_t)worker->cpu_delta_ns, -room_ns);
    else if (wanted)
        part_ns = min_of(left_ns, room_ns);
    else if (left_ns < 0 && worker->clock.page && cairn_remains_fresh(worker))
        part_ns = -min_of((int64_t)worker->cpu_delta_ns, -left_ns);
    worker->cpu_delta_ns += (uint64_t)part_ns;
    subject->remains.gone_ns += (uint64_t)part_ns;
    subject->remains.left_ns -= part_ns;
}

/* Whether the number is still this process', as that of a zombie is: it has its book. */
static bool is_there(const struct cairn_subject *subject)
{
    struct cairn_proc_stat stat;

    return cairn_proc_stat(subject->pid, 0, &stat) == 0 && stat.start_ns == subject->start_ns;
}

bool cairn_remains_have_end(struct cairn_subject *subject)
{
    struct cairn_remains *remains = &subject->remains;

    return !remains->blind &&
           (remains->end_ns ||
            (is_there(subject) && cairn_proc_cpu_ns(subject->pid, &remains->end_ns) == 0));
}

int64_t cairn_remains_end(struct cairn_subject *subject)
{
    struct cairn_remains *remains = &subject->remains;

    if (remains->end_ns && !remains->blind)
        remains->left_ns = (int64_t)(remains->end_ns - remains->gone_ns);
    return remains->left_ns;
}
