#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apart.h"
#include "clock.h"
#include "environment.h"
#include "format.h"
#include "io.h"
#include "processes.h"
#include "rng.h"
#include "sampler.h"
#include "urgency.h"

#define FLUSH_NS 1000000000ull
#define ANCHOR_NS 60000000000ull
#define PENDING_MAX_BYTES (4u << 20)
#define QUANTUM_MAX_RATE_NS 64 /* without a mean interval to take a part of */
#define TARGET_FIRST_NS 30000000ull
#define ATTACH_PATIENCE_NS 1000000000ull /* how long an attached process may take to be Python */
#define WRITER_ID 1

struct session {
    const struct cairn_session_options *options;
    struct cairn_session_result *result;
    struct cairn_err *err;
    struct cairn_sink *sink;
    struct cairn_writer *writer;
    struct cairn_perf_watch *watch;
    struct cairn_sampler sampler;
    struct cairn_urgency urgency;
    struct cairn_apart apart;
    struct rlimit files; /* how many may be open, as it was; 0: not changed */
    bool made; /* the file, by us: nobody else's is taken away when nothing was recorded */
    pid_t root;
    uint64_t seed, start_ns, due_ns, tick;
    uint64_t flush_at_ns, anchor_at_ns;
    uint64_t target_at_ns, target_wait_ns; /* when to look at the target's environment again */
    uint64_t peak_bytes;                   /* attached: as last seen */
    bool began;                            /* the first sample has been taken */
};

static int env_number(struct session *s, const char *key, uint64_t value)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%" PRIu64, value);

    return cairn_writer_env(s->writer, key,
                            (struct cairn_span){(const uint8_t *)text, (size_t)length});
}

static int env_text(struct session *s, const char *key, const char *value)
{
    return cairn_writer_env(s->writer, key,
                            (struct cairn_span){(const uint8_t *)value, strlen(value)});
}

static int fail(struct session *s, int code, const char *what)
{
    return cairn_err_set(s->err, code, 0, "session", "%s: %s", what, cairn_err_sentence(code));
}

static int open_recording(struct session *s)
{
    const struct cairn_session_options *o = s->options;
    struct cairn_sink_options sink = {.path = o->path,
                                      .owner = o->owner,
                                      .force = o->force,
                                      .sync = o->sync,
                                      .rotate_bytes = o->rotate_bytes};
    struct cairn_writer_options writer = {
        .id = WRITER_ID, .role = "collector", .pid = (uint64_t)getpid()};
    struct cairn_proc_stat self;
    int code;

    CAIRN_TRY(cairn_sink_open(&sink, &s->sink, s->err));
    s->made = o->path && cairn_sink_made(s->sink);
    if (cairn_proc_stat(getpid(), 0, &self) == 0)
        writer.start_ns = self.start_ns;
    code = cairn_writer_open(s->sink, &writer, &s->writer);
    return code < 0 ? fail(s, code, "cannot begin the recording") : 0;
}

static int write_head(struct session *s)
{
    const struct cairn_session_options *o = s->options;

    CAIRN_TRY(cairn_writer_clock(s->writer));
    CAIRN_TRY(cairn_environment_host(s->writer));
    CAIRN_TRY(env_text(s, "run.mode", o->argv ? "run" : "attach"));
    if (o->run_as_shown)
        CAIRN_TRY(env_text(s, "run.command", o->run_as_shown));
    CAIRN_TRY(env_text(s, "run.children",
                       !o->follow_children ? "off"
                       : s->watch          ? "perf"
                                           : "poll"));
    CAIRN_TRY(env_number(s, "sampler.interval_ns", o->interval_ns));
    return env_number(s, "sampler.seed", s->seed);
}

static uint64_t quantum_of(uint64_t interval_ns)
{
    return interval_ns >= 64 ? interval_ns / 64 : QUANTUM_MAX_RATE_NS;
}

/* Every thread that is watched takes some descriptors. The program does not get them: it
 * is forked before. */
