#include "processes.h"

#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "runs.h"

#define SUBJECTS_MAX 65536
#define POLL_NS 10000000ull       /* children, without records from the kernel */
#define GONE_DEPTH 16             /* forks in a row whose makers are gone */
#define CLOCK_TICK_NS 10000000ull /* births are told in steps of it */
#define EXITING_NS 100000000ull   /* the first thread of a process may be a zombie for good */

static struct cairn_subject *subject_of(const struct cairn_sampler *sampler, pid_t pid)
{
    for (size_t i = 0; i < sampler->subjects.count; i++)
        if (sampler->subjects.items[i]->pid == pid)
            return sampler->subjects.items[i];
    return NULL;
}

int cairn_processes_write(struct cairn_sampler *sampler, struct cairn_subject *subject)
{
    struct cairn_subject *parent = subject_of(sampler, subject->parent);

    if (!subject->birth)
        subject->birth = cairn_subject_birth(subject, parent);
    if (parent)
        parent->has_children = true;
    return cairn_tracks_process(sampler->writer, sampler->boot_id, parent ? parent->track : 0,
                                subject);
}

void cairn_processes_add_python(struct cairn_sampler *sampler, struct cairn_subject *subject,
                                uint64_t now_ns)
{
    sampler->stats.pythons++;
    if (sampler->met != NULL)
        sampler->met(sampler->met_ctx, subject);
    cairn_runs_keep_code(
        sampler, cairn_tracks_add_python(sampler->writer, &sampler->pythons, subject, now_ns));
}

/* Of one that was met by its record the kernel's records tell what it makes and whether it is over,
 * as they did from its birth on: the looks beside them have time. */
static void rest_looks(struct cairn_subject *subject, uint64_t now_ns)
{
    subject->children_at_ns = now_ns + CAIRN_SAMPLER_WATCHED_NS;
    if (!subject->threads_changed && subject->start_stack)
        subject->scan_at_ns = now_ns + CAIRN_SAMPLER_WATCHED_NS;
}

static int add(struct cairn_sampler *sampler, pid_t pid, pid_t parent, bool from_birth,
               uint64_t born_ns, uint64_t now_ns)
{
    struct cairn_subject *subject;

    if (subject_of(sampler, pid) || pid == getpid()) /* attached to the shell we run in */
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&sampler->subjects, sampler->subjects.count + 1, SUBJECTS_MAX));
    CAIRN_TRY(cairn_subject_new(pid, now_ns, &subject));
    if (parent)
        subject->parent = parent;
    subject->born_ns = born_ns;
    from_birth = from_birth && subject->start_ns + CLOCK_TICK_NS > sampler->since_ns;
    sampler->subjects.items[sampler->subjects.count++] = subject;
    sampler->stats.processes++;
    CAIRN_TRY(cairn_runs_keep_code(sampler, cairn_processes_write(sampler, subject)));
    CAIRN_TRY(cairn_subject_scan(subject, from_birth, now_ns, cairn_runs_gone, sampler));
    if (born_ns)
        rest_looks(subject, now_ns);
    if (!from_birth)
        cairn_remains_attach(subject);
    cairn_runs_keep_code(sampler, cairn_tracks_add_workers(sampler->writer, subject));
    if (cairn_subject_copy(subject, subject_of(sampler, subject->parent)))
        cairn_processes_add_python(sampler, subject, now_ns);
    return sampler->code;
}

int cairn_processes_add(struct cairn_sampler *sampler, pid_t pid, pid_t parent, bool from_birth,
                        uint64_t now_ns)
{
    return add(sampler, pid, parent, from_birth, 0, now_ns);
}

void cairn_processes_refuse(struct cairn_sampler *sampler, const struct cairn_subject *subject)
{
    const char *text = subject->why.text;

    if (sampler->unsupported.code)
        return;
    sampler->unsupported = subject->why;
    cairn_runs_keep_code(
        sampler, cairn_writer_env(sampler->writer, "target.refused",
                                  (struct cairn_span){(const uint8_t *)text, strlen(text)}));
}

/* It cannot be asked again whether its Python fits. */
static void give_up(struct cairn_sampler *sampler, const struct cairn_subject *subject)
{
    if (subject->python == CAIRN_PYTHON_SOUGHT && subject->misfit_ns)
        cairn_processes_refuse(sampler, subject);
}

/* Best effort: a record of a fork may be read when its maker is over. */
static void note_gone(struct cairn_sampler *sampler, pid_t pid, pid_t maker)
{
    if (sampler->gone.count == CAIRN_SAMPLER_GONE_MAX)
        cairn_map_clear(&sampler->gone);
    cairn_map_put(&sampler->gone, (uint64_t)pid, 0, (uint64_t)maker);
}

