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
    uint8_t rests[CAIRN_SAMPLE_GIL_WAIT + 1]; /* by `state`: what the rest of the time was */
};

/* What the rows of a table have in common, in one place while they are gone through. */
struct rows {
    struct columns columns;
    const uint64_t *times_ns; /* of the ticks of the chunk */
    uint64_t tick_count, before_ns, quantum_ns, from_ns, to_ns, block;
    struct carry *carries;
    const bool *chosen;
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
    uint64_t track; /* of the row at hand, of which `track_thread` is the thread */
    uint32_t track_thread;
    bool track_known;
    struct cairn_sample whole; /* a row of which windows have left parts to come */
    uint32_t whole_left;       /* of its ticks, the last ones */
    uint64_t block, ticks_seen;
    struct cairn_sample batch[CAIRN_SAMPLES_BATCH];

    bool begun;
    struct cairn_ahead *ahead; /* makes the batches; NULL: they are made when they are asked for */
    const struct cairn_sample *next; /* of cairn_samples_next() */
    size_t next_count;
};

#define HOLDS (1u | 1u << CAIRN_ROW_SAMPLE)
/* So much before the chosen time is read as well: what waits for room there reaches into it. */
#define LEAD_NS 2000000000u

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
    samples->chunks.lead_ns = LEAD_NS;
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

static uint8_t rest_of(uint64_t state, bool has_cpu)
{
    if (state == CAIRN_SAMPLE_STOPPED)
        return CAIRN_STATE_STOPPED;
    if (state == CAIRN_SAMPLE_GIL_WAIT && has_cpu)
        return CAIRN_STATE_GIL_WAIT;
    return state == CAIRN_SAMPLE_BLOCKED && has_cpu ? CAIRN_STATE_BLOCKED : CAIRN_STATE_UNKNOWN;
}

static int load_table(struct cairn_samples *samples, struct cairn_span section)
{
    const struct cairn_table *table = &samples->table;
    int code = cairn_decode_table(section, &samples->table);

    samples->row = 0;
    samples->track_known = false;
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
    for (uint64_t state = 0; state <= CAIRN_SAMPLE_GIL_WAIT; state++)
        samples->columns.rests[state] = rest_of(state, samples->columns.cpu);
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
            return cairn_chunks_pass_over(code) ? -CAIRN_EEND : code;
        if (section.kind == CAIRN_SECTION_TICKS)
            code = load_ticks(samples, section.bytes);
        else if (section.kind == CAIRN_SECTION_ROWS)
            code = load_table(samples, section.bytes);
        else
            continue;
        if (!cairn_chunks_pass_over(code))
            return code;
    }
}

static inline uint64_t quanta_ns(const uint64_t *column, size_t row, uint64_t quantum_ns)
{
    uint64_t ns;

    if (!column)
        return 0;
    return __builtin_mul_overflow(column[row], quantum_ns, &ns) ? UINT64_MAX : ns;
}

/* As much of what is waiting and what came now as there is room for. */
static inline uint64_t take_ns(uint64_t *waiting_ns, uint64_t more_ns, uint64_t room_ns)
{
    uint64_t all_ns, taken_ns;

    if (__builtin_add_overflow(*waiting_ns, more_ns, &all_ns))
        all_ns = UINT64_MAX;
    taken_ns = all_ns < room_ns ? all_ns : room_ns;
    *waiting_ns = all_ns - taken_ns;
    return taken_ns;
}

static inline void set_states(const struct rows *rows, struct cairn_sample *sample, size_t row)
{
    const struct columns *columns = &rows->columns;
    uint64_t left_ns = sample->last_ns - sample->first_ns, running_ns, runnable_ns;
    struct carry *carry = &rows->carries[sample->thread];
    uint64_t state = columns->state ? columns->state[row] : CAIRN_SAMPLE_BLOCKED;

    running_ns =
        take_ns(&carry->running_ns, quanta_ns(columns->cpu, row, rows->quantum_ns), left_ns);
    left_ns -= running_ns;
    runnable_ns =
        take_ns(&carry->runnable_ns, quanta_ns(columns->runq, row, rows->quantum_ns), left_ns);
    left_ns -= runnable_ns;
    memset(sample->state_ns, 0, sizeof(sample->state_ns));
    sample->state_ns[CAIRN_STATE_RUNNING] = running_ns;
    sample->state_ns[CAIRN_STATE_RUNNABLE] = runnable_ns;
    sample->state_ns[state <= CAIRN_SAMPLE_GIL_WAIT ? columns->rests[state] : CAIRN_STATE_UNKNOWN] =
        left_ns;
}