static void raise_file_limit(struct session *s)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &s->files) < 0 || s->files.rlim_cur >= s->files.rlim_max)
        s->files.rlim_cur = 0;
    most = (struct rlimit){s->files.rlim_max, s->files.rlim_max};
    if (s->files.rlim_cur && setrlimit(RLIMIT_NOFILE, &most) < 0)
        s->files.rlim_cur = 0;
}

static void tell_met(void *ctx, const struct cairn_subject *subject)
{
    const struct session *s = ctx;

    if ((subject->pid == s->root || subject->birth == CAIRN_BIRTH_EXEC) && subject->same_namespace)
        s->options->met(s->options->met_ctx, subject->pid, subject->start_ns);
}

/* Everything up to the moment before the program may start. */
static int prepare(struct session *s)
{
    const struct cairn_session_options *o = s->options;
    int code;

    s->result->fd = -1;
    s->seed = o->seed ? o->seed : cairn_rng_seed();
    if (!o->argv && kill(o->pid, 0) < 0 && errno == ESRCH)
        return cairn_err_set(s->err, -CAIRN_EGONE, 0, "attach", "there is no process %d",
                             (int)o->pid);
    CAIRN_TRY(open_recording(s));
    CAIRN_TRY(cairn_launch_open(&s->result->launch, o->argv, o->owner, s->err));
    raise_file_limit(s);
    s->root = o->argv ? s->result->launch.pid : o->pid;
    if (o->follow_children && cairn_perf_watch_open(s->root, &s->watch) < 0)
        s->watch = NULL; /* polling has to do, and the report says so */
    code = cairn_sampler_init(&s->sampler, s->writer, s->watch, o->follow_children,
                              quantum_of(o->interval_ns));
    s->sampler.single = o->max_ticks == 1;
    s->sampler.since_ns = o->argv ? 0 : cairn_clock_boot_ns();
    /* Without records lists are the only source: they do not wait. */
    cairn_spare_init(&s->sampler.spare,
                     s->sampler.single || !s->watch ? UINT64_MAX : o->interval_ns);
    if (o->met != NULL) {
        s->sampler.met = tell_met;
        s->sampler.met_ctx = s;
    }
    if (code >= 0)
        code = write_head(s);
    return code < 0 ? fail(s, code, "cannot begin the recording") : 0;
}

/* Waiting for a process clears its entries in /proc away, which spins where one of its threads is
 * in the middle of that and was put off its processor: whoever goes first then keeps that thread
 * from it for as long as the kernel lets him, 0.95 s. */
static void step_back(void *ctx)
{
    struct session *s = ctx;

    cairn_urgency_restore(&s->urgency);
}

static int start(struct session *s)
{
    const struct cairn_session_options *o = s->options;
    uint64_t now_ns = cairn_clock_mono_ns();
    int code;

    s->result->launch.ends = step_back;
    s->result->launch.ends_ctx = s;
    s->start_ns = s->due_ns = now_ns;
    s->tick = 0;
    code = cairn_processes_add(&s->sampler, s->root, 0, o->argv != NULL, now_ns);
    if (code == -CAIRN_EGONE)
        return cairn_err_set(s->err, code, 0, "attach", "there is no process %d", (int)s->root);
    if (code < 0)
        return fail(s, code, "cannot observe the process");
    if (o->argv)
        CAIRN_TRY(cairn_launch_release(&s->result->launch, s->err));
    s->start_ns = s->due_ns = s->sampler.last_ns = cairn_clock_mono_ns();
    s->due_ns += cairn_tick_interval(s->seed, 1, o->interval_ns);
    s->flush_at_ns = s->start_ns + (o->flush_ns ? o->flush_ns : FLUSH_NS);
    s->anchor_at_ns = s->start_ns + ANCHOR_NS;
    s->target_wait_ns = TARGET_FIRST_NS;
    s->target_at_ns = s->start_ns + TARGET_FIRST_NS;
    code = cairn_writer_schedule(s->writer, s->seed, o->interval_ns, quantum_of(o->interval_ns), 1,
                                 s->due_ns, s->start_ns);
    return code < 0 ? fail(s, code, "cannot begin the recording") : 0;
}