void cairn_processes_remove(struct cairn_sampler *sampler, size_t at)
{
    struct cairn_subject *subject = sampler->subjects.items[at];

    cairn_runs_end(sampler, subject);
    cairn_runs_keep_code(sampler, cairn_tasks_end(subject, sampler->writer));
    give_up(sampler, subject);
    cairn_tasks_end_tracks(subject, sampler->writer);
    cairn_tracks_end(sampler->writer, subject);
    note_gone(sampler, subject->pid, subject->parent);
    cairn_subject_free(subject);
    sampler->subjects.count--;
    memmove(sampler->subjects.items + at, sampler->subjects.items + at + 1,
            (sampler->subjects.count - at) * sizeof(*sampler->subjects.items));
}

/* Whether it goes on beside the new program, as what a script starts in the background. */
static bool has_living_children(const struct cairn_sampler *sampler, pid_t pid)
{
    struct cairn_proc_stat stat;

    for (size_t i = 0; i < sampler->subjects.count; i++)
        if (sampler->subjects.items[i]->parent == pid &&
            cairn_proc_stat(sampler->subjects.items[i]->pid, 0, &stat) == 0 && !stat.is_over)
            return true;
    return false;
}

void cairn_processes_exec(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          const struct cairn_proc_stat *stat, uint64_t now_ns)
{
    cairn_runs_keep_code(sampler, cairn_tasks_end(subject, sampler->writer));
    if (!has_living_children(sampler, subject->pid))
        cairn_tracks_exec(subject);
    cairn_subject_restart(subject, now_ns);
    /* Which of its threads goes on under the process' number? One that ends goes on no more: what
     * its end takes is in its book and not in its clock, and what it ran is not to be forgotten. */
    if (!stat->is_ending) {
        bool several = subject->workers.count > 1;
        int renewed = cairn_subject_renew_first(subject, now_ns, cairn_runs_gone, sampler);

        cairn_runs_keep_code(sampler, renewed);
        if (several || renewed > 0)
            cairn_remains_forget(subject);
    }
    subject->first_over = false;
    subject->birth = CAIRN_BIRTH_EXEC;
    subject->exec_ns = subject->name_at_ns = now_ns;
    subject->start_stack = stat->start_stack;
    cairn_runs_keep_code(sampler, cairn_processes_write(sampler, subject));
    cairn_runs_keep_code(sampler, cairn_tracks_rename_workers(sampler->writer, subject));
    cairn_runs_keep_code(sampler, cairn_tracks_add_workers(sampler->writer, subject));
}

/* Whom a new process belongs to: a daemon, whose maker was over at once, to who made that one. 0 of
 * a new thread. */
static pid_t maker_of(const struct cairn_sampler *sampler, const struct cairn_perf_event *event)
{
    uint64_t maker = (uint64_t)event->ppid;

    if (event->ppid == event->pid)
        return 0;
    for (int i = 0; i < GONE_DEPTH && !subject_of(sampler, (pid_t)maker); i++)
        if (!cairn_map_get(&sampler->gone, maker, 0, &maker))
            break;
    return (pid_t)maker;
}

/* A process was born under the number of one that is gone: that one goes first. */
static void on_fork(struct cairn_sampler *sampler, const struct cairn_perf_event *event,
                    uint64_t now_ns)
{
    const bool is_process = event->ppid != event->pid;
    size_t at = 0;

    while (at < sampler->subjects.count && sampler->subjects.items[at]->pid != event->pid)
        at++;
    if (at < sampler->subjects.count && is_process &&
        event->time_ns > sampler->subjects.items[at]->seen_ns)
        cairn_processes_remove(sampler, at);
    else if (at < sampler->subjects.count)
        sampler->subjects.items[at]->threads_changed = true;
    /* One that goes while its threads are listed was seen: it is in the recording already. */
    if (sampler->follow_children &&
        add(sampler, event->pid, maker_of(sampler, event), true, is_process ? event->time_ns : 0,
            now_ns) < 0 &&
        is_process && !subject_of(sampler, event->pid)) {
        sampler->stats.unseen++;
        note_gone(sampler, event->pid, event->ppid);
    }
}

