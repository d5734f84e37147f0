#include "tally.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "draws.h"
#include "format.h"
#include "kinds.h"
#include "regioncut.h"
#include "sums.h"
#include "tally_samples.h"

/* A thread, and what it spent, whatever the stack. */
struct who {
    uint32_t group; /* of threads whose stacks are added up together */
    bool main;      /* the main thread of a program run from its start */
    bool python;    /* is met in Python code somewhere */
    struct cairn_sum sums[CAIRN_PHASE_COUNT][2]; /* [phase][where it may be idle] */
};

/* One pass being made. */
struct pass {
    const struct cairn_model *model;
    struct cairn_tally *tally;
    struct who *whos;       /* of each thread */
    uint32_t *group_firsts; /* the first thread of each group; groups are in their order */
    size_t thread_count, group_count;
    struct cairn_sums sums;
    struct cairn_draws draws;
    struct cairn_blocker_sums blockers;
};

const char *cairn_phase_name(enum cairn_phase phase)
{
    static const char *const names[CAIRN_PHASE_COUNT] = {"start-up+exit", "import", "program"};

    return names[phase];
}

static int fail(struct cairn_err *err, int code)
{
    return cairn_err_set(err, code, 0, "tally", "cannot add the samples up: %s",
                         cairn_err_sentence(code));
}

static void choose_threads(struct pass *pass)
{
    const struct cairn_filter *filter = &pass->tally->filter;
    struct cairn_span mode = cairn_model_env(pass->model, "run.mode");
    bool attached = mode.size_bytes == 6 && !memcmp(mode.data, "attach", 6);
    const struct cairn_process *processes;
    const struct cairn_thread *threads;
    size_t count = cairn_model_threads(pass->model, &threads);

    cairn_model_processes(pass->model, &processes);
    for (size_t i = 0; i < count; i++) {
        const struct cairn_process *process = &processes[threads[i].process];

        pass->tally->kept[i] =
            cairn_filter_matches(filter->thread, threads[i].tid, threads[i].name) &&
            (cairn_filter_matches(filter->process, process->pid, process->name) ||
             cairn_filter_matches(filter->process, process->pid, process->command) ||
             cairn_roles_match(&pass->tally->roles, threads[i].process, filter->process));
        pass->whos[i].python = threads[i].python;
        pass->whos[i].main = !attached && threads[i].tid == process->pid;
    }
}

/* Each thread is a group of its own; or those of a process that are alike in all that decides
 * about phase and idleness are one. */
static int group_threads(struct pass *pass)
{
    const struct cairn_thread *threads;
    struct cairn_map groups;
    int code = 0;

    cairn_model_threads(pass->model, &threads);
    cairn_map_init(&groups, pass->thread_count);
    for (size_t i = 0; i < pass->thread_count && code == 0; i++) {
        struct who *who = &pass->whos[i];
        uint64_t key = pass->tally->filter.threads_joined ? threads[i].process : i;
        uint64_t group = pass->group_count;

        if (!cairn_map_get(&groups, key, (uint64_t)who->main << 1 | who->python, &group)) {
            code = cairn_map_put(&groups, key, (uint64_t)who->main << 1 | who->python, group);
            pass->group_firsts[pass->group_count++] = (uint32_t)i;
        }
        who->group = (uint32_t)group;
    }
    cairn_map_release(&groups);
    return code;
}

/* The user's frames stay, and labels, which nobody wrote. */
static int fold(struct pass *pass)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    size_t count = cairn_model_frames(pass->model, &frames);
    bool *keep = cairn_calloc(count, sizeof(*keep));
    int code;

    if (!keep)
        return -CAIRN_ENOMEM;
    cairn_model_functions(pass->model, &functions);
    for (size_t i = 0; i < count; i++) {
        const struct cairn_function *function = &functions[frames[i].function];

        keep[i] = function->origin == CAIRN_ORIGIN_USER || function->kind == CAIRN_FUNCTION_LABEL;
    }
    code = cairn_model_fold(pass->model, keep, &pass->tally->view, &pass->tally->fold);
    free(keep);
    if (code == 0)
        pass->tally->model = pass->tally->view;
    return code;
}

