#include "sampler.h"

#include <string.h>

#include "clock.h"
#include "doing.h"
#include "processes.h"
#include "runs.h"
#include "tasks.h"
#include "threadstack.h"
#include "tracks.h"

#define READ_POLLED_NS 50000000ull /* the runtime of a process in which nothing runs */
#define SCAN_POLLED_NS 20000000ull
#define KEPT_NS 5000000ull /* from a tick, by whoever stopped Cairn or took its processor */

static int keep_code(struct cairn_sampler *sampler, int code)
{
    return cairn_runs_keep_code(sampler, code);
}

static int label_location(struct cairn_writer *writer, const char *label, uint32_t *ret_location)
{
    struct cairn_location_def def = {.kind = CAIRN_LOC_LABEL};

    CAIRN_TRY(cairn_writer_str(writer, label, &def.ref));
    return cairn_writer_location(writer, &def, ret_location);
}

int cairn_sampler_init(struct cairn_sampler *sampler, struct cairn_writer *writer,
                       struct cairn_perf_watch *watch, bool follow_children, uint64_t quantum_ns)
{
    char boot_id[37];
    uint32_t native_loc;

    memset(sampler, 0, sizeof(*sampler));
    sampler->writer = writer;
    sampler->watch = watch;
    sampler->follow_children = follow_children;
    sampler->quantum_ns = quantum_ns;
    cairn_map_init(&sampler->gone, CAIRN_SAMPLER_GONE_MAX);
    CAIRN_TRY(cairn_pyfiles_init(&sampler->files));
    cairn_clock_boot_id(boot_id);
    CAIRN_TRY(cairn_writer_str(writer, boot_id, &sampler->boot_id));
    CAIRN_TRY(label_location(writer, "[torn]", &sampler->labels.torn));
    CAIRN_TRY(label_location(writer, "[truncated]", &sampler->labels.truncated));
    CAIRN_TRY(label_location(writer, "[unknown]", &sampler->labels.unknown));
    CAIRN_TRY(label_location(writer, "[cairn]", &sampler->labels.own));
    CAIRN_TRY(label_location(writer, "[not python]", &native_loc));
    CAIRN_TRY(cairn_writer_stack(writer, 0, sampler->labels.unknown, &sampler->unknown_stack));
    return cairn_writer_stack(writer, 0, native_loc, &sampler->native_stack);
}

void cairn_sampler_release(struct cairn_sampler *sampler)
{
    for (size_t i = 0; i < sampler->subjects.count; i++)
        cairn_subject_free(sampler->subjects.items[i]);
    cairn_vec_release(&sampler->subjects);
    cairn_map_release(&sampler->gone);
    cairn_pyfiles_release(&sampler->files);
}

static void count_status(struct cairn_sampler_stats *stats, enum cairn_pystack_status status)
{
    stats->torn += status == CAIRN_PYSTACK_TORN;
    stats->truncated += status == CAIRN_PYSTACK_TRUNCATED;
    stats->unreadable += status == CAIRN_PYSTACK_UNREADABLE;
}

/* Who waits for a processor over a whole tick shows it only when it gets one; where no later tick
 * will tell, its state does. */
static void ask_if_runnable(const struct cairn_sampler *sampler,
                            const struct cairn_subject *subject, struct cairn_worker *worker,
                            uint64_t now_ns)
{
    uint64_t span_ns = now_ns - sampler->last_ns;
    struct cairn_proc_stat stat;

    if (worker->cpu_delta_ns + worker->runq_delta_ns < span_ns &&
        cairn_proc_stat(subject->pid, worker->tid, &stat) == 0 && stat.state == 'R')
        worker->runq_delta_ns = span_ns - worker->cpu_delta_ns;
}

enum arrival {
    THERE,     /* when the stacks of its process were copied, or that is not known */
    MEANWHILE, /* it began at this tick, before they were copied */
    LATER,     /* it was not there yet */
};

static enum arrival arrival_of(const struct cairn_sampler *sampler,
                               const struct cairn_subject *subject,
                               const struct cairn_worker *worker, uint64_t now_ns)
{
    uint64_t birth_ns;

    if (!sampler->watch || !subject->read || worker->met_ns != now_ns)
        return THERE;
    birth_ns = cairn_perf_watch_birth_ns(sampler->watch, worker->tid);
    if (!birth_ns)
        return THERE;
    return birth_ns > cairn_pyread_copied_ns(subject->py) ? LATER : MEANWHILE;
}

