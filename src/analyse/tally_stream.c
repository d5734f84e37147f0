/* The samples of a tally, one after the other, into its sums. */
#include "tally_pass.h"

#include "format.h"
#include "regioncut.h"
#include "tally_samples.h"

static inline int add_draws(struct cairn_pass *pass, const struct cairn_sample *sample,
                            enum cairn_phase phase, bool may_be_idle)
{
    enum cairn_metric metric = pass->tally->filter.metric;
    unsigned draw_class = phase == CAIRN_PHASE_PROGRAM ? CAIRN_DRAW_PROGRAM : 0;
    uint64_t value_ns = metric == CAIRN_METRIC_WALL
                            ? sample->last_ns - sample->first_ns
                            : cairn_tally_value(pass->tally, sample->state_ns);
    uint64_t idle_ns =
        may_be_idle ? cairn_pass_idle_value(sample->state_ns[CAIRN_STATE_BLOCKED], metric) : 0;

    if (value_ns > idle_ns)
        CAIRN_TRY(cairn_draws_add(&pass->draws, sample, draw_class, value_ns - idle_ns));
    if (idle_ns)
        CAIRN_TRY(cairn_draws_add(&pass->draws, sample, draw_class | CAIRN_DRAW_IDLE, idle_ns));
    return 0;
}

static int add_strips(struct cairn_pass *pass, const struct cairn_sample *sample,
                      enum cairn_phase phase, bool may_be_idle, uint32_t item)
{
    uint64_t value_ns = cairn_tally_value(pass->tally, sample->state_ns);
    bool idle = may_be_idle && pass->tally->filter.metric == CAIRN_METRIC_BLOCKED;

    CAIRN_TRY(cairn_strips_add(&pass->tally->strips, item, sample, value_ns));
    return cairn_strips_add(&pass->tally->thread_strips,
                            cairn_pass_strips_item(sample->thread, phase, idle), sample, value_ns);
}

/* What of a sample is summed beside its stack and its thread. */
static inline int add_beside(struct cairn_pass *pass, const struct cairn_sample *sample,
                             bool may_be_idle)
{
    uint64_t blocked_ns = sample->state_ns[CAIRN_STATE_BLOCKED];
    uint64_t waited_ns = blocked_ns + sample->state_ns[CAIRN_STATE_GIL_WAIT];

    return waited_ns ? cairn_blocker_sums_add(&pass->blockers, sample->on, waited_ns,
                                              may_be_idle ? blocked_ns : 0)
                     : 0;
}

/* Whether the filter keeps it. Of those on its stacks it is counted, kept or not, how long each of
 * the overlays was. */
static inline bool is_kept(struct cairn_pass *pass, const struct cairn_sample *sample)
{
    const struct cairn_tally *tally = pass->tally;

    if (!cairn_tally_keeps_node(tally, sample->node))
        return false;
    pass->overlaid_ns[sample->overlays] += sample->last_ns - sample->first_ns;
    pass->overlaid_blocked_ns[sample->overlays] += sample->state_ns[CAIRN_STATE_BLOCKED];
    return !tally->filter.overlays || sample->overlays & tally->filter.overlays;
}

/* What lay over the states, of what the filter keeps, and what could not be told. */
static void sum_overlays(struct cairn_pass *pass)
{
    struct cairn_tally *tally = pass->tally;

    for (unsigned overlays = 0; overlays < CAIRN_OVERLAYS_MAX; overlays++) {
        uint64_t wall_ns = pass->overlaid_ns[overlays];
        bool kept = !tally->filter.overlays || overlays & tally->filter.overlays;

        for (int i = 0; i < CAIRN_OVERLAY_COUNT; i++) {
            if (kept && overlays & (CAIRN_OVERLAY_GIL_HELD << i))
                tally->overlay_ns[i] += wall_ns;
            if (overlays & (CAIRN_OVERLAY_GIL_UNKNOWN << i))
                tally->overlay_unknown_ns[i] += wall_ns;
        }
        if (overlays & CAIRN_OVERLAY_WAIT_UNKNOWN)
            tally->wait_unknown_ns += pass->overlaid_blocked_ns[overlays];
        tally->looked_at_ns += wall_ns;
    }
}