static enum cairn_phase phase_of(const struct pass *pass, uint32_t thread, uint32_t node)
{
    enum cairn_phase phase = pass->tally->kinds[node] & CAIRN_KIND_PHASE;

    return phase == CAIRN_PHASE_STARTUP && !pass->whos[thread].main ? CAIRN_PHASE_PROGRAM : phase;
}

/* Whether being blocked here is waiting for work: in a frame where threads wait, or outside Python
 * in a thread that is never in it (a shell that waits for its command, a library's worker). */
static bool may_be_idle(const struct pass *pass, uint32_t thread, uint32_t node)
{
    if (pass->tally->kinds[node] & CAIRN_KIND_NO_PYTHON)
        return !pass->whos[thread].python;
    return pass->tally->kinds[node] & CAIRN_KIND_IDLE;
}

static uint64_t idle_value_of(uint64_t idle_blocked_ns, enum cairn_metric metric)
{
    return metric == CAIRN_METRIC_WALL || metric == CAIRN_METRIC_BLOCKED ? idle_blocked_ns : 0;
}

static uint32_t thread_strips_item(uint32_t thread, int phase, bool idle)
{
    return (thread * CAIRN_PHASE_COUNT + (uint32_t)phase) * 2 + idle;
}

static int add_draws(struct pass *pass, const struct cairn_sample *sample, enum cairn_phase phase,
                     bool may_be_idle)
{
    enum cairn_metric metric = pass->tally->filter.metric;
    unsigned draw_class = phase == CAIRN_PHASE_PROGRAM ? CAIRN_DRAW_PROGRAM : 0;
    uint64_t value_ns = metric == CAIRN_METRIC_WALL
                            ? sample->last_ns - sample->first_ns
                            : cairn_tally_value(pass->tally, sample->state_ns);
    uint64_t idle_ns =
        may_be_idle ? idle_value_of(sample->state_ns[CAIRN_STATE_BLOCKED], metric) : 0;

    if (value_ns > idle_ns)
        CAIRN_TRY(cairn_draws_add(&pass->draws, sample, draw_class, value_ns - idle_ns));
    if (idle_ns)
        CAIRN_TRY(cairn_draws_add(&pass->draws, sample, draw_class | CAIRN_DRAW_IDLE, idle_ns));
    return 0;
}

static int add_strips(struct pass *pass, const struct cairn_sample *sample, enum cairn_phase phase,
                      bool may_be_idle, uint32_t item)
{
    uint64_t value_ns = cairn_tally_value(pass->tally, sample->state_ns);
    bool idle = may_be_idle && pass->tally->filter.metric == CAIRN_METRIC_BLOCKED;

    CAIRN_TRY(cairn_strips_add(&pass->tally->strips, item, sample, value_ns));
    return cairn_strips_add(&pass->tally->thread_strips,
                            thread_strips_item(sample->thread, phase, idle), sample, value_ns);
}

/* Sums that no stack is needed for: what was waited for, and what lay over the states. */
static int add_beside(struct pass *pass, const struct cairn_sample *sample, bool may_be_idle)
{
    struct cairn_tally *tally = pass->tally;
    uint64_t blocked_ns = sample->state_ns[CAIRN_STATE_BLOCKED];
    uint64_t waited_ns = blocked_ns + sample->state_ns[CAIRN_STATE_GIL_WAIT];

    for (int i = 0; i < CAIRN_OVERLAY_COUNT; i++)
        if (sample->overlays & (CAIRN_OVERLAY_GIL_HELD << i))
            tally->overlay_ns[i] += sample->last_ns - sample->first_ns;
    if (!waited_ns)
        return 0;
    return cairn_blocker_sums_add(&pass->blockers, sample->on, waited_ns,
                                  may_be_idle ? blocked_ns : 0);
}

/* Whether the filter keeps it. Of those on its stacks it is counted, kept or not, what could not be
 * told. */