static int flush(struct session *s, uint16_t kind, uint64_t now_ns)
{
    int code = cairn_sampler_settle(&s->sampler);

    if (code >= 0 && now_ns >= s->anchor_at_ns) {
        s->anchor_at_ns = now_ns + ANCHOR_NS;
        code = cairn_writer_clock(s->writer);
    }
    if (code < 0)
        return fail(s, code, "cannot go on recording");
    cairn_proc_peak_bytes(s->root, &s->peak_bytes); /* fails: gone, the last value holds */
    s->flush_at_ns = now_ns + (s->options->flush_ns ? s->options->flush_ns : FLUSH_NS);
    code = cairn_writer_flush(s->writer, kind, s->err);
    if (code == 0)
        s->result->recorded_ns = now_ns - s->start_ns;
    return code;
}

/* There is a Python that cannot be read: which, and what could be. */
static int tell_unreadable(struct session *s)
{
    const struct cairn_err *why = &s->sampler.unsupported;

    if (!s->err)
        return why->code;
    *s->err = *why;
    if (why->code == -CAIRN_EUNSUPPORTED)
        cairn_err_add(s->err, "It reads release builds of CPython 3.8 to 3.15.\n"
                              "Use one of those: `cairn run --python PATH ...`.");
    return why->code;
}

static int tell_no_python(struct session *s)
{
    int pid = (int)s->root;

    if (!cairn_sampler_alive(&s->sampler))
        return cairn_err_set(s->err, -CAIRN_ENOTPYTHON, 0, "attach",
                             "process %d is over, and no Python was seen in it or in a child of it",
                             pid);
    return cairn_err_set(s->err, -CAIRN_ENOTPYTHON, 0, "attach",
                         "process %d runs no Python, nor does a child of it\n%s", pid,
                         cairn_sampler_has_idle_runtime(&s->sampler)
                             ? "a Python runtime is mapped there, and not initialised"
                             : "no Python runtime is mapped in it; give the pid of the "
                               "interpreter");
}

/* Attached to what turns out not to be readable: says so as soon as that is known, and at the end
 * (`last`) of what was shorter than that took. */
static int judge_attached(struct session *s, bool last, uint64_t now_ns)
{
    if (s->options->argv || s->sampler.stats.pythons)
        return 0;
    if (last)
        cairn_processes_give_up(&s->sampler);
    if (s->sampler.unsupported.code)
        return tell_unreadable(s);
    if (!last && now_ns - s->start_ns < ATTACH_PATIENCE_NS)
        return 0;
    return tell_no_python(s);
}

/* Moves on to the next tick that is not over at that time: now, or when a rest is. */
static void next_due(struct session *s, uint64_t from_ns)
{
    uint64_t mean_ns = s->options->interval_ns;

    s->tick++;
    if (mean_ns == 0)
        return;
    if (s->tick > 1)
        s->due_ns += cairn_tick_interval(s->seed, s->tick, mean_ns);
    for (;;) {
        uint64_t next_ns = s->due_ns + cairn_tick_interval(s->seed, s->tick + 1, mean_ns);

        if (next_ns > from_ns)
            break;
        s->due_ns = next_ns;
        s->tick++;
        s->sampler.stats.missed++;
    }
}

static bool over(struct session *s, uint64_t now_ns)
{
    const struct cairn_session_options *o = s->options;

    if (cairn_launch_poll(&s->result->launch, &s->result->interrupted))
        return true;
    if (o->for_ns && now_ns - s->start_ns >= o->for_ns)
        return true;
    if (o->max_ticks && s->sampler.stats.samples && s->sampler.stats.pythons &&
        s->sampler.stats.ticks >= o->max_ticks)
        return true;
    return !o->argv && !cairn_sampler_alive(&s->sampler);
}