/* As add_strips() and add_draws() of a tally of that metric would. */
static int ride(struct cairn_pass_rider *rider, const struct cairn_sample *sample,
                enum cairn_phase phase, bool may_be_idle, uint32_t item)
{
    uint64_t value_ns = rider->metric == CAIRN_METRIC_GIL /* that nobody knows, or it is no rider */
                            ? 0
                            : cairn_metric_value(rider->metric, sample->state_ns);
    unsigned draw_class = phase == CAIRN_PHASE_PROGRAM ? CAIRN_DRAW_PROGRAM : 0;
    bool idle = may_be_idle && rider->metric == CAIRN_METRIC_BLOCKED;

    if (!value_ns)
        return 0;
    if (rider->strips.count) {
        CAIRN_TRY(cairn_strips_add(&rider->strips, item, sample, value_ns));
        CAIRN_TRY(cairn_strips_add(&rider->thread_strips,
                                   cairn_pass_strips_item(sample->thread, phase, idle), sample,
                                   value_ns));
    }
    return cairn_draws_add(&rider->draws, sample, draw_class | (idle ? CAIRN_DRAW_IDLE : 0),
                           value_ns);
}

static inline int add_sample(struct cairn_pass *pass, const struct cairn_sample *sample,
                             uint32_t item)
{
    enum cairn_phase phase = cairn_pass_phase(pass, sample->thread, sample->node);
    bool idle = cairn_pass_may_be_idle(pass, sample->thread, sample->node);
    uint64_t blocked_ns = sample->state_ns[CAIRN_STATE_BLOCKED], waiting_ticks = 0;

    if (blocked_ns >= sample->last_ns - sample->first_ns - blocked_ns)
        waiting_ticks = sample->ticks;
    cairn_sum_add_to(&pass->whos[sample->thread].sums[phase][idle], sample->ticks, waiting_ticks,
                     sample->state_ns);
    cairn_sum_add_to(&pass->sums.items.items[item], sample->ticks, waiting_ticks, sample->state_ns);
    CAIRN_TRY(add_beside(pass, sample, idle));
    if (pass->tally->strips.count)
        CAIRN_TRY(add_strips(pass, sample, phase, idle, item));
    for (size_t i = 0; i < pass->rider_count; i++)
        CAIRN_TRY(ride(&pass->riders[i], sample, phase, idle, item));
    return add_draws(pass, sample, phase, idle);
}

/* A tick lies where it ends. */
static unsigned slice_of(const struct cairn_pass *pass, uint64_t time_ns)
{
    const struct cairn_tally *tally = pass->tally;
    uint64_t slice =
        time_ns > tally->first_ns ? (time_ns - tally->first_ns - 1) / tally->slice_ns : 0;

    return slice < pass->slices ? (unsigned)slice : pass->slices - 1;
}

static inline uint32_t group_of(const struct cairn_pass *pass, const struct cairn_sample *sample)
{
    uint32_t group = pass->whos[sample->thread].group;

    return pass->slices == 1 ? group : group * pass->slices + slice_of(pass, sample->times_ns[0]);
}

/* In rounds, each of which asks memory for what the next one needs: waiting for it, sample by
 * sample, would take most of a tally. */
static int add_batch(struct cairn_pass *pass, const struct cairn_sample *samples, size_t count)
{
    uint32_t kept[CAIRN_SAMPLES_BATCH], groups[CAIRN_SAMPLES_BATCH], items[CAIRN_SAMPLES_BATCH];
    size_t kept_count = 0;

    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&pass->tally->kinds[samples[i].node]);
    for (size_t i = 0; i < count; i++) {
        if (!is_kept(pass, &samples[i]))
            continue;
        groups[kept_count] = group_of(pass, &samples[i]);
        cairn_sums_prefetch(&pass->sums, groups[kept_count], samples[i].node);
        kept[kept_count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < kept_count; i++) {
        CAIRN_TRY(cairn_sums_item(&pass->sums, groups[i], samples[kept[i]].node, &items[i]));
        cairn_sum_prefetch(&pass->sums.items.items[items[i]]);
        cairn_strips_prefetch(&pass->tally->strips, items[i], &samples[kept[i]]);
        for (size_t rider = 0; rider < pass->rider_count; rider++)
            cairn_strips_prefetch(&pass->riders[rider].strips, items[i], &samples[kept[i]]);
    }
    for (size_t i = 0; i < kept_count; i++)
        CAIRN_TRY(add_sample(pass, &samples[kept[i]], items[i]));
    return pass->sums.items.count > pass->items_max ? -CAIRN_ELIMIT : 0;
}

/* Takes off a sample what lies in the slice that it begins in. */
static void cut_front(const struct cairn_pass *pass, struct cairn_sample *rest,
                      struct cairn_sample *ret_front)
{
    unsigned slice = slice_of(pass, rest->times_ns[0]);
    uint32_t ticks = 1;