/* What a thread of a process whose Python is read does; 0: it is not told, it came a moment ago, or
 * is a native thread that does not run. */
static uint32_t stack_of(struct cairn_sampler *sampler, const struct cairn_subject *subject,
                         struct cairn_worker *worker, uint64_t now_ns)
{
    bool fresh = worker->py && subject->read && worker->py->status != CAIRN_PYSTACK_NONE;
    enum arrival arrival = arrival_of(sampler, subject, worker, now_ns);
    uint32_t stack = worker->last_stack;

    if (arrival == LATER)
        return 0;
    if (arrival == MEANWHILE && fresh && worker->py->late)
        fresh = false; /* by then it had gone on */
    if (!worker->py && worker->tid != subject->pid && !cairn_remains_runs(worker))
        return 0; /* beside Python: counted while it runs */
    if (!worker->py || (!fresh && !stack && arrival == MEANWHILE)) {
        worker->last_status = CAIRN_PYSTACK_EMPTY;
        return sampler->native_stack;
    }
    if (fresh) {
        cairn_threadstack_judge(worker);
        if (keep_code(sampler, cairn_threadstack_write(sampler->writer, &sampler->labels, worker,
                                                       &stack)) < 0)
            return 0;
        if (worker->last_status == CAIRN_PYSTACK_EMPTY)
            stack = sampler->native_stack;
    }
    if (stack)
        count_status(&sampler->stats, worker->last_status);
    return stack;
}

static void sample_worker(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          struct cairn_worker *worker, uint64_t now_ns)
{
    bool stands_for_others = cairn_remains_wanted(subject, worker);
    struct cairn_run now = {0};
    uint32_t stack;

    if (!worker->track)
        return;
    if (subject->python == CAIRN_PYTHON_READ) {
        stack = stack_of(sampler, subject, worker, now_ns);
    } else {
        stack = subject->python == CAIRN_PYTHON_UNSUPPORTED ? sampler->unknown_stack
                                                            : sampler->native_stack;
        worker->last_status = CAIRN_PYSTACK_EMPTY;
    }
    if (!stack)
        return;
    cairn_remains_settle(subject, worker, stands_for_others, now_ns - sampler->last_ns);
    now.stack = stack;
    keep_code(sampler, cairn_doing_look(subject, worker, sampler->writer, now_ns, &now));
    cairn_runs_add(sampler, worker, now);
}

static bool has_newcomers(const struct cairn_subject *subject)
{
    for (size_t i = 0; i < subject->workers.count; i++)
        if (!subject->workers.items[i]->track)
            return true;
    return false;
}

/* They go into the recording, and get their names when Python has given them some. */
static void add_newcomers(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          uint64_t now_ns)
{
    if (!has_newcomers(subject))
        return;
    cairn_tracks_expect_names(subject, now_ns);
    keep_code(sampler, cairn_tracks_add_workers(sampler->writer, subject));
}

/* Whether it came while the others were read. */
static bool is_unseen(const struct cairn_worker *worker, uint64_t now_ns)
{
    return worker->met_ns == now_ns && !worker->asked_ns;
}

/* Of a process whose first thread is over another one that lives leads to its memory. */
static bool read_by_another(const struct cairn_subject *subject)
{
    struct cairn_proc_stat stat;

    if (cairn_proc_stat(subject->pid, 0, &stat) < 0 || stat.state != 'Z' || stat.is_over)
        return false;
    for (size_t i = 0; i < subject->workers.count; i++) {
        pid_t tid = subject->workers.items[i]->tid;

        if (tid != subject->pid && cairn_proc_has_thread(subject->pid, tid))
            return cairn_pyread_by_way_of(subject->py, tid);
    }
    return false;
}