static int take_tick(struct session *s, uint64_t now_ns)
{
    int code = cairn_sampler_tick(&s->sampler, s->tick, now_ns);

    if (code == -CAIRN_ELIMIT) { /* Cairn was stopped for hours, or there are very many threads */
        CAIRN_TRY(flush(s, CAIRN_CHUNK_DATA, now_ns));
        code = cairn_sampler_tick(&s->sampler, s->tick, now_ns);
    }
    return code < 0 ? fail(s, code, "cannot go on recording") : 0;
}

static void tell_began(struct session *s)
{
    if (s->began || !s->sampler.stats.pythons || !s->sampler.stats.samples)
        return;
    s->began = true;
    if (s->options->began)
        s->options->began(s->options->began_ctx);
}

static int sample_until_over(struct session *s)
{
    uint64_t now_ns = cairn_clock_mono_ns();

    next_due(s, now_ns);
    while (!over(s, now_ns)) {
        if (s->options->interval_ns && now_ns < s->due_ns) {
            uint64_t end_ns = s->options->for_ns ? s->start_ns + s->options->for_ns : UINT64_MAX;

            cairn_clock_sleep_until(s->due_ns < end_ns ? s->due_ns : end_ns);
            now_ns = cairn_clock_mono_ns();
            if (now_ns < s->due_ns) /* a signal, or the end of the time */
                continue;
            cairn_urgency_woke(&s->urgency, now_ns - s->due_ns, now_ns);
        }
        CAIRN_TRY(take_tick(s, now_ns));
        cairn_apart_look(&s->apart, s->sampler.put_off_pid, s->sampler.put_off_tid, now_ns);
        CAIRN_TRY(judge_attached(s, false, now_ns));
        tell_began(s);
        if (now_ns >= s->target_at_ns) {
            cairn_environment_target(s->writer, s->root); /* best effort */
            s->target_wait_ns *= 2;
            s->target_at_ns = now_ns + s->target_wait_ns;
        }
        if (now_ns >= s->flush_at_ns || cairn_writer_pending_bytes(s->writer) > PENDING_MAX_BYTES)
            CAIRN_TRY(flush(s, CAIRN_CHUNK_DATA, now_ns));
        now_ns = cairn_clock_mono_ns();
        next_due(s, cairn_urgency_worked(&s->urgency, now_ns));
    }
    return judge_attached(s, true, now_ns);
}

static int write_tail(struct session *s)
{
    const struct cairn_launch *launch = &s->result->launch;
    const struct rusage *usage = &launch->usage;

    CAIRN_TRY(env_number(s, "run.wall_ns", s->result->wall_ns));
    if (!launch->exited || launch->wait_sys) {
        cairn_environment_target(s->writer, s->root); /* best effort */
        return s->peak_bytes ? env_number(s, "run.peak_bytes", s->peak_bytes) : 0;
    }
    CAIRN_TRY(env_number(s, "run.user_ns",
                         (uint64_t)usage->ru_utime.tv_sec * 1000000000u +
                             (uint64_t)usage->ru_utime.tv_usec * 1000u));
    CAIRN_TRY(env_number(s, "run.sys_ns",
                         (uint64_t)usage->ru_stime.tv_sec * 1000000000u +
                             (uint64_t)usage->ru_stime.tv_usec * 1000u));
    CAIRN_TRY(env_number(s, "run.peak_bytes", (uint64_t)usage->ru_maxrss * 1024));
    if (WIFSIGNALED(launch->status))
        return env_number(s, "run.signal", (uint64_t)WTERMSIG(launch->status));
    return env_number(s, "run.exit", (uint64_t)WEXITSTATUS(launch->status));
}

/* Nothing was recorded: leaves no file behind, if there is one by us. What was not made, only
 * written to (a device), stays. */
static void undo(struct session *s)
{
    struct cairn_owner_saved saved;

    if (!s->made || cairn_owner_enter(s->options->owner, &saved) < 0)
        return;
    unlink(s->options->path);
    cairn_owner_leave(&saved);
}