/* What it waited for. */
static uint32_t text_of(const struct cairn_samples *samples, uint64_t on)
{
    const struct cairn_ids *strings =
        &samples->model->writers.items[samples->chunks.writer].strings;
    uint32_t text = on > UINT32_MAX ? CAIRN_IDS_LOST : cairn_ids_get(strings, (uint32_t)on);

    return text == CAIRN_IDS_LOST ? 0 : text;
}

/* The thread of a row; those of one track stand next to each other. */
static inline uint32_t thread_of(struct cairn_samples *samples, size_t row)
{
    uint64_t track = samples->columns.track[row];

    if (!samples->track_known || samples->track != track) {
        samples->track = track;
        samples->track_thread = cairn_chunks_thread(&samples->chunks, track);
        samples->track_known = true;
    }
    return samples->track_thread;
}

void cairn_sample_split(struct cairn_sample *sample, uint32_t ticks, struct cairn_sample *ret_front)
{
    uint64_t whole_ns = sample->last_ns - sample->first_ns, part_ns, left_ns;

    *ret_front = *sample;
    ret_front->ticks = ticks;
    ret_front->last_ns = sample->times_ns[ticks - 1];
    part_ns = left_ns = ret_front->last_ns - ret_front->first_ns;
    for (int i = 0; i < CAIRN_STATE_COUNT && whole_ns; i++) {
        ret_front->state_ns[i] =
            (uint64_t)((unsigned __int128)sample->state_ns[i] * part_ns / whole_ns);
        left_ns -= ret_front->state_ns[i];
    }
    for (int i = 0; i < CAIRN_STATE_COUNT; i++) {
        uint64_t room_ns = sample->state_ns[i] - ret_front->state_ns[i];
        uint64_t more_ns = left_ns < room_ns ? left_ns : room_ns; /* what rounding left over */

        ret_front->state_ns[i] += more_ns;
        left_ns -= more_ns;
        sample->state_ns[i] = room_ns - more_ns;
    }
    sample->tick += ticks;
    sample->ticks -= ticks;
    sample->times_ns += ticks;
    sample->first_ns = ret_front->last_ns;
}

/* Leaves of a sample `ticks` >= 1 of its ticks, from tick `first` of the block on. */
static void cut_to(uint32_t first, uint32_t ticks, struct cairn_sample *sample)
{
    struct cairn_sample rest = *sample, before;

    if (first > rest.tick)
        cairn_sample_split(&rest, first - rest.tick, &before);
    cairn_sample_split(&rest, ticks, sample);
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
    cut_to(first, end - first, sample);
    return true;
}

static struct rows rows_of(const struct cairn_samples *samples)
{
    return (struct rows){
        .columns = samples->columns,
        .times_ns = samples->ticks.times_ns.items,
        .tick_count = samples->ticks.def.count,
        .before_ns = samples->ticks.def.before_ns,
        .quantum_ns = samples->ticks.def.quantum_ns,
        .from_ns = samples->from_ns,
        .to_ns = samples->to_ns,
        .block = samples->block,
        .carries = samples->carries,
        .chosen = samples->chosen,
    };
}

/* False when the row names what is not there, or nothing of it lies in the chosen time. */
static inline __attribute__((always_inline)) bool make_sample(struct cairn_samples *samples,
                                                              const struct rows *rows, size_t row,
                                                              uint32_t node,
                                                              struct cairn_sample *sample)
{
    const struct columns *columns = &rows->columns;
    uint64_t tick = columns->tick[row], ticks = columns->ticks[row];
    uint64_t tick_count = rows->tick_count;
    uint32_t thread;

