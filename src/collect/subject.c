#include "subject.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "format.h"
#include "io.h"
#include "tasks.h"

#define WORKERS_MAX (1u << 20)
#define YOUNG_NS 120000000ull     /* of CPU time: ten times what the book may lag, or more */
#define READ_NS 1500000ull        /* schedstat of a thread that stays where it is */
#define QUEUED_READ_NS 4000000ull /* of one that waits for a processor */
#define ASK_NS 50000ull           /* whether it does */
#define LOSS_NS 20000ull /* of time that nothing accounts for: below, it is not worth asking */
#define WAITS_PAUSE_MAX 63
#define BOOK_FDS_PERCENT 50 /* of what may be open; the clocks may have the rest */
#define STATE_NS 50000000ull
#define STATE_EACH_NS 2000000ull /* of each process, where there are many */

int cairn_subject_new(pid_t pid, uint64_t now_ns, struct cairn_subject **ret_subject)
{
    struct cairn_subject *subject;
    struct cairn_proc_stat stat;
    pid_t ns_pid;

    CAIRN_TRY(cairn_proc_stat(pid, 0, &stat));
    CAIRN_TRY(cairn_proc_ns_tid(pid, 0, &ns_pid));
    subject = cairn_calloc(1, sizeof(*subject));
    if (!subject)
        return -CAIRN_ENOMEM;
    if (cairn_waits_init(&subject->waits) < 0) {
        cairn_subject_free(subject);
        return -CAIRN_ENOMEM;
    }
    subject->pid = pid;
    subject->parent = stat.ppid;
    subject->same_namespace = ns_pid == pid;
    memcpy(subject->comm, stat.comm, sizeof(subject->comm));
    subject->start_ns = stat.start_ns;
    subject->seen_ns =
        cairn_clock_mono_ns(); /* later than now_ns: it may be younger than the tick */
    subject->exec_ns = now_ns;
    subject->start_stack = stat.start_stack;
    subject->threads_changed = subject->ran = true;
    cairn_subject_restart(subject, now_ns);
    *ret_subject = subject;
    return 0;
}

uint8_t cairn_subject_birth(const struct cairn_subject *subject, const struct cairn_subject *parent)
{
    if (!parent || !parent->start_stack || !subject->start_stack)
        return CAIRN_BIRTH_UNKNOWN;
    return parent->start_stack == subject->start_stack ? CAIRN_BIRTH_FORK : CAIRN_BIRTH_EXEC;
}

void cairn_subject_look_if_stopped(struct cairn_subject *subject, bool ran, size_t subjects,
                                   uint64_t now_ns)
{
    uint64_t each_ns = STATE_EACH_NS * subjects;
    struct cairn_proc_stat stat;

    if (ran) {
        subject->stopped = false;
    } else if (now_ns >= subject->state_at_ns) {
        subject->state_at_ns = now_ns + (each_ns > STATE_NS ? each_ns : STATE_NS);
        subject->stopped = cairn_proc_stat(subject->pid, 0, &stat) == 0 &&
                           (stat.state == 'T' || stat.state == 't');
    }
}

static void worker_free(struct cairn_worker *worker)
{
    cairn_perf_clock_close(&worker->clock);
    cairn_io_close(&worker->schedstat_fd);
    cairn_io_close(&worker->wchan_fd);
    cairn_wait_release(&worker->wait);
    free(worker);
}

static void forget_runtime(struct cairn_subject *subject)
{
    for (size_t i = 0; i < subject->workers.count; i++) {
        cairn_states_release(subject->workers.items[i]);
        subject->workers.items[i]->last_stack = 0;
    }
    cairn_pyread_free(subject->py);
    subject->py = NULL;
}

void cairn_subject_free(struct cairn_subject *subject)
{
    if (!subject)
        return;
    forget_runtime(subject);
    for (size_t i = 0; i < subject->workers.count; i++)
        worker_free(subject->workers.items[i]);
    cairn_vec_release(&subject->workers);
    cairn_vec_release(&subject->ended);
    cairn_waits_release(&subject->waits);
    cairn_tasks_free(subject->tasks);
    free(subject);
}

void cairn_subject_restart(struct cairn_subject *subject, uint64_t now_ns)
{
    forget_runtime(subject);
    subject->python = CAIRN_PYTHON_SOUGHT;
    subject->site = (struct cairn_pysite){0};
    subject->misfit_ns = 0;
    subject->look_at_ns = now_ns;
    subject->look_wait_ns = CAIRN_SEEK_FIRST_NS;
    subject->mapped_bytes = 0;
    subject->threads_changed = true;
}

