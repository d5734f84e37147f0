#include "samples.h"

#include <stdlib.h>
#include <string.h>

#include "ahead.h"
#include "alloc.h"
#include "chunks.h"
#include "decode.h"

/* Time a thread was seen to run or to wait for a processor that its rows had no room for yet. */
struct carry {
    uint64_t running_ns, runnable_ns;
};

/* The columns of the sample table being read; those from `cpu` on may be NULL. */
struct columns {
    const uint64_t *track, *tick, *ticks, *stack, *cpu, *runq, *state, *overlays, *on;
};

struct cairn_samples {
    const struct cairn_model *model;
    uint64_t from_ns, to_ns;
    struct carry *carries;               /* one a thread */
    const bool *chosen;                  /* of the threads; NULL: all */
    const struct cairn_windows *windows; /* NULL: all times */

    struct cairn_chunks chunks;
    bool in_chunk;
    struct cairn_ticks ticks;
    struct cairn_table table;
    struct columns columns;
    size_t row;
    struct cairn_sample whole; /* a row of which windows have left parts to come */
    uint32_t whole_left;       /* of its ticks, the last ones */
    uint64_t block, ticks_seen;
    struct cairn_sample batch[CAIRN_SAMPLES_BATCH];
    size_t batch_count;

    bool begun;
    struct cairn_ahead *ahead; /* makes the batches; NULL: they are made when they are asked for */
    const struct cairn_sample *next; /* of cairn_samples_next() */
    size_t next_count;
};

#define LONG_CHUNKS 64 /* as many take longer than it takes a thread to begin */

#define HOLDS (1u | 1u << CAIRN_ROW_SAMPLE)

/* Of a recording that has no such column. */
#define OVERLAYS_UNKNOWN                                                                           \
    (CAIRN_OVERLAY_GIL_UNKNOWN | CAIRN_OVERLAY_GC_UNKNOWN | CAIRN_OVERLAY_EXCEPTION_UNKNOWN |      \
     CAIRN_OVERLAY_WAIT_UNKNOWN)

const char *cairn_metric_name(enum cairn_metric metric)
{
    static const char *const names[CAIRN_METRIC_COUNT] = {
        "wall", "cpu", "gil", "gil-wait", "runq", "blocked", "counted",
    };

    return names[metric];
}

const char *cairn_state_name(enum cairn_state state)
{
    static const char *const names[CAIRN_STATE_COUNT] = {
        "running", "gil_wait", "runnable", "blocked", "stopped", "unknown",
    };

    return names[state];
}

const char *cairn_overlay_name(unsigned overlay)
{
    static const char *const names[CAIRN_OVERLAY_COUNT] = {"gil_held", "gc", "exception"};

    return names[overlay];
}

int cairn_samples_open(const struct cairn_model *model, uint64_t from_ns, uint64_t to_ns,
                       struct cairn_samples **ret_samples, struct cairn_err *err)
{
    const struct cairn_model *base = model->base ? model->base : model;
    struct cairn_samples *samples = cairn_calloc(1, sizeof(*samples));

    if (!samples)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "samples", "cannot read the samples");
    samples->model = base;
    samples->from_ns = from_ns;
    samples->to_ns = to_ns;
    cairn_chunks_init(&samples->chunks, base, from_ns, to_ns, HOLDS);
    cairn_table_init(&samples->table);
    samples->carries = cairn_calloc(base->threads.count + 1, sizeof(*samples->carries));
    if (!samples->carries) {
        cairn_samples_free(samples);
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "samples", "cannot read the samples");
    }
    *ret_samples = samples;
    return 0;
}

void cairn_samples_free(struct cairn_samples *samples)
{
    if (!samples)
        return;
    cairn_ahead_free(samples->ahead);
    cairn_chunks_release(&samples->chunks);
    cairn_ticks_release(&samples->ticks);
    cairn_table_release(&samples->table);
    free(samples->carries);
    free(samples);
}

