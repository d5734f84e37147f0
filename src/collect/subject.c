#include "subject.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "format.h"
#include "io.h"
#include "tasks.h"

#define WORKERS_MAX (1u << 20)
#define SAME_PART 64u
#define SAME_NS 20000000ull /* of one thread, clock and book are less apart */
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

uint8_t cairn_subject_birth(const struct cairn_subject *subject, struct cairn_subject *parent)
{
    struct cairn_proc_stat stat;

    if (parent && !parent->start_stack && cairn_proc_stat(parent->pid, 0, &stat) == 0)
        parent->start_stack = stat.start_stack;
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

/* What a new thread ran before its clock was opened, as old as it was then. One that has its first
 * turn still has it since it got a processor, which its book does not say before the kernel's next
 * tick. */
static uint64_t ran_before(const struct cairn_worker *worker,
                           const struct cairn_proc_schedstat *book, uint64_t lived_ns)
{
    uint64_t since_ns;

    if (book->turns == 1 && lived_ns > book->runq_ns + book->cpu_ns &&
        cairn_perf_clock_read(&worker->clock, &since_ns) == 0 && since_ns > 0)
        return lived_ns - book->runq_ns;
    return book->cpu_ns;
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
    cairn_worker_read_book(worker, &book);
    from_birth = from_birth && !cairn_remains_met_late(subject, &book);
    worker->clock_base_ns = worker->book_ns = book.cpu_ns;
    worker->book_at_ns = worker->look_ns = worker->met_ns = now_ns;
    worker->cpu_ns = from_birth ? 0 : book.cpu_ns;
    worker->runq_ns = from_birth ? 0 : book.runq_ns;
    worker->turns = book.turns;
    worker->ran = true; /* look at it once */
    if (from_birth && subject->born_ns && tid == subject->pid && worker->clock.page) {
        worker->clock_base_ns = ran_before(worker, &book, cairn_clock_mono_ns() - subject->born_ns);
        worker->cpu_ns = worker->cpu_carry_ns = worker->clock_base_ns;
    }
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

/* Whether the clock that was opened for the worker is that of the thread that bears its number now:
 * it says what that one's book does, which lags. */
static bool is_same_thread(const struct cairn_worker *worker)
{
    struct cairn_proc_schedstat book = {0};
    uint64_t clock_ns;

    if (!worker->clock.page || cairn_perf_clock_read(&worker->clock, &clock_ns) < 0)
        return true; /* all that is known is the book */
    cairn_worker_read_book(worker, &book);
    clock_ns += worker->clock_base_ns;
    /* The two begin and end a turn at moments of their own: the clock can be behind a little. */
    return book.cpu_ns <= clock_ns + clock_ns / SAME_PART && clock_ns < book.cpu_ns + SAME_NS;
}

int cairn_subject_renew_first(struct cairn_subject *subject, uint64_t now_ns,
                              void (*gone)(void *ctx, struct cairn_worker *worker), void *ctx)
{
    for (size_t at = 0; at < subject->workers.count; at++) {
        if (subject->workers.items[at]->tid != subject->pid)
            continue;
        if (is_same_thread(subject->workers.items[at]))
            return 0;
        worker_remove(subject, at, gone, ctx);
        CAIRN_TRY(worker_add(subject, subject->pid, false, now_ns, at));
        return 1;
    }
    return 0;
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