static bool is_kept(const struct pass *pass, const struct cairn_sample *sample)
{
    struct cairn_tally *tally = pass->tally;
    uint64_t wall_ns = sample->last_ns - sample->first_ns;

    if (!cairn_tally_keeps_node(tally, sample->node))
        return false;
    for (int i = 0; i < CAIRN_OVERLAY_COUNT; i++)
        if (sample->overlays & (CAIRN_OVERLAY_GIL_UNKNOWN << i))
            tally->overlay_unknown_ns[i] += wall_ns;
    if (sample->overlays & CAIRN_OVERLAY_WAIT_UNKNOWN)
        tally->wait_unknown_ns += sample->state_ns[CAIRN_STATE_BLOCKED];
    tally->looked_at_ns += wall_ns;
    return !tally->filter.overlays || sample->overlays & tally->filter.overlays;
}

static int add_sample(struct pass *pass, const struct cairn_sample *sample, uint32_t item)
{
    enum cairn_phase phase = phase_of(pass, sample->thread, sample->node);
    bool idle = may_be_idle(pass, sample->thread, sample->node);
    uint64_t blocked_ns = sample->state_ns[CAIRN_STATE_BLOCKED];
    struct cairn_sum sum = {.ticks = sample->ticks};

    if (blocked_ns >= sample->last_ns - sample->first_ns - blocked_ns)
        sum.waiting_ticks = sample->ticks;
    memcpy(sum.state_ns, sample->state_ns, sizeof(sum.state_ns));
    cairn_sum_add(&pass->whos[sample->thread].sums[phase][idle], &sum);
    cairn_sum_add(&pass->sums.items.items[item], &sum);
    CAIRN_TRY(add_beside(pass, sample, idle));
    if (pass->tally->strips.count)
        CAIRN_TRY(add_strips(pass, sample, phase, idle, item));
    return add_draws(pass, sample, phase, idle);
}

/* In rounds, each of which asks memory for what the next one needs: waiting for it, sample by
 * sample, would take most of a tally. */
static int add_batch(struct pass *pass, const struct cairn_sample *samples, size_t count)
{
    uint32_t kept[CAIRN_SAMPLES_BATCH], items[CAIRN_SAMPLES_BATCH];
    size_t kept_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_kept(pass, &samples[i]))
            continue;
        cairn_sums_prefetch(&pass->sums, pass->whos[samples[i].thread].group, samples[i].node);
        kept[kept_count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < kept_count; i++) {
        const struct cairn_sample *sample = &samples[kept[i]];

        CAIRN_TRY(cairn_sums_item(&pass->sums, pass->whos[sample->thread].group, sample->node,
                                  &items[i]));
        __builtin_prefetch(&pass->sums.items.items[items[i]], 1);
    }
    for (size_t i = 0; i < kept_count; i++)
        CAIRN_TRY(add_sample(pass, &samples[kept[i]], items[i]));
    return 0;
}

/* The chosen range, from the start of the recording, as absolute times. */
static void choose_range(struct cairn_tally *tally)
{
    const struct cairn_filter *filter = &tally->filter;
    uint64_t first_ns, last_ns, to_ns;

    cairn_model_span(tally->model, &first_ns, &last_ns);
    if (__builtin_add_overflow(first_ns, filter->from_ns, &tally->first_ns) ||
        tally->first_ns > last_ns)
        tally->first_ns = last_ns;
    if (__builtin_add_overflow(first_ns, filter->to_ns, &to_ns) || to_ns > last_ns)
        to_ns = last_ns;
    tally->last_ns = to_ns > tally->first_ns ? to_ns : tally->first_ns;
}

/* The metric GIL keeps samples at which it was held; where none tells, it is n/a, and all are kept
 * to say so. */
