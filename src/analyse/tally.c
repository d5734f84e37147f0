#include "tally.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "kinds.h"
#include "tally_metric.h"
#include "tally_pass.h"
#include "tally_samples.h"

const char *cairn_phase_name(enum cairn_phase phase)
{
    static const char *const names[CAIRN_PHASE_COUNT] = {"start-up+exit", "import", "program"};

    return names[phase];
}

int cairn_pass_fail(struct cairn_err *err, int code)
{
    return cairn_err_set(err, code, 0, "tally", "cannot add the samples up: %s",
                         cairn_err_sentence(code));
}

static int choose_processes(struct cairn_pass *pass, const struct cairn_thread *threads,
                            size_t count)
{
    const struct cairn_process *processes;
    struct cairn_tally *tally = pass->tally;
    bool *any = cairn_calloc(cairn_model_processes(pass->model, &processes) + 1, sizeof(*any));

    if (any == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < count; i++)
        any[threads[i].process] |= tally->kept[i];
    for (size_t i = 0; i < count; i++)
        tally->kept_process[i] = any[threads[i].process];
    free(any);
    return 0;
}

/* Nobody made it whom the recording knows. Another one without Python, a compiler that the program
 * calls, is at work for the program from its start. */
static bool is_first(const struct cairn_process *process)
{
    return process->parent == UINT32_MAX;
}

static int choose_threads(struct cairn_pass *pass)
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
        pass->whos[i].main = !attached && threads[i].tid == process->pid &&
                             (threads[i].python || process->before || is_first(process));
    }
    return choose_processes(pass, threads, count);
}

/* Each thread is a group of its own; or those of a process that are alike in all that decides
 * about phase and idleness are one. */
static int group_threads(struct cairn_pass *pass)
{
    const struct cairn_thread *threads;
    struct cairn_map groups;
    int code = 0;

    cairn_model_threads(pass->model, &threads);
    cairn_map_init(&groups, pass->thread_count);
    for (size_t i = 0; i < pass->thread_count && code == 0; i++) {
        struct cairn_pass_who *who = &pass->whos[i];
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
static int fold(struct cairn_pass *pass)
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

int cairn_cell_compare(const void *left, const void *right)
{
    const struct cairn_cell *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->slice != b->slice)
        return a->slice < b->slice ? -1 : 1;
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
static void add_sum(const struct cairn_pass *pass, const struct cairn_sum *sum, bool may_be_idle,
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
    cell->idle.value_ns += cairn_pass_idle_value(sum->state_ns[CAIRN_STATE_BLOCKED], metric);
    cell->idle_blocked_ns += sum->state_ns[CAIRN_STATE_BLOCKED];
}

static struct cairn_cell cell_of(const struct cairn_pass *pass, size_t at)
{
    const struct cairn_sum_place *place = &pass->sums.places.items[at];
    uint32_t thread = pass->group_firsts[place->group / pass->slices];
    struct cairn_cell cell = {
        .thread = thread,
        .slice = place->group % pass->slices,
        .node = pass->tally->fold ? pass->tally->fold[place->node] : place->node,
        .phase = (uint8_t)cairn_pass_phase(pass, thread, place->node),
        .strips_item = {CAIRN_STRIPS_NONE, CAIRN_STRIPS_NONE},
    };
    /* Where a task waits is what was asked for. */
    bool idle = !pass->tally->filter.task && cairn_pass_may_be_idle(pass, thread, place->node);

    cell.strips_item[idle && pass->tally->filter.metric == CAIRN_METRIC_BLOCKED] = (uint32_t)at;
    add_sum(pass, &pass->sums.items.items[at], idle, &cell);
    return cell;
}

static bool is_in_order(const struct cairn_tally *tally)
{
    for (size_t i = 1; i < tally->cell_count; i++)
        if (cairn_cell_compare(&tally->cells[i - 1], &tally->cells[i]) > 0)
            return false;
    return true;
}

/* The sums as cells, in order; what folding made one is one. */
static int make_cells(struct cairn_pass *pass)
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
        qsort(tally->cells, count, sizeof(*tally->cells), cairn_cell_compare);
    for (size_t i = 0; i < count; i++) {
        if (kept && cairn_cell_compare(&tally->cells[kept - 1], &tally->cells[i]) == 0)
            add_cell(&tally->cells[kept - 1], &tally->cells[i], &tally->strips);
        else
            tally->cells[kept++] = tally->cells[i];
    }
    tally->cell_count = kept;
    return 0;
}

static int make_thread_cells(struct cairn_pass *pass)
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
                cell.strips_item[idle] = cairn_pass_strips_item((uint32_t)i, phase, idle);
                add_sum(pass, &pass->whos[i].sums[phase][idle], idle, &cell);
            }
            if (cell.weight.ticks)
                tally->thread_cells[tally->thread_cell_count++] = cell;
        }
    return 0;
}

