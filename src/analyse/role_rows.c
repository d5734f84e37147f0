#include "role_rows.h"

#include <stdlib.h>

#include "alloc.h"
#include "table_priv.h"

/* What one process did, as far as the tally keeps it. */
struct process_sum {
    uint32_t process;
    uint64_t wall_ns, cpu_ns;
    size_t cells; /* 0: it was never sampled, or left out */
};

struct gathering {
    const struct cairn_tally *tally;
    const struct cairn_rows_options *options;
    const struct cairn_thread *threads;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    size_t process_count;
    struct process_sum *sums; /* by process, later by role and number */
    size_t *cells;            /* indexes of the tally's cells, by role */
    size_t *role_ends;        /* of each role, in `cells` */
    uint64_t *function_ns;    /* of each function; 0 between two roles */
    uint64_t *times_ns;       /* of the processes of a role */
};

static uint32_t role_of(const struct gathering *g, const struct cairn_cell *cell)
{
    return g->tally->roles.of[g->threads[cell->thread].process];
}

/* Cells are ordered by thread. */
static void sum_processes(struct gathering *g)
{
    const struct cairn_tally *tally = g->tally;
    uint64_t wall_ns = 0;

    for (size_t i = 0; i < g->process_count; i++)
        g->sums[i].process = (uint32_t)i;
    for (size_t i = 0; i < tally->cell_count; i++) {
        const struct cairn_cell *cell = &tally->cells[i];
        struct process_sum *sum = &g->sums[g->threads[cell->thread].process];

        if (i == 0 || cell->thread != tally->cells[i - 1].thread)
            wall_ns = 0;
        for (int state = 0; state < CAIRN_STATE_COUNT; state++)
            wall_ns += cell->state_ns[state];
        sum->wall_ns = wall_ns > sum->wall_ns ? wall_ns : sum->wall_ns;
        sum->cpu_ns += cell->state_ns[CAIRN_STATE_RUNNING];
        sum->cells++;
    }
}

static void order_cells(struct gathering *g)
{
    const struct cairn_tally *tally = g->tally;
    size_t start = 0;

    for (size_t i = 0; i < tally->cell_count; i++)
        g->role_ends[role_of(g, &tally->cells[i])]++;
    for (size_t i = 0; i < tally->roles.count; i++) {
        size_t count = g->role_ends[i];

        g->role_ends[i] = start;
        start += count;
    }
    for (size_t i = 0; i < tally->cell_count; i++)
        g->cells[g->role_ends[role_of(g, &tally->cells[i])]++] = i;
}