/* Reads the stacks of a process with Python; false when the runtime is not there any more. */
static bool read_python(struct cairn_sampler *sampler, struct cairn_subject *subject)
{
    struct cairn_err err = {0};
    const struct cairn_pyread_stats before = *cairn_pyread_stats(subject->py);

    if (cairn_pyread_tick(subject->py, &err) == -CAIRN_EGONE &&
        (!read_by_another(subject) || cairn_pyread_tick(subject->py, &err) == -CAIRN_EGONE))
        return false;
    sampler->stats.reread += cairn_pyread_stats(subject->py)->reread - before.reread;
    sampler->stats.nameless += cairn_pyread_stats(subject->py)->nameless - before.nameless;
    return true;
}

/* Finds the workers of the threads that were read. */
static void join_python(struct cairn_sampler *sampler, struct cairn_subject *subject,
                        uint64_t now_ns)
{
    cairn_subject_join(subject, now_ns, cairn_runs_gone, sampler);
    for (size_t i = 0; i < subject->workers.count; i++)
        if (is_unseen(subject->workers.items[i], now_ns))
            cairn_worker_look(subject->workers.items[i], now_ns);
    add_newcomers(sampler, subject, now_ns);
    if (now_ns >= subject->names_at_ns)
        keep_code(sampler, cairn_tracks_read_names(sampler->writer, subject, now_ns));
}

/* In the middle of an exec a process has no command line; a moment later it has, which on a machine
 * that has much to do may be long. Some never have: they are asked ever more rarely. */
static void name_late(struct cairn_sampler *sampler, struct cairn_subject *subject, uint64_t now_ns)
{
    struct cairn_proc_stat stat;

    if (!subject->nameless || now_ns < subject->name_at_ns ||
        cairn_proc_stat(subject->pid, 0, &stat) < 0)
        return;
    subject->name_at_ns = now_ns + (now_ns - subject->exec_ns) / 2;
    if (stat.start_stack) /* who is over meanwhile has none */
        subject->start_stack = stat.start_stack;
    keep_code(sampler, cairn_processes_write(sampler, subject));
    keep_code(sampler, cairn_tracks_rename_workers(sampler->writer, subject));
}

/* Whether what was read last is all that can be had while the thread does not get a processor. */
static bool is_read(const struct cairn_worker *worker)
{
    return worker->queued && worker->last_stack &&
           (worker->last_status == CAIRN_PYSTACK_OK || worker->last_status == CAIRN_PYSTACK_EMPTY);
}

static void want(struct cairn_worker *worker, bool wanted)
{
    for (struct cairn_state *state = worker->states; state; state = state->next) {
        state->py->wanted = wanted;
        state->py->still = worker->still;
    }
}

/* Brings the workers up to now; true when the runtime is to be read: a stack may have changed, a
 * thread may have come. */
static bool look_at_workers(struct cairn_sampler *sampler, struct cairn_subject *subject,
                            bool *ret_ran, uint64_t now_ns)
{
    bool wanted =
        now_ns >= subject->read_at_ns && cairn_spare_has(&sampler->spare, CAIRN_SPARE_RUNTIME);

    *ret_ran = false;
    for (size_t i = 0; i < subject->workers.count; i++) {
        struct cairn_worker *worker = subject->workers.items[i];
        bool active;

        if (subject->remains.open)
            worker->read_ns = 0; /* its book is to be read now */
        active = cairn_worker_look(worker, now_ns);
        if (worker->put_off) {
            sampler->put_off_pid = subject->pid;
            sampler->put_off_tid = worker->tid;
        }
        *ret_ran = *ret_ran || worker->cpu_delta_ns;
        /* A short turn may have been counted ahead: only its entry in the book shows it. */
        subject->ran = subject->ran || *ret_ran || worker->book_at_ns == now_ns;
        wanted = wanted || active;
        if (!worker->py)
            continue;
        worker->settled = worker->settled && !active;
        want(worker, !worker->settled && (active || !is_read(worker)));
        wanted = wanted || worker->py->wanted;
    }
    if (wanted)
        subject->read_at_ns = now_ns + (sampler->watch ? CAIRN_SAMPLER_WATCHED_NS : READ_POLLED_NS);
    return wanted;
}

/* A record of an exit comes before the thread is gone: it may be put off its processor in between.
 */
static bool is_exiting(const struct cairn_subject *subject)
{
    for (size_t i = 0; i < subject->workers.count; i++)
        if (subject->workers.items[i]->tid == subject->exiting_tid)
            return true;
    return false;
}