int cairn_samples_choose(struct cairn_samples *samples, const bool *chosen)
{
    samples->chosen = chosen;
    return cairn_chunks_choose(&samples->chunks, chosen);
}

void cairn_windows_release(struct cairn_windows *windows)
{
    free(windows->items);
    free(windows->firsts);
    *windows = (struct cairn_windows){0};
}

void cairn_samples_within(struct cairn_samples *samples, const struct cairn_windows *windows)
{
    samples->windows = windows;
}

uint64_t cairn_samples_ticks(const struct cairn_samples *samples)
{
    cairn_ahead_stop(samples->ahead);
    return samples->ticks_seen + samples->chunks.passed_ticks;
}

static int load_ticks(struct cairn_samples *samples, struct cairn_span section)
{
    uint64_t shift_ns = samples->chunks.shift_ns;
    int code = cairn_decode_ticks(section, &samples->ticks);

    if (code < 0) {
        samples->ticks.def.count = 0;
        return code;
    }
    samples->ticks.def.before_ns += shift_ns;
    for (size_t i = 0; i < samples->ticks.def.count; i++) {
        uint64_t *time_ns = &samples->ticks.times_ns.items[i];

        *time_ns += shift_ns;
        samples->ticks_seen += *time_ns > samples->from_ns && *time_ns <= samples->to_ns;
    }
    return 0;
}

static int load_table(struct cairn_samples *samples, struct cairn_span section)
{
    const struct cairn_table *table = &samples->table;
    int code = cairn_decode_table(section, &samples->table);

    samples->row = 0;
    if (code < 0 || table->kind != CAIRN_ROW_SAMPLE) {
        samples->table.row_count = 0;
        return code;
    }
    samples->columns = (struct columns){
        .track = cairn_table_find(table, "track"),
        .tick = cairn_table_find(table, "tick"),
        .ticks = cairn_table_find(table, "ticks"),
        .stack = cairn_table_find(table, "stack"),
        .cpu = cairn_table_find(table, "cpu"),
        .runq = cairn_table_find(table, "runq"),
        .state = cairn_table_find(table, "state"),
        .overlays = cairn_table_find(table, "overlays"),
        .on = cairn_table_find(table, "on"),
    };
    if (!samples->columns.track || !samples->columns.tick || !samples->columns.ticks ||
        !samples->columns.stack)
        samples->table.row_count = 0;
    return 0;
}

/* The next section of interest is decoded. 0, -CAIRN_EEND at the end of the chunk, or a code. */
static int next_section(struct cairn_samples *samples)
{
    for (;;) {
        struct cairn_section section;
        uint64_t skipped = 0;
        int code = cairn_section_next(&samples->chunks.sections, &section, &skipped);

        if (code < 0)
            return code == -CAIRN_EDAMAGED ? -CAIRN_EEND : code;
        if (section.kind == CAIRN_SECTION_TICKS)
            code = load_ticks(samples, section.bytes);
        else if (section.kind == CAIRN_SECTION_ROWS)
            code = load_table(samples, section.bytes);
        else
            continue;
        if (code != -CAIRN_EDAMAGED) /* which was counted when the model was loaded */
            return code;
    }
}

static uint64_t quanta_ns(const uint64_t *column, size_t row, uint64_t quantum_ns)
{
    uint64_t ns;

    if (!column)
        return 0;
    return __builtin_mul_overflow(column[row], quantum_ns, &ns) ? UINT64_MAX : ns;
}

/* As much of what is waiting and what came now as there is room for. */
static uint64_t take_ns(uint64_t *waiting_ns, uint64_t more_ns, uint64_t room_ns)
{
    uint64_t all_ns, taken_ns;

    if (__builtin_add_overflow(*waiting_ns, more_ns, &all_ns))
        all_ns = UINT64_MAX;
    taken_ns = all_ns < room_ns ? all_ns : room_ns;
    *waiting_ns = all_ns - taken_ns;
    return taken_ns;
}

