/* worker.c: what a thread ran and waited, by the kernel's books and clocks. */
#include "clock.h"
#include "io.h"
#include "subject.h"

#define YOUNG_NS 120000000ull /* of CPU time: ten times what the book may lag, or more */
#define READ_NS 1500000ull    /* schedstat of a thread that stays where it is */
#define QUEUED_READ_NS                                                                             \
    4000000ull /* of one that waits for a processor, or as long as it has waited … */
#define QUEUED_READ_MOST_NS 64000000ull /* … but no longer */
#define ASK_NS 50000ull                 /* whether it does */
#define LOSS_NS 20000ull /* of time that nothing accounts for: below, it is not worth asking */
#define WAITS_PAUSE_MAX 63

int cairn_worker_read_book(const struct cairn_worker *worker, struct cairn_proc_schedstat *book)
{
    int fd = worker->schedstat_fd, code = fd;

    if (fd < 0 && worker->has_book)
        code = fd = cairn_proc_schedstat_open(worker->tid, worker->tid);
    if (fd >= 0)
        code = cairn_proc_schedstat_read(fd, book);
    if (fd != worker->schedstat_fd)
        cairn_io_close(&fd);
    return code;
}

static int read_wchan(const struct cairn_worker *worker, bool *ret_runs)
{
    int fd = worker->wchan_fd, code;

    if (fd < 0)
        fd = cairn_proc_wchan_open(worker->tid, worker->tid);
    code = fd < 0 ? fd : cairn_proc_wchan_read(fd, ret_runs);
    if (fd != worker->wchan_fd)
        cairn_io_close(&fd);
    return code;
}

/* Takes new totals. Neither may fall, whatever two entries of the book say of one moment. */
static void take_totals(struct cairn_worker *worker, uint64_t cpu_ns, uint64_t runq_ns)
{
    if (cpu_ns > worker->cpu_ns) {
        worker->cpu_delta_ns = cpu_ns - worker->cpu_ns;
        worker->cpu_ns = cpu_ns;
    }
    if (runq_ns > worker->runq_ns) {
        worker->runq_delta_ns = runq_ns - worker->runq_ns;
        worker->runq_ns = runq_ns;
    }
}

/* Without schedstat or wchan the clock itself has to be asked. */
static void look_at_clock(struct cairn_worker *worker)
{
    struct cairn_proc_schedstat book = {.cpu_ns = worker->book_ns, .runq_ns = worker->runq_ns};
    uint64_t since_ns;

    cairn_worker_read_book(worker, &book);
    worker->book_ns = book.cpu_ns;
    if (worker->clock.page && cairn_perf_clock_read(&worker->clock, &since_ns) == 0)
        take_totals(worker, worker->clock_base_ns + since_ns, book.runq_ns);
    worker->ran = worker->cpu_delta_ns > 0;
}

/* Whether it stayed on its processor since the last look, as far as needs to be known: asked at
 * most every ASK_NS, since what is wrongly taken for running in between the book sets right. */
static bool stays(struct cairn_worker *worker, bool moved, uint64_t now_ns)
{
    bool runs = false;

    worker->still = false;
    if (moved || !worker->ran || now_ns - worker->asked_ns >= ASK_NS) {
        worker->still = read_wchan(worker, &runs) == 0 && !runs;
        worker->runs = runs;
        worker->asked_ns = now_ns;
    }
    return worker->runs && worker->ran && !moved;
}

/* Whether the thread waited for anything but a processor since this was last asked; true as well
 * when it is not known. Who waits often is asked ever more rarely: the file is a long one. */
static bool gave_way(struct cairn_worker *worker)
{
    uint64_t waits, before = worker->waits;

    if (worker->waits_rest) {
        worker->waits_rest--;
        return true;
    }
    if (cairn_proc_waits(worker->tid, worker->tid, &waits) < 0)
        return true;
    worker->waits = waits;
    worker->waits_pause = waits == before ? 0 : worker->waits_pause * 2 + 1;
    if (worker->waits_pause > WAITS_PAUSE_MAX)
        worker->waits_pause = WAITS_PAUSE_MAX;
    worker->waits_rest = worker->waits_pause;
    return waits != before;
}

/* A thread that stayed and did not get the time that passed waited for its processor, be it that
 * another had it or that the host did. The first kind comes into the book as well, when the wait
 * is over: it is not counted twice. The second kind never does. */
static void settle_wait(struct cairn_worker *worker, bool stayed, bool moved, uint64_t passed_ns)
{
    uint64_t known_ns =
        worker->runq_delta_ns < worker->ahead_ns ? worker->runq_delta_ns : worker->ahead_ns;
    uint64_t told_ns;

    worker->runq_delta_ns -= known_ns;
    worker->ahead_ns = moved ? 0 : worker->ahead_ns - known_ns;
    told_ns = worker->cpu_delta_ns + worker->runq_delta_ns;
    if (stayed && told_ns < passed_ns) {
        worker->ahead_ns += passed_ns - told_ns;
        worker->runq_delta_ns += passed_ns - told_ns;
    }
}