/* Lists the threads anew. False when the process is over; what cannot be asked now (no descriptor,
 * no memory) is asked again. */
static bool scan(struct cairn_sampler *sampler, struct cairn_subject *subject, uint64_t now_ns)
{
    struct cairn_proc_stat stat;
    uint64_t begun_cpu_ns = cairn_clock_own_cpu_ns();
    bool exiting, complete;
    int code = cairn_proc_stat(subject->pid, 0, &stat);

    if (code == 0 && (stat.is_over || stat.start_ns != subject->start_ns))
        return false;
    subject->first_over = code == 0 && stat.state == 'Z';
    if (code == 0)
        code = cairn_subject_scan(subject, true, now_ns, cairn_runs_gone, sampler);
    if (code == -CAIRN_EGONE)
        return false;
    complete = code >= 0 && !subject->threads_changed;
    exiting = is_exiting(subject);
    /* Behind a first thread that is over the others may be about to be. */
    subject->threads_changed |=
        code >= 0 && ((exiting && now_ns < subject->exiting_until_ns) || subject->first_over);
    subject->scan_at_ns = cairn_clock_again(
        now_ns, begun_cpu_ns,
        code == 0 && sampler->watch && !exiting ? CAIRN_SAMPLER_WATCHED_NS : SCAN_POLLED_NS,
        CAIRN_SAMPLER_LOOK_PART);
    if (!complete)
        subject->remains.open = false; /* there may be threads whose books are not known */
    if (code < 0)
        return true;
    if (!subject->start_stack)
        subject->start_stack = stat.start_stack;
    if (stat.start_stack && stat.start_stack != subject->start_stack)
        cairn_processes_exec(sampler, subject, &stat, now_ns); /* no record told */
    add_newcomers(sampler, subject, now_ns);
    return true;
}

static void look_for_python(struct cairn_sampler *sampler, struct cairn_subject *subject,
                            uint64_t now_ns)
{
    name_late(sampler, subject, now_ns);
    if (!cairn_subject_seek(subject, &sampler->files, now_ns))
        return;
    if (subject->python == CAIRN_PYTHON_READ)
        cairn_processes_add_python(sampler, subject, now_ns);
    if (subject->python == CAIRN_PYTHON_UNSUPPORTED)
        cairn_processes_refuse(sampler, subject);
}

/* Looks at who is there and reads what they do; *scans: the threads are listed, too. Where Python
 * is read that comes last: it takes several times as long as a read, and a new thread that was read
 * that much later than those that are known would be met where it has not begun at the tick. False
 * when the process is over. */
static bool look(struct cairn_sampler *sampler, struct cairn_subject *subject, bool scans,
                 uint64_t now_ns)
{
    bool first = scans && subject->python != CAIRN_PYTHON_READ, anything_ran, gone;

    if (first && !scan(sampler, subject, now_ns))
        return false;
    look_for_python(sampler, subject, now_ns);
    subject->read = look_at_workers(sampler, subject, &anything_ran, now_ns) || scans;
    gone = subject->python == CAIRN_PYTHON_READ && subject->read && !read_python(sampler, subject);
    if (scans && !first && !scan(sampler, subject, now_ns))
        return false;
    cairn_subject_look_if_stopped(subject, anything_ran, sampler->subjects.count, now_ns);
    if (gone && subject->python == CAIRN_PYTHON_READ) {
        keep_code(sampler, cairn_tasks_end(subject, sampler->writer));
        cairn_subject_restart(subject, now_ns);
        subject->look_at_ns = now_ns + subject->look_wait_ns;
    } else if (subject->python == CAIRN_PYTHON_READ && subject->read) {
        join_python(sampler, subject, now_ns);
    }
    return true;
}

/* The first thread's number is the process', and stays in the list with it. */
static bool is_over(const struct cairn_subject *subject, const struct cairn_worker *worker)
{
    return subject->first_over && worker->tid == subject->pid;
}