static void set_states(struct cairn_samples *samples, struct cairn_sample *sample, size_t row)
{
    const struct columns *columns = &samples->columns;
    uint64_t quantum_ns = samples->ticks.def.quantum_ns;
    uint64_t left_ns = sample->last_ns - sample->first_ns;
    struct carry *carry = &samples->carries[sample->thread];
    uint64_t state = columns->state ? columns->state[row] : CAIRN_SAMPLE_BLOCKED;
    enum cairn_state rest = CAIRN_STATE_BLOCKED;

    if (state == CAIRN_SAMPLE_STOPPED)
        rest = CAIRN_STATE_STOPPED;
    else if (state == CAIRN_SAMPLE_GIL_WAIT && columns->cpu)
        rest = CAIRN_STATE_GIL_WAIT;
    else if (state != CAIRN_SAMPLE_BLOCKED || !columns->cpu)
        rest = CAIRN_STATE_UNKNOWN;

    sample->state_ns[CAIRN_STATE_RUNNING] =
        take_ns(&carry->running_ns, quanta_ns(columns->cpu, row, quantum_ns), left_ns);
    left_ns -= sample->state_ns[CAIRN_STATE_RUNNING];
    sample->state_ns[CAIRN_STATE_RUNNABLE] =
        take_ns(&carry->runnable_ns, quanta_ns(columns->runq, row, quantum_ns), left_ns);
    left_ns -= sample->state_ns[CAIRN_STATE_RUNNABLE];
    sample->state_ns[rest] = left_ns;
}

/* What it waited for, and what held beside its state. */
static void set_overlays(struct cairn_samples *samples, struct cairn_sample *sample, size_t row)
{
    const struct columns *columns = &samples->columns;
    const struct cairn_ids *strings =
        &samples->model->writers.items[samples->chunks.writer].strings;
    uint64_t on = columns->on ? columns->on[row] : 0;

    sample->overlays =
        columns->overlays ? (uint8_t)columns->overlays[row] : (uint8_t)OVERLAYS_UNKNOWN;
    if (!on)
        return;
    sample->on = on > UINT32_MAX ? CAIRN_IDS_LOST : cairn_ids_get(strings, (uint32_t)on);
    if (sample->on == CAIRN_IDS_LOST)
        sample->on = 0;
}

static uint64_t time_before(const struct cairn_samples *samples, uint64_t tick)
{
    return tick ? samples->ticks.times_ns.items[tick - 1] : samples->ticks.def.before_ns;
}

/* Leaves of a sample `ticks` >= 1 of its ticks, from tick `first` of the block on. */
static void cut_to(const struct cairn_samples *samples, uint32_t first, uint32_t ticks,
                   struct cairn_sample *sample)
{
    uint64_t whole_ns = sample->last_ns - sample->first_ns, part_ns, left_ns;
    enum cairn_state rest = CAIRN_STATE_RUNNING;

    sample->tick = first;
    sample->ticks = ticks;
    sample->first_ns = time_before(samples, first);
    sample->last_ns = samples->ticks.times_ns.items[first + ticks - 1];
    part_ns = left_ns = sample->last_ns - sample->first_ns;
    for (int i = 1; i < CAIRN_STATE_COUNT; i++)
        if (sample->state_ns[i] > sample->state_ns[rest])
            rest = (enum cairn_state)i;
    for (int i = 0; i < CAIRN_STATE_COUNT; i++) {
        if (whole_ns)
            sample->state_ns[i] =
                (uint64_t)((unsigned __int128)sample->state_ns[i] * part_ns / whole_ns);
        left_ns -= sample->state_ns[i];
    }
    sample->state_ns[rest] += left_ns; /* what rounding left over */
}

