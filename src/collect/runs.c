#include "runs.h"

#include "clock.h"

#define LATE_QUANTA 128 /* two intervals */

enum sample_column {
    COL_TRACK,
    COL_TICK,
    COL_TICKS,
    COL_STACK,
    COL_CPU,
    COL_RUNQ,
    COL_STATE,
    COL_OVERLAYS,
    COL_ON,
    COLS
};

static const struct cairn_column_def sample_columns[COLS] = {
    [COL_TRACK] = {"track", "id", CAIRN_ENC_RLE},
    [COL_TICK] = {"tick", "index", CAIRN_ENC_DELTA},
    [COL_TICKS] = {"ticks", "count", CAIRN_ENC_UVARINT},
    [COL_STACK] = {"stack", "id", CAIRN_ENC_UVARINT},
    [COL_CPU] = {"cpu", "quanta", CAIRN_ENC_UVARINT},
    [COL_RUNQ] = {"runq", "quanta", CAIRN_ENC_UVARINT},
    [COL_STATE] = {"state", "", CAIRN_ENC_RLE},
    [COL_OVERLAYS] = {"overlays", "", CAIRN_ENC_RLE},
    [COL_ON] = {"on", "id", CAIRN_ENC_RLE},
};

int cairn_runs_keep_code(struct cairn_sampler *sampler, int code)
{
    if (code < 0 && sampler->code == 0)
        sampler->code = code;
    return code;
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int write_row(struct cairn_sampler *sampler, const struct cairn_worker *worker,
                     const struct cairn_run *run)
{
    const uint64_t values[COLS] = {
        [COL_TRACK] = worker->track, [COL_TICK] = (uint64_t)run->first_tick,
        [COL_TICKS] = run->ticks,    [COL_STACK] = run->stack,
        [COL_CPU] = run->cpu_quanta, [COL_RUNQ] = run->runq_quanta,
        [COL_STATE] = run->state,    [COL_OVERLAYS] = run->overlays,
        [COL_ON] = run->on,
    };

    return cairn_writer_row(sampler->writer, CAIRN_ROW_SAMPLE, sample_columns, COLS, values);
}

static struct cairn_run *kept_at(struct cairn_worker *worker, uint32_t place)
{
    return &worker->kept[(worker->kept_from + place) % CAIRN_RUNS_KEPT];
}

static void write_kept(struct cairn_sampler *sampler, struct cairn_worker *worker, uint32_t most)
{
    while (worker->kept_count > most) {
        cairn_runs_keep_code(sampler, write_row(sampler, worker, kept_at(worker, 0)));
        worker->kept_from = (worker->kept_from + 1) % CAIRN_RUNS_KEPT;
        worker->kept_count--;
    }
}

/* The open run is over. */
static void end_run(struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    if (worker->run.ticks == 0)
        return;
    write_kept(sampler, worker, CAIRN_RUNS_KEPT - 1);
    *kept_at(worker, worker->kept_count++) = worker->run;
    worker->run.ticks = 0;
}

void cairn_runs_close(struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    end_run(sampler, worker);
    write_kept(sampler, worker, 0);
}

/* Of a run, what the worker did not run: it waited for a processor. */
static void take_from(struct cairn_run *run, uint64_t *quanta)
{
    uint64_t part = min_of(run->cpu_quanta, *quanta);

    run->cpu_quanta -= part;
    run->runq_quanta += part;
    *quanta -= part;
}

/* From the latest rows on, as far as they are not written. Returns what is left. */
static uint64_t take_from_latest(struct cairn_worker *worker, uint64_t quanta)
{
    if (worker->run.ticks)
        take_from(&worker->run, &quanta);
    for (uint32_t i = worker->kept_count; i-- > 0;)
        take_from(kept_at(worker, i), &quanta);
    return quanta;
}

static void take_back(const struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    uint64_t quanta = worker->excess_ns / sampler->quantum_ns, left;

    if (!worker->excess_ns)
        return;
    left = take_from_latest(worker, quanta);
    worker->cpu_ns += worker->excess_ns - (quanta - left) * sampler->quantum_ns; /* rows hold it */
    worker->excess_ns = 0;
}

/* Turns what is left of a delta into whole quanta, at most so many; the rest stays for a later row.
 */
static uint64_t take_quanta(uint64_t *carry_ns, uint64_t delta_ns, uint64_t most,
                            uint64_t quantum_ns)
{
    uint64_t total_ns = *carry_ns + delta_ns, quanta = total_ns / quantum_ns;

    if (quanta > most)
        quanta = most;
    *carry_ns = total_ns - quanta * quantum_ns;
    return quanta;
}

/* The time of the latest tick: since the one before. */
static int64_t span_ns_of(const struct cairn_sampler *sampler)
{
    return (int64_t)(cairn_writer_tick_time(sampler->writer) - sampler->last_ns);
}

/* No row is given more CPU time than it has time for: what does not fit waits in the carry for the
 * worker's later rows, or is left over when it goes. A part of a quantum may be ahead of the time.
 */
static void make_room(const struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    worker->room_ns = (worker->room_ns < 0 ? worker->room_ns : 0) + span_ns_of(sampler);
}

static void take_cpu(const struct cairn_sampler *sampler, struct cairn_worker *worker,
                     struct cairn_run *run)
{
    int64_t quantum_ns = (int64_t)sampler->quantum_ns, room_ns = worker->room_ns;
    uint64_t most = room_ns > 0 ? (uint64_t)((room_ns + quantum_ns - 1) / quantum_ns) : 0;
    uint64_t quanta =
        take_quanta(&worker->cpu_carry_ns, worker->cpu_delta_ns, most, sampler->quantum_ns);

    run->cpu_quanta += quanta;
    worker->room_ns -= (int64_t)quanta * quantum_ns;
    worker->cpu_delta_ns = 0;
}

static void take_runq(const struct cairn_sampler *sampler, struct cairn_worker *worker,
                      struct cairn_run *run)
{
    run->runq_quanta +=
        take_quanta(&worker->runq_carry_ns, worker->runq_delta_ns, UINT64_MAX, sampler->quantum_ns);
    worker->runq_delta_ns = 0;
}

static bool is_more_of(const struct cairn_run *run, const struct cairn_run *now)
{
    return run->ticks && run->stack == now->stack && run->state == now->state &&
           run->overlays == now->overlays && run->on == now->on && !now->cpu_quanta &&
           !run->cpu_quanta &&
           ((!now->runq_quanta && !run->runq_quanta) || (now->queued && run->queued)) &&
           run->first_tick + run->ticks == now->first_tick;
}

void cairn_runs_add(struct cairn_sampler *sampler, struct cairn_worker *worker,
                    struct cairn_run now)
{
    struct cairn_run *run = &worker->run;

    take_back(sampler, worker);
    make_room(sampler, worker);
    take_cpu(sampler, worker, &now);
    take_runq(sampler, worker, &now);
    now.first_tick = cairn_writer_tick_index(sampler->writer);
    now.ticks = 1;
    now.queued = worker->queued;
    sampler->stats.samples++;
    worker->last_stack = now.stack;
    if (is_more_of(run, &now)) {
        run->ticks++;
        run->runq_quanta += now.runq_quanta;
        return;
    }
    end_run(sampler, worker);
    *run = now;
}

/* What a worker that is gone did since the last tick is still to be read from its clock: its last
 * row takes what it has room for. */
static void fill_run(struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    if (!worker->run.ticks)
        return;
    take_cpu(sampler, worker, &worker->run);
    take_runq(sampler, worker, &worker->run);
}

/* What is left over was run since the worker's last row: it gets one of the latest tick, at which
 * it did what it did there. */
static void take_latest_tick(struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    struct cairn_run *run = &worker->run;
    int64_t tick = cairn_writer_tick_index(sampler->writer);

    if (!run->stack || tick < 0 || (run->ticks && run->first_tick + run->ticks > tick))
        return;
    cairn_runs_close(sampler, worker);
    run->first_tick = tick;
    run->ticks = 1;
    run->cpu_quanta = run->runq_quanta = 0;
    make_room(sampler, worker);
    sampler->stats.samples++;
}

/* Whether it ran through most of a tick that came late, before it went: had Cairn not been kept
 * from looking, it would have been met. */
static bool ran_late(const struct cairn_sampler *sampler, const struct cairn_worker *worker)
{
    uint64_t span_ns = (uint64_t)span_ns_of(sampler);

    return span_ns >= CAIRN_REMAINS_LATE_NS && span_ns >= LATE_QUANTA * sampler->quantum_ns &&
           worker->cpu_carry_ns >= span_ns / 2;
}

void cairn_runs_gone(void *ctx, struct cairn_worker *worker)
{
    struct cairn_sampler *sampler = ctx;

    cairn_worker_last_look(worker, cairn_clock_mono_ns());
    take_back(sampler, worker);
    /* The end of a short one goes where the time of those goes that were not met at all: whoever is
     * met next stands for it better than where it happened to be seen. */
    if (!cairn_remains_fresh(worker)) {
        fill_run(sampler, worker);
        if (ran_late(sampler, worker)) {
            take_latest_tick(sampler, worker);
            fill_run(sampler, worker);
        }
    }
    cairn_runs_close(sampler, worker);
}

/* What is left over and no thread that lives has run was run by threads that came and went, of
 * which nobody knows more than of the last one that was met: that one gets a row of the latest
 * tick. Returns how much of it that holds. */
static uint64_t give_to_last(struct cairn_sampler *sampler, struct cairn_subject *subject,
                             uint64_t quanta)
{
    uint64_t room = (uint64_t)span_ns_of(sampler) / sampler->quantum_ns;
    struct cairn_worker last = {.track = subject->remains.track};

    if (quanta > room)
        quanta = room;
    if (!last.track || !quanta)
        return 0;
    last.run = (struct cairn_run){.stack = subject->remains.stack,
                                  .ticks = 1,
                                  .first_tick = cairn_writer_tick_index(sampler->writer),
                                  .cpu_quanta = quanta,
                                  .state = CAIRN_SAMPLE_UNKNOWN};
    sampler->stats.samples++;
    cairn_runs_close(sampler, &last);
    cairn_remains_taken(subject, quanta * sampler->quantum_ns);
    return quanta;
}

/* Returns how much of it the first thread's row has room for. */
static uint64_t give_to_first(const struct cairn_sampler *sampler, struct cairn_worker *first,
                              uint64_t quanta)
{
    uint64_t room = first->room_ns > 0 ? (uint64_t)first->room_ns / sampler->quantum_ns : 0;

    if (quanta > room)
        quanta = room;
    first->run.cpu_quanta += quanta;
    first->room_ns -= (int64_t)(quanta * sampler->quantum_ns);
    return quanta;
}

void cairn_runs_of_missed(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          uint64_t span_ns)
{
    uint64_t missed = cairn_remains_missed_ns(subject, span_ns) / sampler->quantum_ns;
    struct cairn_worker *first = subject->workers.count ? subject->workers.items[0] : NULL;

    missed -= give_to_last(sampler, subject, missed);
    /* The next tick has room for the rest, if it is not one of many. */
    if (subject->remains.track && span_ns < CAIRN_REMAINS_LATE_NS)
        return;
    /* A run of more ticks than this one has no CPU time so far. */
    if (!missed || !first || !first->run.ticks ||
        first->run.first_tick + first->run.ticks != cairn_writer_tick_index(sampler->writer) + 1)
        return;
    cairn_remains_taken(subject, give_to_first(sampler, first, missed) * sampler->quantum_ns);
}

/* The last rows of those that a process had at its end, and of what they ran since the latest. */
static void end_worker(struct cairn_sampler *sampler, struct cairn_worker *worker, bool have_end,
                       uint64_t now_ns)
{
    if (have_end)
        cairn_worker_last_look(worker, now_ns);
    else
        cairn_worker_settle(worker);
    take_back(sampler, worker);
    fill_run(sampler, worker);
    if (worker->cpu_carry_ns >= sampler->quantum_ns) {
        take_latest_tick(sampler, worker);
        fill_run(sampler, worker);
    }
}

void cairn_runs_end(struct cairn_sampler *sampler, struct cairn_subject *subject)
{
    struct cairn_worker *first = subject->workers.count ? subject->workers.items[0] : NULL;
    uint64_t now_ns = cairn_clock_mono_ns(), missed;
    bool have_end = cairn_remains_have_end(subject);
    int64_t left;

    for (size_t i = 0; i < subject->workers.count; i++) {
        end_worker(sampler, subject->workers.items[i], have_end, now_ns);
        cairn_remains_of(subject, subject->workers.items[i]);
    }
    left = cairn_remains_end(subject) / (int64_t)sampler->quantum_ns;
    missed = cairn_remains_missed_ns(subject, (uint64_t)span_ns_of(sampler)) / sampler->quantum_ns;
    if (first && first->clock.page) /* what it ran itself is known */
        left -= (int64_t)give_to_last(sampler, subject, missed);
    if (first && left > 0)
        take_latest_tick(sampler, first);
    if (first && first->run.ticks && left > 0)
        left -= (int64_t)give_to_first(sampler, first, (uint64_t)left);
    else if (first && left < 0)
        take_from_latest(first, (uint64_t)-left);
    if (left > 0 && first && !first->clock.page)
        left -= (int64_t)give_to_last(sampler, subject, (uint64_t)left);
    if (left > 0)
        sampler->stats.untold_ns += (uint64_t)left * sampler->quantum_ns;
    for (size_t i = 0; i < subject->workers.count; i++)
        cairn_runs_close(sampler, subject->workers.items[i]);
}