/* What engines inside the program have counted. */
static int add_counted(struct session *s, uint64_t now_ns)
{
    int code;

    if (s->options->add == NULL)
        return 0;
    CAIRN_TRY(flush(s, CAIRN_CHUNK_DATA, now_ns));
    code = s->options->add(s->options->add_ctx, s->sink, s->err);
    s->result->saw_python = s->result->saw_python || code > 0;
    return code < 0 ? code : 0;
}

/* Seals what there is. A failure before this one is the one that is told. */
static int finish(struct session *s, int code)
{
    uint64_t now_ns = cairn_clock_mono_ns();
    struct cairn_err later = {0};
    int tail = 0;

    if (code == 0)
        cairn_processes_read_records(&s->sampler, now_ns);
    if (s->watch) /* those as well that it had no room to tell of */
        s->sampler.stats.records_lost = cairn_perf_watch_lost(s->watch);
    if (s->result->launch.exited)
        cairn_sampler_end(&s->sampler, s->root, s->result->launch.cpu_ns, s->tick, now_ns);
    s->result->wall_ns = now_ns - s->start_ns;
    s->result->ticks = s->sampler.stats.ticks;
    s->result->samples = s->sampler.stats.samples;
    s->result->saw_python = s->sampler.stats.pythons > 0;
    if (code == 0) {
        tail = write_tail(s);
        code = tail < 0 ? fail(s, tail, "cannot end the recording") : add_counted(s, now_ns);
        if (code == 0)
            code = flush(s, CAIRN_CHUNK_END, now_ns);
    }
    if (code < 0 && cairn_sink_bytes(s->sink) == 0) { /* not one chunk could be written */
        s->result->saw_python = false;
        undo(s);
    }
    s->result->fd = fcntl(cairn_sink_fd(s->sink), F_DUPFD_CLOEXEC, 0);
    tail = cairn_sink_close(s->sink, code == 0 ? s->err : &later);
    s->sink = NULL;
    return code == 0 ? tail : code;
}

static void release(struct session *s)
{
    s->result->launch.ends = NULL;
    cairn_urgency_restore(&s->urgency);
    if (s->files.rlim_cur)
        setrlimit(RLIMIT_NOFILE, &s->files);
    cairn_sampler_release(&s->sampler);
    cairn_perf_watch_free(s->watch);
    cairn_writer_free(s->writer);
    if (s->sink)
        cairn_sink_close(s->sink, NULL);
}

int cairn_session(const struct cairn_session_options *options,
                  struct cairn_session_result *ret_result, struct cairn_err *err)
{
    struct session s = {.options = options, .result = ret_result, .err = err};
    struct cairn_launch *launch = &ret_result->launch;
    int code;

    memset(ret_result, 0, sizeof(*ret_result));
    launch->hold_fd = launch->failure_fd = -1;
    code = prepare(&s);
    /* Due times are what the schedule stands on; the default slack of 50 us would blur them. */
    prctl(PR_SET_TIMERSLACK, 1);
    if (code == 0) {
        if (options->interval_ns) /* who never sleeps would not let others run */
            cairn_urgency_raise(&s.urgency, options->interval_ns);
        code = start(&s);
    }
    if (code < 0) {
        cairn_launch_abandon(launch);
        undo(&s);
        release(&s);
        return code;
    }
    code = sample_until_over(&s);
    if (code < 0 && launch->pid && !launch->exited)
        ret_result->interrupted = cairn_launch_wait(launch);
    if (!s.sampler.stats.pythons &&
        (code == -CAIRN_ENOTPYTHON || code == -CAIRN_EUNSUPPORTED || code == -CAIRN_EPERM))
        undo(&s);
    code = finish(&s, code);
    if (code == 0 && !ret_result->saw_python && s.sampler.unsupported.code) {
        code = tell_unreadable(&s);
        undo(&s);
    }
    release(&s);
    return code;
}

bool cairn_session_wait(struct cairn_session_result *result)
{
    return cairn_launch_wait(&result->launch);
}

void cairn_session_release(struct cairn_session_result *result)
{
    cairn_launch_close(&result->launch);
    cairn_io_close(&result->fd);
}