/* Whether it ran so little that its end may come before its book tells of it: then nothing sets
 * right what is wrongly taken for running, and its clock is asked. */
static bool is_young(const struct cairn_worker *worker)
{
    return worker->clock.page && worker->cpu_ns < YOUNG_NS;
}

/* Exact, at the price of an interrupt where the thread runs. */
static uint64_t clock_total(struct cairn_worker *worker, uint64_t book_ns, uint64_t now_ns)
{
    uint64_t since_ns = 0;

    worker->clock_at_ns = now_ns;
    if (cairn_perf_clock_read(&worker->clock, &since_ns) < 0)
        return book_ns;
    worker->clock_ns = since_ns;
    since_ns += worker->clock_base_ns;
    return since_ns > book_ns ? since_ns : book_ns;
}

/* How late schedstat may be: it moves with the kernel's tick, which may be late itself. */
static uint64_t book_lag_ns(void)
{
    uint64_t tick_ns = cairn_clock_kernel_tick_ns();

    return tick_ns + tick_ns / 5;
}

static bool is_stale(const struct cairn_worker *worker, uint64_t now_ns)
{
    return now_ns - worker->book_at_ns >= book_lag_ns();
}

/* As if it had run since the last look, as far as the book may lag. */
static uint64_t passed_total(const struct cairn_worker *worker, uint64_t book_ns, uint64_t now_ns)
{
    uint64_t passed_ns = worker->cpu_ns + (now_ns - worker->look_ns);
    uint64_t most_ns = worker->book_ns + book_lag_ns();

    if (passed_ns > most_ns)
        passed_ns = most_ns;
    return passed_ns > book_ns ? passed_ns : book_ns;
}

/* What was counted ahead of the book, and shows to be too much by the total that holds. Returns how
 * much of it rows hold: time that has been told, whatever the book says of it yet. */
static uint64_t take_excess(struct cairn_worker *worker, uint64_t total_ns)
{
    uint64_t excess_ns, held_ns;

    if (worker->cpu_ns <= total_ns)
        return 0;
    excess_ns = worker->cpu_ns - total_ns;
    worker->cpu_ns = total_ns;
    held_ns = excess_ns > worker->cpu_carry_ns ? excess_ns - worker->cpu_carry_ns : 0;
    worker->cpu_carry_ns -= excess_ns - held_ns;
    worker->excess_ns += held_ns;
    return held_ns;
}

/* Those that come and go are settled among each other. */
static uint64_t find_excess(struct cairn_worker *worker, uint64_t total_ns)
{
    return cairn_remains_fresh(worker) ? 0 : take_excess(worker, total_ns);
}

/* False: the thread is over, and this look is none: its last one tells what it ran since it was
 * looked at before. */
static bool look_at_book(struct cairn_worker *worker, bool moved, uint64_t now_ns)
{
    struct cairn_proc_schedstat book = {worker->book_ns, worker->runq_ns, worker->turns};
    bool ran = worker->ran, stayed = stays(worker, moved, now_ns);
    uint64_t cpu_ns, passed_ns;

    if (!stayed || !worker->turns || now_ns - worker->read_ns >= READ_NS) {
        if (cairn_worker_read_book(worker, &book) == -CAIRN_EGONE) {
            worker->ran = ran || moved;
            return false;
        }
        worker->read_ns = now_ns;
        worker->turns = book.turns;
    }
    /* Who was given a processor has an exact book, of that moment, which may lag from then on. */
    if (book.cpu_ns != worker->book_ns || moved) {
        worker->book_ns = book.cpu_ns;
        worker->book_at_ns = now_ns;
    }
    cpu_ns = book.cpu_ns;
    if (worker->runs && is_young(worker) &&
        (!stayed || is_stale(worker, now_ns) || now_ns - worker->clock_at_ns >= READ_NS))
        cpu_ns = clock_total(worker, cpu_ns, now_ns);
    else if (stayed && !is_stale(worker, now_ns))
        cpu_ns = passed_total(worker, cpu_ns, now_ns);
    take_totals(worker, cpu_ns, book.runq_ns);
    /* Its book is of the moment when it gave its processor up, or when it got one: then the wait
     * for that has just come into it. */
    if (moved)
        worker->ahead_ns += find_excess(worker, book.cpu_ns);
    else if (worker->still)
        find_excess(worker, book.cpu_ns);
    passed_ns = now_ns - worker->look_ns;
    /* It lost its processor and has it again: if it never gave way, it wanted it all the time. */
    if (moved && ran && worker->runs &&
        worker->cpu_delta_ns + worker->runq_delta_ns + LOSS_NS < passed_ns)
        stayed = !gave_way(worker);
    settle_wait(worker, stayed, moved, passed_ns);
    worker->ran = worker->runs || worker->cpu_delta_ns > 0;
    return true;
}