/* Leaves of a sample what lies in the chosen time; false when that is nothing. */
static bool cut(const struct cairn_samples *samples, struct cairn_sample *sample)
{
    const uint64_t *times_ns = samples->ticks.times_ns.items;
    uint32_t first = sample->tick, end = sample->tick + sample->ticks;

    while (first < end && times_ns[first] <= samples->from_ns)
        first++;
    while (first < end && times_ns[end - 1] > samples->to_ns)
        end--;
    if (first == end)
        return false;
    cut_to(samples, first, end - first, sample);
    return true;
}

/* False when the row names what is not there, or nothing of it lies in the chosen time. */
static bool make_sample(struct cairn_samples *samples, size_t row, struct cairn_sample *sample)
{
    const struct columns *columns = &samples->columns;
    uint64_t tick = columns->tick[row], ticks = columns->ticks[row];
    uint64_t tick_count = samples->ticks.def.count;

    if (ticks == 0 || tick >= tick_count || ticks > tick_count - tick)
        return false;
    sample->thread = cairn_chunks_thread(&samples->chunks, columns->track[row]);
    if (sample->thread == UINT32_MAX || (samples->chosen && !samples->chosen[sample->thread]))
        return false;
    sample->tick = (uint32_t)tick;
    sample->ticks = (uint32_t)ticks;
    sample->first_ns = time_before(samples, tick);
    sample->last_ns = samples->ticks.times_ns.items[tick + ticks - 1];
    memset(sample->state_ns, 0, sizeof(sample->state_ns));
    set_states(samples, sample, row);
    set_overlays(samples, sample, row);
    /* The first and the last tick tell of most rows that they lie inside. */
    if ((samples->ticks.times_ns.items[sample->tick] <= samples->from_ns ||
         sample->last_ns > samples->to_ns) &&
        !cut(samples, sample))
        return false;
    sample->block = samples->block;
    sample->block_ticks = (uint32_t)tick_count;
    sample->times_ns = samples->ticks.times_ns.items + sample->tick;
    return true;
}