static int choose_overlays(struct pass *pass, struct cairn_err *err)
{
    struct cairn_samples *samples;
    struct cairn_sample sample;
    bool told = false;
    int code = 0;

    if (pass->tally->filter.metric != CAIRN_METRIC_GIL)
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
static int stream_calls(struct pass *pass, struct cairn_err *err)
{
    struct cairn_tally *tally = pass->tally;
    const struct cairn_call_sum *calls;
    size_t count = cairn_model_calls(pass->model, &calls);

    choose_range(tally);
    for (size_t i = 0; i < count; i++) {
        const struct cairn_call_sum *call = &calls[i];
        struct cairn_sum sum = {.ticks = call->calls + call->resumes};
        enum cairn_phase phase = phase_of(pass, call->thread, call->node);
        uint32_t item;

        if (!tally->kept[call->thread] || !cairn_tally_keeps_node(tally, call->node))
            continue;
        sum.state_ns[CAIRN_STATE_UNKNOWN] = call->self_ns; /* what it did meanwhile nobody knows */
        if (cairn_sums_item(&pass->sums, pass->whos[call->thread].group, call->node, &item) < 0)
            return fail(err, -CAIRN_ENOMEM);
        cairn_sum_add(&pass->whos[call->thread].sums[phase][0], &sum);
        cairn_sum_add(&pass->sums.items.items[item], &sum);
    }
    cairn_blocker_sums_finish(&pass->blockers, &tally->blockers);
    return 0;
}

static int stream(struct pass *pass, struct cairn_err *err)
{
    struct cairn_tally *tally = pass->tally;
    const struct cairn_filter *filter = &tally->filter;
    const struct cairn_sample *batch;
    struct cairn_samples *samples;
    size_t count;
    int code = 0;

    if (filter->metric == CAIRN_METRIC_COUNTED)
        return stream_calls(pass, err);
    choose_range(tally);
    if (filter->metric != CAIRN_METRIC_WALL) {
        cairn_strips_init(&tally->strips, tally->first_ns, tally->last_ns, CAIRN_STRIPS_ROOM);
        cairn_strips_init(&tally->thread_strips, tally->first_ns, tally->last_ns,
                          CAIRN_STRIPS_ROOM);
    }
    CAIRN_TRY(choose_overlays(pass, err));
    if (filter->region && (code = cairn_region_cut(tally, err)) < 0)
        return code == -CAIRN_ENOTFOUND ? code : fail(err, code);
    CAIRN_TRY(cairn_tally_open(tally, pass->model, &samples, err));
    while (code == 0 && (code = cairn_samples_batch(samples, &batch, &count)) == 0)
        code = add_batch(pass, batch, count);
    tally->ticks = cairn_samples_ticks(samples);
    cairn_samples_free(samples);
    if (code != -CAIRN_EEND)
        return fail(err, code);
    cairn_draws_finish(&pass->draws, tally->draws);
    cairn_strips_match(&tally->strips, &tally->thread_strips);
    cairn_blocker_sums_finish(&pass->blockers, &tally->blockers);
    return 0;
}

/* What the metric cannot be told from is said instead of 0. */
static void judge_metric(struct cairn_tally *tally)
{
    enum cairn_metric metric = tally->filter.metric;
    uint64_t known_ns = 0;

    if (metric == CAIRN_METRIC_COUNTED) {
        tally->known = cairn_model_counter(tally->model, "exact_processes") > 0;
        tally->why = "calls are counted one by one with `cairn run --exact` alone";
        return;
    }
    for (int i = 0; i < CAIRN_STATE_UNKNOWN; i++)
        known_ns += tally->state_ns[i];
    tally->known = metric == CAIRN_METRIC_WALL || tally->looked_at_ns == 0;
    if (tally->known)
        return;
    if (metric == CAIRN_METRIC_GIL && tally->overlay_unknown_ns[0] == tally->looked_at_ns)
        tally->why = "where this Python keeps its GIL is not known to this Cairn, or the recording "
                     "is older than that";
    else if (metric != CAIRN_METRIC_GIL && known_ns == 0)
        tally->why = "the kernel did not tell how long threads ran: perf events and "
                     "/proc/PID/task/TID/schedstat were both closed to Cairn";
    else if (metric == CAIRN_METRIC_GIL_WAIT && tally->wait_unknown_ns > 0 &&
             tally->wait_unknown_ns == tally->state_ns[CAIRN_STATE_BLOCKED])
        tally->why = "the kernel did not tell what threads waited for: /proc/PID/task/TID/syscall "
                     "was closed to Cairn, or the recording is older than that";
    else
        tally->known = true;
}

static int by_place(const void *left, const void *right)
{
    const struct cairn_cell *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->phase > b->phase) - (a->phase < b->phase);
}

static void add_weight(struct cairn_weight *weight, const struct cairn_weight *more)
{
    weight->ticks += more->ticks;
    weight->value_ns += more->value_ns;
}