    if (ticks == 0 || tick >= tick_count || ticks > tick_count - tick)
        return false;
    thread = thread_of(samples, row);
    if (thread == UINT32_MAX || (rows->chosen && !rows->chosen[thread]))
        return false;
    sample->thread = thread;
    sample->node = node;
    sample->tick = (uint32_t)tick;
    sample->ticks = (uint32_t)ticks;
    sample->first_ns = tick ? rows->times_ns[tick - 1] : rows->before_ns;
    sample->last_ns = rows->times_ns[tick + ticks - 1];
    sample->times_ns = rows->times_ns + tick;
    set_states(rows, sample, row);
    sample->overlays =
        columns->overlays ? (uint8_t)columns->overlays[row] : (uint8_t)OVERLAYS_UNKNOWN;
    sample->on = columns->on && columns->on[row] ? text_of(samples, columns->on[row]) : 0;
    /* The first and the last tick tell of most rows that they lie inside. */
    if ((rows->times_ns[tick] <= rows->from_ns || sample->last_ns > rows->to_ns) &&
        !cut(samples, sample))
        return false;
    sample->block = rows->block;
    sample->block_ticks = (uint32_t)tick_count;
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
        cut_to(first, ticks, ret_part);
    return true;
}

/* The next rows of the table, as many as a batch holds. Their stacks are looked up first, all at
 * once: each look-up waits for memory, and these wait together. */
static size_t fill_batch(struct cairn_samples *samples, struct cairn_sample *batch)
{
    size_t left = samples->table.row_count - samples->row, filled = 0;
    size_t count = left < CAIRN_SAMPLES_BATCH ? left : CAIRN_SAMPLES_BATCH;
    const struct rows rows = rows_of(samples);
    uint32_t nodes[CAIRN_SAMPLES_BATCH];

    for (size_t i = 0; i < count; i++)
        nodes[i] = cairn_chunks_node(&samples->chunks, samples->columns.stack[samples->row + i]);
    for (size_t i = 0; i < count; i++)
        filled += make_sample(samples, &rows, samples->row + i, nodes[i], &batch[filled]);
    samples->row += count;
    return filled;
}

/* The same of what lies in windows: a row may be none, one, or more than a batch holds. */
static size_t fill_batch_within(struct cairn_samples *samples, struct cairn_sample *batch)
{
    const struct rows rows = rows_of(samples);
    size_t filled = 0;

    while (filled < CAIRN_SAMPLES_BATCH) {
        uint32_t node;

        if (samples->whole_left > 0) {
            filled += next_part(samples, &batch[filled]);
            continue;
        }
        if (samples->row == samples->table.row_count)
            break;
        node = cairn_chunks_node(&samples->chunks, samples->columns.stack[samples->row]);
        if (make_sample(samples, &rows, samples->row++, node, &samples->whole))
            samples->whole_left = samples->whole.ticks;
    }
    return filled;
}

/* The next ones into `batch`, which has room for CAIRN_SAMPLES_BATCH; see cairn_samples_batch(). */
static int make_batch(struct cairn_samples *samples, struct cairn_sample *batch, size_t *ret_count)
{
    int code;

    for (;;) {
        while (samples->row < samples->table.row_count || samples->whole_left > 0) {
            *ret_count =
                samples->windows ? fill_batch_within(samples, batch) : fill_batch(samples, batch);
            if (*ret_count)
                return 0;
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
    return chunks >= CAIRN_MODEL_LONG_CHUNKS;
}

int cairn_samples_batch(struct cairn_samples *samples, const struct cairn_sample **ret_samples,
                        size_t *ret_count)
{
    if (!samples->begun && is_long(samples->model))
        samples->ahead = cairn_ahead_begin(samples, make_batch);
    samples->begun = true;
    if (samples->ahead)
        return cairn_ahead_batch(samples->ahead, ret_samples, ret_count);
    *ret_samples = samples->batch;
    return make_batch(samples, samples->batch, ret_count);
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
