#include "runs.h"

#include "clock.h"

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

static int write_row(struct cairn_sampler *sampler, const struct cairn_worker *worker)
{
    const struct cairn_run *run = &worker->run;
    const uint64_t values[COLS] = {
        [COL_TRACK] = worker->track, [COL_TICK] = (uint64_t)run->first_tick,
        [COL_TICKS] = run->ticks,    [COL_STACK] = run->stack,
        [COL_CPU] = run->cpu_quanta, [COL_RUNQ] = run->runq_quanta,
        [COL_STATE] = run->state,    [COL_OVERLAYS] = run->overlays,
        [COL_ON] = run->on,
    };

    return cairn_writer_row(sampler->writer, CAIRN_ROW_SAMPLE, sample_columns, COLS, values);
}

void cairn_runs_close(struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    if (worker->run.ticks == 0)
        return;
    cairn_runs_keep_code(sampler, write_row(sampler, worker));
    worker->run.ticks = 0;
}

/* Turns what is left of a delta into whole quanta; the rest stays for a later row. */
static uint64_t take_quanta(uint64_t *carry_ns, uint64_t delta_ns, uint64_t quantum_ns)
{
    uint64_t total_ns = *carry_ns + delta_ns;

    *carry_ns = total_ns % quantum_ns;
    return total_ns / quantum_ns;
}

/* The time of the latest tick: since the one before. */
static int64_t span_ns_of(const struct cairn_sampler *sampler)
{
    return (int64_t)(cairn_writer_tick_time(sampler->writer) - sampler->last_ns);
}

/* The reader gives a thread no more CPU time than its row has time for; the rest waits for room in
 * later rows of the same thread, of which there is none after the last. So what there is room for
 * is known here as well; below 0: what waits. */
static void make_room(const struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    worker->room_ns = (worker->room_ns < 0 ? worker->room_ns : 0) + span_ns_of(sampler);
}

static void take_room(const struct cairn_sampler *sampler, struct cairn_worker *worker,
                      int64_t quanta)
{
    worker->room_ns -= quanta * (int64_t)sampler->quantum_ns;
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

    now.cpu_quanta = take_quanta(&worker->cpu_carry_ns, worker->cpu_delta_ns, sampler->quantum_ns);
    now.runq_quanta =
        take_quanta(&worker->runq_carry_ns, worker->runq_delta_ns, sampler->quantum_ns);
    now.first_tick = cairn_writer_tick_index(sampler->writer);
    now.ticks = 1;
    now.queued = worker->queued;
    worker->cpu_delta_ns = worker->runq_delta_ns = 0;
    sampler->stats.samples++;
    worker->last_stack = now.stack;
    make_room(sampler, worker);
    take_room(sampler, worker, (int64_t)now.cpu_quanta);
    if (is_more_of(run, &now)) {
        run->ticks++;
        run->runq_quanta += now.runq_quanta;
        return;
    }
    cairn_runs_close(sampler, worker);
    *run = now;
}

/* What a worker that is gone did since the last tick is still to be read from its clock: its last
 * row takes it. */
static void end_run(struct cairn_sampler *sampler, struct cairn_worker *worker)
{
    struct cairn_run *run = &worker->run;
    uint64_t cpu_quanta;

    if (!run->ticks)
        return;
    cpu_quanta = take_quanta(&worker->cpu_carry_ns, worker->cpu_delta_ns, sampler->quantum_ns);
    run->cpu_quanta += cpu_quanta;
    take_room(sampler, worker, (int64_t)cpu_quanta);
    run->runq_quanta +=
        take_quanta(&worker->runq_carry_ns, worker->runq_delta_ns, sampler->quantum_ns);
    worker->cpu_delta_ns = worker->runq_delta_ns = 0;
}