static void add_cell(struct cairn_cell *cell, const struct cairn_cell *more,
                     struct cairn_strips *strips)
{
    for (int idle = 0; idle < 2; idle++)
        cell->strips_item[idle] =
            cairn_strips_join(strips, cell->strips_item[idle], more->strips_item[idle]);
    add_weight(&cell->weight, &more->weight);
    add_weight(&cell->idle, &more->idle);
    cell->idle_blocked_ns += more->idle_blocked_ns;
    for (int i = 0; i < CAIRN_STATE_COUNT; i++)
        cell->state_ns[i] += more->state_ns[i];
}

static void add_to_totals(struct cairn_tally *tally, const struct cairn_cell *cell, uint8_t kinds)
{
    add_weight(&tally->total, &cell->weight);
    add_weight(&tally->idle, &cell->idle);
    add_weight(&tally->phase[cell->phase], &cell->weight);
    for (int i = 0; i < CAIRN_STATE_COUNT; i++)
        tally->state_ns[i] += cell->state_ns[i];
    if (kinds & CAIRN_KIND_TORN)
        tally->torn += cell->weight.ticks;
    if (kinds & CAIRN_KIND_TRUNCATED)
        tally->truncated += cell->weight.ticks;
}

/* Adds a sum to a cell of the same phase. */
static void add_sum(const struct pass *pass, const struct cairn_sum *sum, bool may_be_idle,
                    struct cairn_cell *cell)
{
    enum cairn_metric metric = pass->tally->filter.metric;

    cell->weight.ticks += sum->ticks;
    cell->weight.value_ns += cairn_tally_value(pass->tally, sum->state_ns);
    for (int i = 0; i < CAIRN_STATE_COUNT; i++)
        cell->state_ns[i] += sum->state_ns[i];
    if (!may_be_idle)
        return;
    cell->idle.ticks += sum->waiting_ticks;
    cell->idle.value_ns += idle_value_of(sum->state_ns[CAIRN_STATE_BLOCKED], metric);
    cell->idle_blocked_ns += sum->state_ns[CAIRN_STATE_BLOCKED];
}

static struct cairn_cell cell_of(const struct pass *pass, size_t at)
{
    const struct cairn_sum_place *place = &pass->sums.places.items[at];
    uint32_t thread = pass->group_firsts[place->group];
    struct cairn_cell cell = {
        .thread = thread,
        .node = pass->tally->fold ? pass->tally->fold[place->node] : place->node,
        .phase = (uint8_t)phase_of(pass, thread, place->node),
        .strips_item = {CAIRN_STRIPS_NONE, CAIRN_STRIPS_NONE},
    };
    bool idle = may_be_idle(pass, thread, place->node);

    cell.strips_item[idle && pass->tally->filter.metric == CAIRN_METRIC_BLOCKED] = (uint32_t)at;
    add_sum(pass, &pass->sums.items.items[at], idle, &cell);
    return cell;
}

static bool is_in_order(const struct cairn_tally *tally)
{
    for (size_t i = 1; i < tally->cell_count; i++)
        if (by_place(&tally->cells[i - 1], &tally->cells[i]) > 0)
            return false;
    return true;
}

/* The sums as cells, in order; what folding made one is one. */
static int make_cells(struct pass *pass)
{
    struct cairn_tally *tally = pass->tally;
    size_t count = pass->sums.items.count, kept = 0;
    uint32_t *order = cairn_sums_order(&pass->sums);

    tally->cells = cairn_calloc(count + 1, sizeof(*tally->cells));
    if (!order || !tally->cells) {
        free(order);
        return -CAIRN_ENOMEM;
    }
    tally->cell_count = count;
    for (size_t i = 0; i < count; i++) {
        tally->cells[i] = cell_of(pass, order[i]);
        add_to_totals(tally, &tally->cells[i],
                      pass->tally->kinds[pass->sums.places.items[order[i]].node]);
    }
    free(order);
    /* Folding moves them; else there is nothing to do. */
    if (!is_in_order(tally))
        qsort(tally->cells, count, sizeof(*tally->cells), by_place);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_place(&tally->cells[kept - 1], &tally->cells[i]) == 0)
            add_cell(&tally->cells[kept - 1], &tally->cells[i], &tally->strips);
        else
            tally->cells[kept++] = tally->cells[i];
    }
    tally->cell_count = kept;
    return 0;
}