/* The first window of the thread that ends at `time_ns` or behind it; NULL: none does. */
static const struct cairn_window *window_at(const struct cairn_windows *windows, uint32_t thread,
                                            uint64_t time_ns)
{
    size_t low = windows->firsts[thread], end = windows->firsts[thread + 1], high = end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (windows->items[middle].last_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? &windows->items[low] : NULL;
}

/* The next run of ticks of the row at hand that lie in one window; false when there is none. */
static bool next_part(struct cairn_samples *samples, struct cairn_sample *ret_part)
{
    const uint64_t *times_ns = samples->ticks.times_ns.items;
    const struct cairn_sample *whole = &samples->whole;
    uint32_t end = whole->tick + whole->ticks, first = end - samples->whole_left, ticks = 0;
    const struct cairn_window *window;

    while (first < end && ticks == 0) {
        window = window_at(samples->windows, whole->thread, times_ns[first]);
        while (window && first < end && times_ns[first] <= window->first_ns)
            first++;
        while (window && first + ticks < end && times_ns[first + ticks] <= window->last_ns)
            ticks++;
        if (!window)
            first = end;
    }
    samples->whole_left = end - first - ticks;
    if (ticks == 0)
        return false;
    *ret_part = *whole;
    if (ticks < whole->ticks)
        cut_to(samples, first, ticks, ret_part);
    ret_part->times_ns = times_ns + first;
    return true;
}

/* The next rows of the table, as many as a batch holds. Their stacks are looked up first, all at
 * once: each look-up waits for memory, and these wait together. */
static void fill_batch(struct cairn_samples *samples)
{
    size_t left = samples->table.row_count - samples->row;
    size_t count = left < CAIRN_SAMPLES_BATCH ? left : CAIRN_SAMPLES_BATCH;
    uint32_t nodes[CAIRN_SAMPLES_BATCH];

    samples->batch_count = 0;
    for (size_t i = 0; i < count; i++)
        nodes[i] = cairn_chunks_node(&samples->chunks, samples->columns.stack[samples->row + i]);
    for (size_t i = 0; i < count; i++) {
        struct cairn_sample *sample = &samples->batch[samples->batch_count];

        sample->node = nodes[i];
        samples->batch_count += make_sample(samples, samples->row + i, sample);
    }
    samples->row += count;
}

/* The same of what lies in windows: a row may be none, one, or more than a batch holds. */
static void fill_batch_within(struct cairn_samples *samples)
{
    samples->batch_count = 0;
    while (samples->batch_count < CAIRN_SAMPLES_BATCH) {
        if (samples->whole_left > 0) {
            samples->batch_count += next_part(samples, &samples->batch[samples->batch_count]);
            continue;
        }
        if (samples->row == samples->table.row_count)
            return;
        samples->whole.node =
            cairn_chunks_node(&samples->chunks, samples->columns.stack[samples->row]);
        if (make_sample(samples, samples->row++, &samples->whole))
            samples->whole_left = samples->whole.ticks;
    }
}

static int make_batch(struct cairn_samples *samples, const struct cairn_sample **ret_samples,
                      size_t *ret_count)
{
    int code;

    for (;;) {
        while (samples->row < samples->table.row_count || samples->whole_left > 0) {
            if (samples->windows)
                fill_batch_within(samples);
            else
                fill_batch(samples);
            if (samples->batch_count) {
                *ret_samples = samples->batch;
                *ret_count = samples->batch_count;
                return 0;
            }
        }
        if (!samples->in_chunk) {
            CAIRN_TRY(cairn_chunks_next(&samples->chunks));
            samples->ticks.def.count = 0;
            samples->block++;
            samples->in_chunk = true;
        }
        code = next_section(samples);
        if (code == -CAIRN_EEND)
            samples->in_chunk = false;
        else if (code < 0)
            return code;
    }
}

static bool is_long(const struct cairn_model *model)
{
    size_t chunks = 0;

    for (size_t i = 0; i < model->files.count; i++)
        chunks += model->files.items[i].chunk_count;
    return chunks >= LONG_CHUNKS;
}

int cairn_samples_batch(struct cairn_samples *samples, const struct cairn_sample **ret_samples,
                        size_t *ret_count)
{
    if (!samples->begun && is_long(samples->model))
        samples->ahead = cairn_ahead_begin(samples, make_batch);
    samples->begun = true;
    return samples->ahead ? cairn_ahead_batch(samples->ahead, ret_samples, ret_count)
                          : make_batch(samples, ret_samples, ret_count);
}

int cairn_samples_next(struct cairn_samples *samples, struct cairn_sample *ret_sample)
{
    if (samples->next_count == 0)
        CAIRN_TRY(cairn_samples_batch(samples, &samples->next, &samples->next_count));
    *ret_sample = *samples->next++;
    samples->next_count--;
    return 0;
}

/* What a worker was copied from may be a worker: only the deepest of its stacks tells. */
static void count_entries(struct cairn_model *model, uint32_t thread, uint8_t entries)
{
    struct cairn_process *process = &model->processes.items[model->threads.items[thread].process];

    if (entries > process->entries)
        process->entries = entries;
}

static bool has_entries(const struct cairn_model *model)
{
    for (size_t i = 0; i < model->marks.count; i++)
        if (model->marks.items[i] & CAIRN_MARK_ENTRIES)
            return true;
    return false;
}

int cairn_samples_count_entries(struct cairn_model *model, struct cairn_err *err)
{
    struct cairn_samples *samples;
    struct cairn_sample sample;
    int code;

    if (model->processes.count < 2 || !has_entries(model))
        return 0;
    CAIRN_TRY(cairn_samples_open(model, 0, UINT64_MAX, &samples, err));
    while ((code = cairn_samples_next(samples, &sample)) == 0)
        count_entries(model, sample.thread, model->marks.items[sample.node] & CAIRN_MARK_ENTRIES);
    cairn_samples_free(samples);
    return code == -CAIRN_EEND ? 0
                               : cairn_err_set(err, code, 0, "samples", "cannot read the samples");
}