void cairn_runs_gone(void *ctx, struct cairn_worker *worker)
{
    struct cairn_sampler *sampler = ctx;

    cairn_worker_last_look(worker, cairn_clock_mono_ns());
    /* The end of a short one goes where the time of those goes that were not met at all: whoever is
     * met next stands for it better than where it happened to be seen. */
    if (!cairn_remains_fresh(worker))
        end_run(sampler, worker);
    cairn_runs_close(sampler, worker);
}

/* What one thread cannot have run in the time of its rows was run beside it, by threads that came
 * and went, of which nobody knows more than of the last one that was met: that one gets a row of
 * the latest tick. Returns how much of it that holds. */
static uint64_t give_beside(struct cairn_sampler *sampler, const struct cairn_remains *remains,
                            uint64_t quanta)
{
    uint64_t room = (uint64_t)span_ns_of(sampler) / sampler->quantum_ns;
    struct cairn_worker other = {.track = remains->track};

    if (quanta > room)
        quanta = room;
    if (!remains->track || !quanta)
        return 0;
    other.run = (struct cairn_run){.stack = remains->stack,
                                   .ticks = 1,
                                   .first_tick = cairn_writer_tick_index(sampler->writer),
                                   .cpu_quanta = quanta,
                                   .state = CAIRN_SAMPLE_UNKNOWN};
    sampler->stats.samples++;
    cairn_runs_close(sampler, &other);
    return quanta;
}

void cairn_runs_of_missed(struct cairn_sampler *sampler, struct cairn_subject *subject,
                          uint64_t span_ns)
{
    uint64_t missed = cairn_remains_missed_ns(subject, span_ns) / sampler->quantum_ns, taken;
    struct cairn_worker *first = subject->workers.count ? subject->workers.items[0] : NULL;

    /* A run of more ticks than this one has no CPU time so far. */
    if (!missed || !first || !first->run.ticks ||
        first->run.first_tick + first->run.ticks != cairn_writer_tick_index(sampler->writer) + 1)
        return;
    taken = first->room_ns > 0 ? (uint64_t)first->room_ns / sampler->quantum_ns : 0;
    if (taken > missed)
        taken = missed;
    first->run.cpu_quanta += taken;
    take_room(sampler, first, (int64_t)taken);
    cairn_remains_taken(subject, taken * sampler->quantum_ns);
    missed = cairn_remains_beside_ns(subject, span_ns) / sampler->quantum_ns;
    taken = give_beside(sampler, &subject->remains, missed);
    cairn_remains_taken(subject, taken * sampler->quantum_ns);
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

/* What the latest row holds that no row of the worker's has room for. */
static uint64_t over_quanta(const struct cairn_sampler *sampler, const struct cairn_worker *worker)
{
    uint64_t over = (uint64_t)-worker->room_ns / sampler->quantum_ns;

    return over < worker->run.cpu_quanta ? over : worker->run.cpu_quanta;
}

void cairn_runs_end(struct cairn_sampler *sampler, struct cairn_subject *subject)
{
    struct cairn_worker *first = subject->workers.count ? subject->workers.items[0] : NULL;
    uint64_t now_ns = cairn_clock_mono_ns();
    int64_t left;

    for (size_t i = 0; i < subject->workers.count; i++) {
        cairn_worker_last_look(subject->workers.items[i], now_ns);
        end_run(sampler, subject->workers.items[i]);
        cairn_remains_of(subject, subject->workers.items[i]);
    }
    left = cairn_remains_end(subject) / (int64_t)sampler->quantum_ns;
    if (first && (left > 0 || first->room_ns < 0))
        take_latest_tick(sampler, first);
    if (first && first->run.ticks) {
        if (left < -(int64_t)first->run.cpu_quanta)
            left = -(int64_t)first->run.cpu_quanta;
        first->run.cpu_quanta += (uint64_t)left;
        take_room(sampler, first, left);
        if (first->room_ns < 0 && first->track != subject->remains.track)
            first->run.cpu_quanta -=
                give_beside(sampler, &subject->remains, over_quanta(sampler, first));
    }
    for (size_t i = 0; i < subject->workers.count; i++)
        cairn_runs_close(sampler, subject->workers.items[i]);
}