static void on_event(struct cairn_sampler *sampler, const struct cairn_perf_event *event,
                     uint64_t now_ns)
{
    struct cairn_subject *subject = subject_of(sampler, event->pid);
    struct cairn_proc_stat stat;

    switch (event->kind) {
    case CAIRN_PERF_FORK:
        on_fork(sampler, event, now_ns);
        break;
    case CAIRN_PERF_EXEC:
        if (!subject && sampler->follow_children)
            cairn_processes_add(sampler, event->pid, 0, true, now_ns); /* fails: gone already */
        else if (subject && cairn_proc_stat(subject->pid, 0, &stat) == 0)
            cairn_processes_exec(sampler, subject, &stat, now_ns);
        break;
    case CAIRN_PERF_NAME:
        if (subject)
            cairn_runs_keep_code(sampler, cairn_tracks_name_worker(sampler->writer, subject,
                                                                   event->tid, event->name));
        break;
    case CAIRN_PERF_EXIT:
        if (subject) {
            subject->threads_changed = true;
            subject->exiting_tid = event->tid;
            subject->exiting_until_ns = now_ns + EXITING_NS;
        }
        break;
    case CAIRN_PERF_LOST:
        sampler->stats.records_lost += event->lost;
        break;
    }
}

/* There may be children and threads of which no record tells. */
static void look_at_all(struct cairn_sampler *sampler)
{
    for (size_t i = 0; i < sampler->subjects.count; i++) {
        sampler->subjects.items[i]->threads_changed = true;
        sampler->subjects.items[i]->ran = true;
        sampler->subjects.items[i]->children_at_ns = 0;
    }
}

void cairn_processes_read_records(struct cairn_sampler *sampler, uint64_t now_ns)
{
    const uint64_t lost = sampler->stats.records_lost;
    struct cairn_perf_event event;

    while (sampler->watch && cairn_perf_watch_next(sampler->watch, &event))
        on_event(sampler, &event, now_ns);
    if (sampler->stats.records_lost != lost)
        look_at_all(sampler);
}

/* Whether a child that is listed was met before, and is over: nobody has waited for it yet. */
static bool was_met(const struct cairn_sampler *sampler, pid_t pid)
{
    struct cairn_proc_stat stat;
    uint64_t ignored;

    return subject_of(sampler, pid) || (cairn_map_get(&sampler->gone, (uint64_t)pid, 0, &ignored) &&
                                        cairn_proc_stat(pid, 0, &stat) == 0 && stat.is_over);
}

/* Only who ran can have made a child; without schedstat nobody knows who did. */
static void poll_children(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          uint64_t now_ns)
{
    uint64_t wait_ns = sampler->watch ? CAIRN_SAMPLER_WATCHED_NS : POLL_NS, begun_cpu_ns;
    struct cairn_pids pids = {0};
    pid_t pid = subject->pid;
    bool more = false;

    subject->children_at_ns = now_ns + wait_ns;
    if (!subject->ran && subject->workers.count && subject->workers.items[0]->has_book)
        return;
    subject->ran = false;
    begun_cpu_ns = cairn_clock_own_cpu_ns();
    if (cairn_proc_children(pid, &pids) < 0)
        pids.count = 0;
    /* Who is listed has a record, or has not run yet. It is read first: read after a child that was
     * met here is gone again, it would tell of another, who was not seen. */
    if (pids.count)
        cairn_processes_read_records(sampler, now_ns);
    for (size_t i = 0; i < pids.count; i++) {
        if (was_met(sampler, pids.items[i]))
            continue;
        more = !cairn_spare_has(&sampler->spare, CAIRN_SPARE_CHILD);
        if (more)
            break;
        cairn_processes_add(sampler, pids.items[i], pid, true, now_ns); /* fails: gone already */
    }
    cairn_vec_release(&pids);
    subject = subject_of(sampler, pid); /* a record may have told of another with its number */
    if (!subject)
        return;
    subject->ran |= more; /* it is asked again */
    subject->children_at_ns =
        cairn_clock_again(now_ns, begun_cpu_ns, more ? 0 : wait_ns, CAIRN_SAMPLER_LOOK_PART);
}

void cairn_processes_find(struct cairn_sampler *sampler, uint64_t now_ns)
{
    cairn_processes_read_records(sampler, now_ns);
    for (size_t i = 0; sampler->follow_children && i < sampler->subjects.count; i++)
        if (now_ns >= sampler->subjects.items[i]->children_at_ns)
            poll_children(sampler, sampler->subjects.items[i], now_ns);
}

void cairn_processes_give_up(struct cairn_sampler *sampler)
{
    for (size_t i = 0; i < sampler->subjects.count; i++)
        give_up(sampler, sampler->subjects.items[i]);
}