    while (ticks < rest->ticks && slice_of(pass, rest->times_ns[ticks]) == slice)
        ticks++;
    cairn_sample_split(rest, ticks, ret_front);
}

/* The same, where no sample may reach over the edge of a slice. */
static int add_in_slices(struct cairn_pass *pass, const struct cairn_sample *samples, size_t count)
{
    struct cairn_sample fronts[CAIRN_SAMPLES_BATCH];
    size_t front_count = 0;

    for (size_t i = 0; i < count; i++) {
        struct cairn_sample rest = samples[i];

        while (rest.ticks > 0) {
            cut_front(pass, &rest, &fronts[front_count++]);
            if (front_count < CAIRN_SAMPLES_BATCH)
                continue;
            CAIRN_TRY(add_batch(pass, fronts, front_count));
            front_count = 0;
        }
    }
    return add_batch(pass, fronts, front_count);
}

/* The chosen range, from the start of the recording, as absolute times. */
static void choose_range(struct cairn_pass *pass)
{
    struct cairn_tally *tally = pass->tally;
    const struct cairn_filter *filter = &tally->filter;
    uint64_t first_ns, last_ns, to_ns;

    cairn_model_span(tally->model, &first_ns, &last_ns);
    if (__builtin_add_overflow(first_ns, filter->from_ns, &tally->first_ns) ||
        tally->first_ns > last_ns)
        tally->first_ns = last_ns;
    if (__builtin_add_overflow(first_ns, filter->to_ns, &to_ns) || to_ns > last_ns)
        to_ns = last_ns;
    tally->last_ns = to_ns > tally->first_ns ? to_ns : tally->first_ns;
    tally->slice_ns = (tally->last_ns - tally->first_ns) / pass->slices + 1;
}

/* The metric GIL keeps samples at which it was held; where none tells, it is n/a, and all are kept
 * to say so. */
static int choose_overlays(struct cairn_pass *pass, struct cairn_err *err)
{
    struct cairn_samples *samples;
    struct cairn_sample sample;
    bool told = false;
    int code = 0;

    if (pass->tally->filter.metric != CAIRN_METRIC_GIL || !cairn_model_has_overlays(pass->model))
        return 0;
    CAIRN_TRY(cairn_samples_open(pass->model, 0, UINT64_MAX, &samples, err));
    while (!told && (code = cairn_samples_next(samples, &sample)) == 0)
        told = !(sample.overlays & CAIRN_OVERLAY_GIL_UNKNOWN);
    cairn_samples_free(samples);
    if (told)
        pass->tally->filter.overlays = CAIRN_OVERLAY_GIL_HELD;
    return code == -CAIRN_EEND ? 0 : code;
}

/* Calls that were counted, in place of samples: of the whole recording, and exact. */
static int stream_calls(struct cairn_pass *pass, struct cairn_err *err)
{
    struct cairn_tally *tally = pass->tally;
    const struct cairn_call_sum *calls;
    size_t count = cairn_model_calls(pass->model, &calls);

    choose_range(pass);
    for (size_t i = 0; i < count; i++) {
        const struct cairn_call_sum *call = &calls[i];
        struct cairn_sum sum = {.ticks = call->calls + call->resumes};
        enum cairn_phase phase = cairn_pass_phase(pass, call->thread, call->node);
        uint32_t item;

        if (!tally->kept[call->thread] || !cairn_tally_keeps_node(tally, call->node))
            continue;
        sum.state_ns[CAIRN_STATE_UNKNOWN] = call->self_ns; /* what it did meanwhile nobody knows */
        if (cairn_sums_item(&pass->sums, pass->whos[call->thread].group * pass->slices, call->node,
                            &item) < 0)
            return cairn_pass_fail(err, -CAIRN_ENOMEM);
        cairn_sum_add(&pass->whos[call->thread].sums[phase][0], &sum);
        cairn_sum_add(&pass->sums.items.items[item], &sum);
    }
    cairn_blocker_sums_finish(&pass->blockers, &tally->blockers);
    return 0;
}

/* Whose cells a task is in: the thread that runs its loop; of one whose loop does not run yet the
 * first of its process. UINT32_MAX: nobody's that the filter keeps. */