/* True while the process is there. */
static bool tick_subject(struct cairn_sampler *sampler, struct cairn_subject *subject,
                         uint64_t now_ns)
{
    bool scans =
        subject->threads_changed ||
        (now_ns >= subject->scan_at_ns && cairn_spare_has(&sampler->spare, CAIRN_SPARE_THREADS));

    cairn_remains_open(subject, scans);
    if (!look(sampler, subject, scans, now_ns))
        return false;
    cairn_remains_close(subject);
    for (size_t i = 0; i < subject->workers.count; i++) {
        if (is_over(subject, subject->workers.items[i]))
            continue;
        if (sampler->single)
            ask_if_runnable(sampler, subject, subject->workers.items[i], now_ns);
        sample_worker(sampler, subject, subject->workers.items[i], now_ns);
    }
    cairn_runs_of_missed(sampler, subject, now_ns - sampler->last_ns);
    cairn_tracks_end_workers(sampler->writer, subject);
    if (!sampler->single)
        keep_code(sampler, cairn_tasks_look(subject, sampler->writer, &sampler->labels, now_ns));
    return true;
}

/* Of a process that is gone. What it did while Cairn was kept from this tick has no room in it, but
 * in the next, which comes late. */
static bool ends_later(struct cairn_subject *subject, uint64_t now_ns)
{
    if (subject->ending || cairn_clock_mono_ns() - now_ns < KEPT_NS)
        return false;
    subject->ending = true;
    subject->threads_changed = true;
    return true;
}

int cairn_sampler_tick(struct cairn_sampler *sampler, uint64_t number, uint64_t now_ns)
{
    CAIRN_TRY(cairn_writer_tick(sampler->writer, number, now_ns));
    sampler->stats.ticks++;
    sampler->put_off_tid = 0;
    cairn_spare_begin(&sampler->spare, now_ns);
    cairn_processes_find(sampler, now_ns);
    for (size_t i = 0; i < sampler->subjects.count;) {
        if (tick_subject(sampler, sampler->subjects.items[i], now_ns) ||
            ends_later(sampler->subjects.items[i], now_ns))
            i++;
        else
            cairn_processes_remove(sampler, i);
    }
    sampler->last_ns = now_ns;
    return sampler->code;
}

void cairn_sampler_end(struct cairn_sampler *sampler, pid_t pid, uint64_t process_ns,
                       uint64_t number, uint64_t now_ns)
{
    size_t at = 0;

    while (at < sampler->subjects.count && sampler->subjects.items[at]->pid != pid)
        at++;
    if (at == sampler->subjects.count)
        return;
    /* Fails: the chunk is full, and holds what went before. */
    sampler->stats.ticks += cairn_writer_tick(sampler->writer, number, now_ns) == 0;
    sampler->subjects.items[at]->remains.end_ns = process_ns;
    cairn_processes_remove(sampler, at);
}

int cairn_sampler_settle(struct cairn_sampler *sampler)
{
    const struct cairn_sampler_stats *stats = &sampler->stats;
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        {"ticks", stats->ticks},
        {"samples", stats->samples},
        {"torn", stats->torn},
        {"truncated", stats->truncated},
        {"unreadable", stats->unreadable},
        {"missed", stats->missed},
        {"reread", stats->reread},
        {"nameless", stats->nameless},
        {"unseen", stats->unseen},
        {"records_lost", stats->records_lost},
        {"untold_cpu_ns", stats->untold_ns},
        {"own_cpu_ns", cairn_clock_own_cpu_ns()},
    };

    for (size_t i = 0; i < sampler->subjects.count; i++) {
        for (size_t k = 0; k < sampler->subjects.items[i]->workers.count; k++)
            cairn_runs_close(sampler, sampler->subjects.items[i]->workers.items[k]);
        keep_code(sampler, cairn_tasks_settle(sampler->subjects.items[i], sampler->writer));
    }
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        keep_code(sampler,
                  cairn_writer_counter(sampler->writer, counters[i].name, counters[i].value));
    return sampler->code;
}

bool cairn_sampler_alive(const struct cairn_sampler *sampler)
{
    return sampler->subjects.count > 0;
}

bool cairn_sampler_has_idle_runtime(const struct cairn_sampler *sampler)
{
    for (size_t i = 0; i < sampler->subjects.count; i++)
        if (sampler->subjects.items[i]->python == CAIRN_PYTHON_SOUGHT &&
            sampler->subjects.items[i]->site.address)
            return true;
    return false;
}