/* Whether its clock has stood still since the last look. If that was asked then, and it went on,
 * the kernel's tick is late, and its book with it: it ran. */
static bool stands(struct cairn_worker *worker, uint64_t now_ns)
{
    bool asked = worker->clock_at_ns == worker->look_ns;
    uint64_t before_ns = worker->clock_ns, since_ns;

    if (worker->clock_at_ns == now_ns || cairn_perf_clock_read(&worker->clock, &since_ns) < 0)
        return true;
    worker->clock_at_ns = now_ns;
    worker->clock_ns = since_ns;
    if (asked && since_ns > before_ns)
        take_totals(worker, worker->cpu_ns + (since_ns - before_ns), worker->runq_ns);
    return asked && since_ns == before_ns;
}

/* A thread that wants a processor and whose book has stood still for longer than it can lag has
 * none, if its clock stands as well. Until it gets one its page does not move, and its stack is
 * what it was: many such threads must not cost what few that run do. The book is still read now and
 * then, ever more rarely, since a host that takes a processor away stops the book of the thread
 * that runs there, too. */
static bool look_at_queued(struct cairn_worker *worker, bool moved, uint64_t now_ns)
{
    uint64_t waits_ns = worker->read_ns - worker->book_at_ns; /* so long when it was last read */

    if (waits_ns < QUEUED_READ_NS)
        waits_ns = QUEUED_READ_NS;
    else if (waits_ns > QUEUED_READ_MOST_NS)
        waits_ns = QUEUED_READ_MOST_NS;
    if (worker->queued && !moved && now_ns - worker->read_ns < waits_ns)
        settle_wait(worker, true, false, now_ns - worker->look_ns);
    else if (!look_at_book(worker, moved, now_ns))
        return false;
    worker->queued = worker->clock.page && !moved && worker->runs && !worker->cpu_delta_ns &&
                     is_stale(worker, now_ns) && (worker->queued || stands(worker, now_ns));
    if (worker->queued) /* its book is of the moment when it lost its processor */
        worker->ahead_ns += find_excess(worker, worker->book_ns);
    return true;
}

/* What no row has taken is for a later one. */
static void forget_deltas(struct cairn_worker *worker)
{
    worker->cpu_carry_ns += worker->cpu_delta_ns;
    worker->cpu_delta_ns = worker->runq_delta_ns = 0;
}

bool cairn_worker_look(struct cairn_worker *worker, uint64_t now_ns)
{
    bool moved = worker->clock.page && cairn_perf_clock_moved(&worker->clock);
    bool active = moved || worker->ran || !worker->clock.page, queued = worker->queued;
    bool there = true;

    forget_deltas(worker);
    worker->put_off = false;
    worker->still = !active;
    if (active && worker->has_book)
        there = look_at_queued(worker, moved, now_ns);
    else if (active)
        look_at_clock(worker);
    if (moved || worker->cpu_delta_ns || !worker->still)
        worker->wait.seen = false;
    if (there) {
        worker->put_off =
            moved && worker->runs &&
            worker->cpu_delta_ns + worker->runq_delta_ns + LOSS_NS >= now_ns - worker->look_ns;
        worker->look_ns = now_ns;
    }
    return active && !(queued && worker->queued);
}

/* What a thread that is gone ran. False: its clock could not be had. */
static bool last_total(const struct cairn_worker *worker, uint64_t *ret_ns)
{
    uint64_t since_ns;

    if (!worker->clock.page || cairn_perf_clock_read(&worker->clock, &since_ns) < 0)
        return false;
    *ret_ns = worker->clock_base_ns + since_ns;
    return true;
}

void cairn_worker_last_look(struct cairn_worker *worker, uint64_t now_ns)
{
    uint64_t cpu_ns, most_ns = worker->cpu_ns + (now_ns - worker->look_ns);

    forget_deltas(worker);
    if (!last_total(worker, &cpu_ns))
        return;
    if (worker->ran)
        take_totals(worker, cpu_ns < most_ns ? cpu_ns : most_ns, worker->runq_ns);
    find_excess(worker, cpu_ns > worker->book_ns ? cpu_ns : worker->book_ns);
}

void cairn_worker_settle(struct cairn_worker *worker)
{
    uint64_t cpu_ns;

    forget_deltas(worker);
    if (!last_total(worker, &cpu_ns))
        return;
    if (cpu_ns < worker->book_ns)
        cpu_ns = worker->book_ns;
    take_totals(worker, cpu_ns, worker->runq_ns);
    take_excess(worker, cpu_ns);
}