static int by_role(const void *left, const void *right, void *ctx)
{
    const struct process_sum *a = left, *b = right;
    const struct cairn_roles *roles = ctx;

    if (roles->of[a->process] != roles->of[b->process])
        return roles->of[a->process] < roles->of[b->process] ? -1 : 1;
    return roles->numbers[a->process] < roles->numbers[b->process] ? -1 : 1;
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static struct cairn_spread spread_of(uint64_t *times_ns, size_t count)
{
    size_t middle = count / 2;
    uint64_t median_ns;

    qsort(times_ns, count, sizeof(*times_ns), by_size);
    median_ns = times_ns[middle];
    if (count % 2 == 0)
        median_ns = times_ns[middle - 1] + (times_ns[middle] - times_ns[middle - 1]) / 2;
    return (struct cairn_spread){times_ns[0], median_ns, times_ns[count - 1]};
}

/* The processes of a role begin at sums[at]; returns where they end. */
static size_t spread_role(struct gathering *g, size_t at, struct cairn_role_row *row)
{
    const struct cairn_roles *roles = &g->tally->roles;
    size_t end = at;

    for (; end < g->process_count && roles->of[g->sums[end].process] == row->role; end++) {
        if (!g->sums[end].cells)
            continue;
        row->last = roles->numbers[g->sums[end].process];
        if (!row->processes)
            row->first = row->last;
        g->times_ns[row->processes++] = g->sums[end].wall_ns;
    }
    if (!row->processes)
        return end;
    row->wall = spread_of(g->times_ns, row->processes);
    for (size_t i = at, k = 0; i < end; i++)
        if (g->sums[i].cells)
            g->times_ns[k++] = g->sums[i].cpu_ns;
    row->cpu = spread_of(g->times_ns, row->processes);
    return end;
}

static uint32_t function_of(const struct gathering *g, size_t cell)
{
    return g->frames[g->nodes[g->tally->cells[cell].node].frame].function;
}

/* Sums a role's functions; false when there is nothing to sum. */
static bool add_functions(struct gathering *g, struct cairn_role_row *row, size_t start, size_t end,
                          bool program_only)
{
    struct cairn_rows_options options = *g->options;

    options.program_only = program_only;
    for (size_t i = start; i < end; i++) {
        const struct cairn_cell *cell = &g->tally->cells[g->cells[i]];
        uint64_t value_ns = cairn_cell_weight(cell, &options).value_ns;

        g->function_ns[function_of(g, g->cells[i])] += value_ns;
        row->base_ns += value_ns;
    }
    return row->base_ns > 0;
}

static void find_function(struct gathering *g, struct cairn_role_row *row)
{
    size_t start = row->role ? g->role_ends[row->role - 1] : 0, end = g->role_ends[row->role];

    row->function = UINT32_MAX;
    if (!add_functions(g, row, start, end, true))
        add_functions(g, row, start, end, false);
    for (size_t i = start; i < end; i++) {
        uint32_t function = function_of(g, g->cells[i]);

        if (g->function_ns[function] > row->function_ns) {
            row->function = function;
            row->function_ns = g->function_ns[function];
        }
    }
    for (size_t i = start; i < end; i++)
        g->function_ns[function_of(g, g->cells[i])] = 0;
}

static int make(struct gathering *g, struct cairn_role_rows *rows)
{
    const struct cairn_roles *roles = &g->tally->roles;

    if (!g->sums || !g->cells || !g->role_ends || !g->function_ns || !g->times_ns || !rows->items)
        return -CAIRN_ENOMEM;
    sum_processes(g);
    order_cells(g);
    qsort_r(g->sums, g->process_count, sizeof(*g->sums), by_role, (void *)(uintptr_t)roles);
    for (size_t role = 0, at = 0; role < roles->count; role++) {
        struct cairn_role_row *row = &rows->items[rows->count];

        *row = (struct cairn_role_row){.role = (uint32_t)role};
        at = spread_role(g, at, row);
        if (!row->processes)
            continue;
        find_function(g, row);
        rows->count++;
    }
    return 0;
}

int cairn_role_rows_make(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                         struct cairn_role_rows *ret_rows)
{
    struct gathering g = {.tally = tally, .options = options};
    const struct cairn_process *processes;
    const struct cairn_function *functions;
    size_t function_count = cairn_model_functions(tally->model, &functions);
    int code;

    g.process_count = cairn_model_processes(tally->model, &processes);
    cairn_model_threads(tally->model, &g.threads);
    cairn_model_frames(tally->model, &g.frames);
    cairn_model_nodes(tally->model, &g.nodes);
    g.sums = cairn_calloc(g.process_count + 1, sizeof(*g.sums));
    g.cells = cairn_calloc(tally->cell_count + 1, sizeof(*g.cells));
    g.role_ends = cairn_calloc(tally->roles.count + 1, sizeof(*g.role_ends));
    g.function_ns = cairn_calloc(function_count + 1, sizeof(*g.function_ns));
    g.times_ns = cairn_calloc(g.process_count + 1, sizeof(*g.times_ns));
    *ret_rows = (struct cairn_role_rows){
        .items = cairn_calloc(tally->roles.count + 1, sizeof(*ret_rows->items))};
    code = make(&g, ret_rows);
    free(g.sums);
    free(g.cells);
    free(g.role_ends);
    free(g.function_ns);
    free(g.times_ns);
    if (code < 0)
        cairn_role_rows_release(ret_rows);
    return code;
}

void cairn_role_rows_release(struct cairn_role_rows *rows)
{
    free(rows->items);
    *rows = (struct cairn_role_rows){0};
}