static int make_thread_cells(struct pass *pass)
{
    struct cairn_tally *tally = pass->tally;

    tally->thread_cells =
        cairn_calloc(pass->thread_count * CAIRN_PHASE_COUNT + 1, sizeof(*tally->thread_cells));
    if (!tally->thread_cells)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < pass->thread_count; i++)
        for (int phase = 0; phase < CAIRN_PHASE_COUNT; phase++) {
            struct cairn_cell cell = {.thread = (uint32_t)i, .phase = (uint8_t)phase};

            for (int idle = 0; idle < 2; idle++) {
                cell.strips_item[idle] = thread_strips_item((uint32_t)i, phase, idle);
                add_sum(pass, &pass->whos[i].sums[phase][idle], idle, &cell);
            }
            if (cell.weight.ticks)
                tally->thread_cells[tally->thread_cell_count++] = cell;
        }
    return 0;
}

static bool is_uncounted(const struct cairn_model *model)
{
    struct cairn_span told = cairn_model_env(model, "import.samples");

    return told.size_bytes == 7 && memcmp(told.data, "unknown", 7) == 0;
}

static int make(struct pass *pass, struct cairn_err *err)
{
    const struct cairn_thread *threads;
    const struct cairn_node *nodes;
    size_t node_count = cairn_model_nodes(pass->model, &nodes);
    int code;

    pass->thread_count = cairn_model_threads(pass->model, &threads);
    pass->whos = cairn_calloc(pass->thread_count + 1, sizeof(*pass->whos));
    pass->group_firsts = cairn_calloc(pass->thread_count + 1, sizeof(*pass->group_firsts));
    pass->tally->kept = cairn_calloc(pass->thread_count + 1, sizeof(*pass->tally->kept));
    code = cairn_blocker_sums_init(&pass->blockers, pass->model);
    if (code < 0 || !pass->whos || !pass->tally->kept || !pass->group_firsts ||
        cairn_roles_make(pass->model, &pass->tally->roles) < 0)
        return fail(err, -CAIRN_ENOMEM);
    CAIRN_TRY(cairn_kinds_make(pass->model, &pass->tally->filter, &pass->tally->kinds, err));
    choose_threads(pass);
    code = group_threads(pass);
    if (code == 0)
        code = cairn_sums_init(&pass->sums, pass->group_count, node_count);
    if (code == 0 && pass->tally->filter.only_my_code)
        code = fold(pass);
    if (code < 0)
        return fail(err, code);
    CAIRN_TRY(stream(pass, err));
    if (make_cells(pass) < 0 || make_thread_cells(pass) < 0)
        return fail(err, -CAIRN_ENOMEM);
    judge_metric(pass->tally);
    pass->tally->counted =
        pass->tally->filter.metric != CAIRN_METRIC_COUNTED && !is_uncounted(pass->model);
    return 0;
}

int cairn_tally_make(const struct cairn_model *model, const struct cairn_filter *filter,
                     struct cairn_tally *ret_tally, struct cairn_err *err)
{
    struct cairn_tally tally = {.model = model, .filter = *filter};
    struct pass pass = {.model = model, .tally = &tally};
    int code;

    cairn_draws_init(&pass.draws);
    code = make(&pass, err);
    cairn_sums_release(&pass.sums);
    cairn_draws_release(&pass.draws);
    cairn_blocker_sums_release(&pass.blockers);
    free(pass.whos);
    free(pass.group_firsts);
    if (code < 0)
        cairn_tally_release(&tally);
    else
        *ret_tally = tally;
    return code;
}

void cairn_tally_release(struct cairn_tally *tally)
{
    free(tally->kept);
    free(tally->kinds);
    free(tally->fold);
    free(tally->cells);
    free(tally->thread_cells);
    cairn_vec_release(&tally->blockers);
    cairn_strips_release(&tally->strips);
    cairn_strips_release(&tally->thread_strips);
    cairn_windows_release(&tally->windows);
    cairn_roles_release(&tally->roles);
    cairn_model_free(tally->view);
    *tally = (struct cairn_tally){0};
}