void cairn_pass_init(struct cairn_pass *pass, const struct cairn_model *model,
                     struct cairn_tally *tally)
{
    *pass = (struct cairn_pass){
        .model = model,
        .tally = tally,
        .slices = tally->filter.slices > 1 ? tally->filter.slices : 1,
        .items_max = SIZE_MAX,
    };
    cairn_draws_init(&pass->draws);
}

int cairn_pass_begin(struct cairn_pass *pass, struct cairn_err *err)
{
    const struct cairn_thread *threads;
    const struct cairn_node *nodes;
    size_t node_count = cairn_model_nodes(pass->model, &nodes);
    int code;

    pass->thread_count = cairn_model_threads(pass->model, &threads);
    pass->whos = cairn_calloc(pass->thread_count + 1, sizeof(*pass->whos));
    pass->group_firsts = cairn_calloc(pass->thread_count + 1, sizeof(*pass->group_firsts));
    pass->tally->kept = cairn_calloc(pass->thread_count + 1, sizeof(*pass->tally->kept));
    pass->tally->kept_process =
        cairn_calloc(pass->thread_count + 1, sizeof(*pass->tally->kept_process));
    code = cairn_blocker_sums_init(&pass->blockers, pass->model);
    if (code < 0 || !pass->whos || !pass->tally->kept || !pass->tally->kept_process ||
        !pass->group_firsts || cairn_roles_make(pass->model, &pass->tally->roles) < 0)
        return cairn_pass_fail(err, -CAIRN_ENOMEM);
    CAIRN_TRY(cairn_kinds_make(pass->model, &pass->tally->filter, &pass->tally->kinds, err));
    code = choose_threads(pass);
    if (code == 0)
        code = group_threads(pass);
    if (code == 0)
        code = cairn_sums_init(&pass->sums, pass->group_count * pass->slices, node_count);
    if (code == 0 && pass->tally->filter.only_my_code)
        code = fold(pass);
    return code < 0 ? cairn_pass_fail(err, code) : 0;
}

int cairn_pass_end(struct cairn_pass *pass, struct cairn_err *err)
{
    if (make_cells(pass) < 0 || make_thread_cells(pass) < 0)
        return cairn_pass_fail(err, -CAIRN_ENOMEM);
    cairn_tally_judge(pass->tally);
    return 0;
}

void cairn_pass_release(struct cairn_pass *pass)
{
    cairn_sums_release(&pass->sums);
    cairn_draws_release(&pass->draws);
    cairn_blocker_sums_release(&pass->blockers);
    free(pass->whos);
    free(pass->group_firsts);
}

int cairn_tally_make_up_to(const struct cairn_model *model, const struct cairn_filter *filter,
                           size_t cells_max, struct cairn_tally *ret_tally, struct cairn_err *err)
{
    struct cairn_tally tally = {.model = model, .filter = *filter};
    struct cairn_pass pass;
    int code;

    cairn_pass_init(&pass, model, &tally);
    if (!filter->only_my_code) /* else what is more may become less */
        pass.items_max = cells_max;
    code = cairn_pass_begin(&pass, err);
    if (code == 0)
        code = cairn_pass_stream(&pass, err);
    if (code == 0)
        code = cairn_pass_end(&pass, err);
    if (code == 0 && tally.cell_count > cells_max)
        code = -CAIRN_ELIMIT;
    cairn_pass_release(&pass);
    if (code < 0)
        cairn_tally_release(&tally);
    else
        *ret_tally = tally;
    return code;
}

int cairn_tally_make(const struct cairn_model *model, const struct cairn_filter *filter,
                     struct cairn_tally *ret_tally, struct cairn_err *err)
{
    return cairn_tally_make_up_to(model, filter, SIZE_MAX, ret_tally, err);
}

void cairn_tally_release(struct cairn_tally *tally)
{
    free(tally->kept);
    free(tally->kept_process);
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