/* Its book. Fails: it stays what it was. */
static void read_schedstat(const struct cairn_worker *worker, struct cairn_proc_schedstat *book)
{
    int fd = worker->schedstat_fd;

    if (fd < 0 && worker->has_book)
        fd = cairn_proc_schedstat_open(worker->tid, worker->tid);
    if (fd >= 0)
        cairn_proc_schedstat_read(fd, book);
    if (fd != worker->schedstat_fd)
        cairn_io_close(&fd);
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

/* Descriptors first go to the clocks: those alone tell which threads need not be asked. */
static void open_files(struct cairn_worker *worker, pid_t pid)
{
    cairn_perf_clock_open(&worker->clock, worker->tid); /* fails: schedstat has to do */
    worker->schedstat_fd = cairn_proc_schedstat_open(pid, worker->tid);
    worker->wchan_fd = cairn_proc_wchan_open(pid, worker->tid);
    worker->has_book = worker->schedstat_fd >= 0 && worker->wchan_fd >= 0;
    worker->schedstat_fd = cairn_io_keep(worker->schedstat_fd, BOOK_FDS_PERCENT);
    worker->wchan_fd = cairn_io_keep(worker->wchan_fd, BOOK_FDS_PERCENT);
}

static int worker_add(struct cairn_subject *subject, pid_t tid, bool from_birth, uint64_t now_ns,
                      size_t at)
{
    struct cairn_proc_schedstat book = {0};
    struct cairn_worker *worker;

    CAIRN_TRY(cairn_vec_reserve(&subject->workers, subject->workers.count + 1, WORKERS_MAX));
    worker = cairn_calloc(1, sizeof(*worker));
    if (!worker)
        return -CAIRN_ENOMEM;
    worker->tid = worker->ns_tid = tid;
    cairn_wait_init(&worker->wait);
    if (!subject->same_namespace)
        cairn_proc_ns_tid(subject->pid, tid, &worker->ns_tid); /* fails: gone in a moment */
    open_files(worker, subject->pid);
    read_schedstat(worker, &book);
    worker->clock_base_ns = worker->book_ns = book.cpu_ns;
    worker->book_at_ns = worker->look_ns = worker->met_ns = now_ns;
    worker->cpu_ns = from_birth ? 0 : book.cpu_ns;
    worker->runq_ns = from_birth ? 0 : book.runq_ns;
    worker->turns = book.turns;
    worker->ran = true; /* look at it once */
    memmove(subject->workers.items + at + 1, subject->workers.items + at,
            (subject->workers.count - at) * sizeof(*subject->workers.items));
    subject->workers.items[at] = worker;
    subject->workers.count++;
    subject->remains.again = true;
    return 0;
}

/* Of those that came and went the last one may get a row yet (runs.h). Best effort: what is not
 * noted is kept. */
static void note_ended(struct cairn_subject *subject, uint32_t last, uint32_t track)
{
    uint32_t ended = subject->remains.track == track ? last : track;

    if (ended && cairn_vec_reserve(&subject->ended, subject->ended.count + 1, UINT32_MAX) == 0)
        subject->ended.items[subject->ended.count++] = ended;
}

static void worker_remove(struct cairn_subject *subject, size_t at,
                          void (*gone)(void *ctx, struct cairn_worker *worker), void *ctx)
{
    struct cairn_worker *worker = subject->workers.items[at];
    uint32_t last = subject->remains.track;

    /* Until 3.10 nothing in its state tells that another thread has taken it over: see join. */
    for (struct cairn_state *state = worker->states; state; state = state->next)
        state->py->wanted = true;
    cairn_states_release(worker);
    gone(ctx, worker);
    cairn_remains_of(subject, worker);
    note_ended(subject, last, worker->track);
    worker_free(worker);
    subject->workers.count--;
    memmove(subject->workers.items + at, subject->workers.items + at + 1,
            (subject->workers.count - at) * sizeof(*subject->workers.items));
}

int cairn_subject_scan(struct cairn_subject *subject, bool from_birth, uint64_t now_ns,
                       void (*gone)(void *ctx, struct cairn_worker *worker), void *ctx)
{
    struct cairn_pids tids = {0};
    size_t at = 0, i = 0;
    int code = cairn_proc_threads(subject->pid, &tids);

    /* Both lists ascend. */
    subject->threads_changed = false;
    while (code >= 0 && (i < tids.count || at < subject->workers.count)) {
        pid_t tid = i < tids.count ? tids.items[i] : 0;
        pid_t have = at < subject->workers.count ? subject->workers.items[at]->tid : 0;

        if (have && (!tid || have < tid) && cairn_proc_has_thread(subject->pid, have)) {
            subject->threads_changed = true; /* the list was cut short: look again */
            at++;
        } else if (have && (!tid || have < tid)) {
            worker_remove(subject, at, gone, ctx);
        } else if (tid && (!have || tid < have)) {
            code = worker_add(subject, tid, from_birth, now_ns, at++);
            i++;
        } else {
            at++;
            i++;
        }
    }
    cairn_vec_release(&tids);
    return code;
}

static struct cairn_worker *worker_of(const struct cairn_subject *subject, uint64_t ns_tid)
{
    for (size_t i = 0; i < subject->workers.count; i++)
        if ((uint64_t)subject->workers.items[i]->ns_tid == ns_tid)
            return subject->workers.items[i];
    return NULL;
}

int cairn_subject_join(struct cairn_subject *subject, uint64_t now_ns,
                       void (*gone)(void *ctx, struct cairn_worker *worker), void *ctx)
{
    size_t count;
    struct cairn_pythread *const *threads = cairn_pyread_threads(subject->py, &count);
    bool scanned = false;

    for (size_t i = 0; i < count; i++) {
        struct cairn_pythread *thread = threads[i];
        struct cairn_worker *worker;

        worker = cairn_states_worker(thread);
        if (worker && (uint64_t)worker->ns_tid != thread->native_id)
            cairn_states_drop(thread); /* another thread runs it now */
        if (thread->user || !thread->native_id)
            continue;
        worker = worker_of(subject, thread->native_id);
        if (!worker && !scanned) {
            CAIRN_TRY(cairn_subject_scan(subject, true, now_ns, gone, ctx));
            scanned = true;
            worker = worker_of(subject, thread->native_id);
        }
        if (!worker) {
            CAIRN_TRY(cairn_pyread_disown(subject->py, thread));
            worker = worker_of(subject, thread->native_id);
        }
        if (worker)
            CAIRN_TRY(cairn_states_add(worker, thread));
    }
    for (size_t i = 0; i < subject->workers.count; i++)
        cairn_states_choose(subject->workers.items[i]);
    return 0;
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

    read_schedstat(worker, &book);
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

/* As if it had run since the last look, as far as the book may lag. */
static uint64_t passed_total(const struct cairn_worker *worker, uint64_t book_ns, uint64_t now_ns)
{
    uint64_t passed_ns = worker->cpu_ns + (now_ns - worker->look_ns);
    uint64_t most_ns = worker->book_ns + book_lag_ns();

    if (passed_ns > most_ns)
        passed_ns = most_ns;
    return passed_ns > book_ns ? passed_ns : book_ns;
}

static void look_at_book(struct cairn_worker *worker, bool moved, uint64_t now_ns)
{
    struct cairn_proc_schedstat book = {worker->book_ns, worker->runq_ns, worker->turns};
    bool ran = worker->ran, stayed = stays(worker, moved, now_ns);
    uint64_t cpu_ns, passed_ns;

    if (!stayed || !worker->turns || now_ns - worker->read_ns >= READ_NS) {
        read_schedstat(worker, &book);
        worker->read_ns = now_ns;
        worker->turns = book.turns;
    }
    /* Who was given a processor has an exact book, of that moment, which may lag from then on. */
    if (book.cpu_ns != worker->book_ns || moved) {
        worker->book_ns = book.cpu_ns;
        worker->book_at_ns = now_ns;
    }
    cpu_ns = book.cpu_ns;
    if (worker->runs && is_young(worker) && (!stayed || now_ns - worker->clock_at_ns >= READ_NS))
        cpu_ns = clock_total(worker, cpu_ns, now_ns);
    else if (stayed && now_ns - worker->book_at_ns < book_lag_ns())
        cpu_ns = passed_total(worker, cpu_ns, now_ns);
    take_totals(worker, cpu_ns, book.runq_ns);
    passed_ns = now_ns - worker->look_ns;
    /* It lost its processor and has it again: if it never gave way, it wanted it all the time. */
    if (moved && ran && worker->runs &&
        worker->cpu_delta_ns + worker->runq_delta_ns + LOSS_NS < passed_ns)
        stayed = !gave_way(worker);
    settle_wait(worker, stayed, moved, passed_ns);
    worker->ran = worker->runs || worker->cpu_delta_ns > 0;
}

/* A thread that wants a processor and whose book has stood still for longer than it can lag has
 * none. Until it gets one its page does not move, and its stack is what it was: many such threads
 * must not cost what few that run do. The book is still read now and then, since a host that takes
 * a processor away stops the book of the thread that runs there, too. */
static void look_at_queued(struct cairn_worker *worker, bool moved, uint64_t now_ns)
{
    if (worker->queued && !moved && now_ns - worker->read_ns < QUEUED_READ_NS)
        settle_wait(worker, true, false, now_ns - worker->look_ns);
    else
        look_at_book(worker, moved, now_ns);
    worker->queued = worker->clock.page && !moved && worker->runs && !worker->cpu_delta_ns &&
                     now_ns - worker->book_at_ns >= book_lag_ns();
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

    forget_deltas(worker);
    worker->still = !active;
    if (active && worker->has_book)
        look_at_queued(worker, moved, now_ns);
    else if (active)
        look_at_clock(worker);
    if (moved || worker->cpu_delta_ns || !worker->still)
        worker->wait.seen = false;
    worker->look_ns = now_ns;
    return active && !(queued && worker->queued);
}

void cairn_worker_last_look(struct cairn_worker *worker, uint64_t now_ns)
{
    uint64_t since_ns, cpu_ns, most_ns = worker->cpu_ns + (now_ns - worker->look_ns);

    forget_deltas(worker);
    if (!worker->ran || !worker->clock.page || cairn_perf_clock_read(&worker->clock, &since_ns) < 0)
        return;
    cpu_ns = worker->clock_base_ns + since_ns;
    take_totals(worker, cpu_ns < most_ns ? cpu_ns : most_ns, worker->runq_ns);
}