static uint32_t thread_of(const struct cairn_pass *pass, const struct cairn_task_sum *task)
{
    const struct cairn_filter *filter = &pass->tally->filter;
    const struct cairn_thread *threads;

    if (task->thread < pass->thread_count)
        return pass->tally->kept[task->thread] ? task->thread : UINT32_MAX;
    cairn_model_threads(pass->model, &threads);
    for (size_t i = 0; i < pass->thread_count && !filter->thread && !filter->process; i++)
        if (threads[i].process == task->process)
            return (uint32_t)i;
    return UINT32_MAX;
}

/* What tasks ran and waited in, in place of samples: of the whole recording. */
static int stream_tasks(struct cairn_pass *pass, struct cairn_err *err)
{
    struct cairn_tally *tally = pass->tally;
    const struct cairn_task_sum *tasks;
    size_t count = cairn_model_tasks(pass->model, &tasks), kept = 0;

    choose_range(pass);
    for (size_t i = 0; i < count; i++) {
        const struct cairn_task_sum *task = &tasks[i];
        struct cairn_sum sum = {.ticks = 1};
        enum cairn_phase phase;
        uint32_t thread, item;

        if (!cairn_filter_keeps_task(&tally->filter, task->name, task->coroutine))
            continue;
        kept++;
        thread = thread_of(pass, task);
        if (thread == UINT32_MAX || !cairn_tally_keeps_node(tally, task->node))
            continue;
        phase = cairn_pass_phase(pass, thread, task->node);
        /* What the thread did while the task was current is not told apart. */
        sum.state_ns[task->state == CAIRN_TASK_WAITING ? CAIRN_STATE_BLOCKED
                                                       : CAIRN_STATE_UNKNOWN] = task->task_ns;
        if (cairn_sums_item(&pass->sums, pass->whos[thread].group * pass->slices, task->node,
                            &item) < 0)
            return cairn_pass_fail(err, -CAIRN_ENOMEM);
        cairn_sum_add(&pass->whos[thread].sums[phase][0], &sum);
        cairn_sum_add(&pass->sums.items.items[item], &sum);
    }
    cairn_blocker_sums_finish(&pass->blockers, &tally->blockers);
    if (kept > 0)
        return 0;
    /* "Not found", as a status, is about programs and files. */
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "task",
                  "no task, and no coroutine of one, is called %.100s", tally->filter.task);
    cairn_err_add(err, count > 0 ? "`cairn report --by task` lists them."
                                 : "There are none: tasks are what asyncio runs.");
    return -CAIRN_ENOTFOUND;
}

static void begin_strips(const struct cairn_tally *tally, struct cairn_strips *strips,
                         struct cairn_strips *thread_strips)
{
    cairn_strips_init(strips, tally->first_ns, tally->last_ns, CAIRN_STRIPS_ROOM);
    cairn_strips_init(thread_strips, tally->first_ns, tally->last_ns, CAIRN_STRIPS_ROOM);
}

int cairn_pass_stream(struct cairn_pass *pass, struct cairn_err *err)
{
    struct cairn_tally *tally = pass->tally;
    const struct cairn_filter *filter = &tally->filter;
    const struct cairn_sample *batch;
    struct cairn_samples *samples;
    size_t count;
    int code = 0;

    if (filter->metric == CAIRN_METRIC_COUNTED)
        return stream_calls(pass, err);
    if (filter->task)
        return stream_tasks(pass, err);
    choose_range(pass);
    if (filter->metric != CAIRN_METRIC_WALL && pass->slices == 1)
        begin_strips(tally, &tally->strips, &tally->thread_strips);
    for (size_t i = 0; i < pass->rider_count; i++)
        begin_strips(tally, &pass->riders[i].strips, &pass->riders[i].thread_strips);
    CAIRN_TRY(choose_overlays(pass, err));
    if (filter->region && (code = cairn_region_cut(tally, err)) < 0)
        return code == -CAIRN_ENOTFOUND ? code : cairn_pass_fail(err, code);
    CAIRN_TRY(cairn_tally_open(tally, pass->model, &samples, err));
    while (code == 0 && (code = cairn_samples_batch(samples, &batch, &count)) == 0)
        code = pass->slices > 1 ? add_in_slices(pass, batch, count) : add_batch(pass, batch, count);
    tally->ticks = cairn_samples_ticks(samples);
    cairn_samples_free(samples);
    if (code != -CAIRN_EEND)
        return cairn_pass_fail(err, code);
    sum_overlays(pass);
    cairn_draws_finish(&pass->draws, tally->draws);
    cairn_strips_match(&tally->strips, &tally->thread_strips);
    cairn_blocker_sums_finish(&pass->blockers, &tally->blockers);
    return 0;
}
