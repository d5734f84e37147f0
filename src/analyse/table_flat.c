/* Rows that no stack is needed for: by thread, process, state. */
#include "table_priv.h"

#include <string.h>

static void add(struct cairn_weight *weight, const struct cairn_weight *more)
{
    weight->ticks += more->ticks;
    weight->value_ns += more->value_ns;
}

static void fill_thread(const struct cairn_model *model, uint32_t index, struct cairn_row *row)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;

    cairn_model_threads(model, &threads);
    cairn_model_processes(model, &processes);
    row->kind = "thread";
    row->function = UINT32_MAX;
    row->name = row->qualname = threads[index].name;
    row->module = processes[threads[index].process].name;
    row->thread = index;
    row->process = threads[index].process;
}

static void fill_process(const struct cairn_model *model, uint32_t index, struct cairn_row *row)
{
    const struct cairn_process *processes;

    cairn_model_processes(model, &processes);
    row->kind = "process";
    row->function = UINT32_MAX;
    row->name = processes[index].name;
    row->qualname = processes[index].command;
    row->process = index;
    row->thread = UINT32_MAX;
}

static int by_thread(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                     struct cairn_rows *rows)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    bool by_process = options->by == CAIRN_BY_PROCESS;
    size_t thread_count = cairn_model_threads(tally->model, &threads);
    size_t count = by_process ? cairn_model_processes(tally->model, &processes) : thread_count;
    size_t kept = 0;

    CAIRN_TRY(cairn_rows_begin(tally, options, count, rows));
    for (size_t i = 0; i < tally->thread_cell_count; i++) {
        uint32_t thread = tally->thread_cells[i].thread;
        struct cairn_weight weight = cairn_cell_weight(&tally->thread_cells[i], options);

        add(&rows->items[by_process ? threads[thread].process : thread].self, &weight);
    }
    for (size_t i = 0; i < count; i++) {
        struct cairn_row row = {.self = rows->items[i].self, .total = rows->items[i].self};

        if (!row.self.ticks && !row.self.value_ns)
            continue;
        if (by_process)
            fill_process(tally->model, (uint32_t)i, &row);
        else
            fill_thread(tally->model, (uint32_t)i, &row);
        rows->items[kept++] = row;
    }
    rows->count = kept;
    return 0;
}

/* States partition wall time, whatever the metric. A cell's samples go to its states in proportion,
 * what rounding leaves to the largest, so that the rows add up to all samples. */
static void add_states(const struct cairn_cell *cell, const struct cairn_rows_options *options,
                       struct cairn_row *rows)
{
    struct cairn_weight weight = cairn_cell_weight(cell, options);
    uint64_t state_ns[CAIRN_STATE_COUNT], wall_ns = 0, left = weight.ticks;
    int largest = 0;

    if (options->program_only && cell->phase != CAIRN_PHASE_PROGRAM)
        return;
    for (int i = 0; i < CAIRN_STATE_COUNT; i++) {
        state_ns[i] = cell->state_ns[i];
        if (i == CAIRN_STATE_BLOCKED && !options->with_idle)
            state_ns[i] -= cell->idle_blocked_ns;
        wall_ns += state_ns[i];
        if (state_ns[i] > state_ns[largest])
            largest = i;
    }
    for (int i = 0; i < CAIRN_STATE_COUNT; i++) {
        uint64_t ticks = 0;

        if (wall_ns)
            ticks = (uint64_t)((unsigned __int128)weight.ticks * state_ns[i] / wall_ns);
        rows[i].self.ticks += ticks;
        rows[i].self.value_ns += state_ns[i];
        left -= ticks;
    }
    rows[largest].self.ticks += left;
}

static int by_state(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                    struct cairn_rows *rows)
{
    size_t kept = 0;

    CAIRN_TRY(cairn_rows_begin(tally, options, CAIRN_STATE_COUNT, rows));
    for (size_t i = 0; i < tally->thread_cell_count; i++)
        add_states(&tally->thread_cells[i], options, rows->items);
    rows->base.value_ns = 0;
    for (int i = 0; i < CAIRN_STATE_COUNT; i++) {
        struct cairn_row row = {.self = rows->items[i].self, .total = rows->items[i].self};
        const char *name = cairn_state_name((enum cairn_state)i);

        if (!row.self.ticks && !row.self.value_ns)
            continue;
        row.kind = "state";
        row.name = row.qualname = (struct cairn_span){(const uint8_t *)name, strlen(name)};
        row.function = row.process = row.thread = UINT32_MAX;
        rows->base.value_ns += row.self.value_ns;
        rows->items[kept++] = row;
    }
    rows->count = kept;
    return 0;
}

int cairn_rows_flat(const struct cairn_tally *tally, const struct cairn_rows_options *options,
                    struct cairn_rows *rows)
{
    return options->by == CAIRN_BY_STATE ? by_state(tally, options, rows)
                                         : by_thread(tally, options, rows);
}
