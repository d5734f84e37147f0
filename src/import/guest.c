#include "guest.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

#define THREADS_MAX ((size_t)1 << 20)
/* Ceilings that half a gigabyte has room for. */
#define FRAMES_MAX ((size_t)1 << 20)
#define STACKS_MAX ((uint32_t)2 << 20)
#define TEXT_MAX_BYTES ((uint64_t)64 << 20)
#define ROWS_MAX ((size_t)1 << 20) /* gathered before they are written */
#define PENDING_MAX_BYTES ((size_t)4 << 20)
#define TICKS_AT_ONCE 4096u /* of one row; a longer one becomes several */
/* A tick stands for one sample, while that is affordable; above, for several. */
#define TICKS_OF_ROW_MAX (1u << 20)
#define TICKS_MAX (1u << 25)
#define START_NS 1000000000u /* where the clock of a guest begins: 0 means "no time" */
#define IS_CODE ((uint64_t)1 << 63)
#define FACT_MAX_BYTES ((size_t)64 << 10)

enum { TRACK, TICK, TICKS, STACK, CPU, RUNQ, STATE, COLUMNS };

static const struct cairn_column_def columns[COLUMNS] = {
    [TRACK] = {"track", "id", CAIRN_ENC_RLE},     [TICK] = {"tick", "index", CAIRN_ENC_DELTA},
    [TICKS] = {"ticks", "count", CAIRN_ENC_RLE},  [STACK] = {"stack", "id", CAIRN_ENC_DELTA},
    [CPU] = {"cpu", "quanta", CAIRN_ENC_UVARINT}, /* a quantum is 1 ns */
    [RUNQ] = {"runq", "quanta", CAIRN_ENC_RLE},   [STATE] = {"state", "", CAIRN_ENC_RLE},
};

int cairn_guest_open(struct cairn_guest *guest, struct cairn_sink *sink, struct cairn_err *err)
{
    static const struct cairn_writer_options options = {
        .id = 1, .role = "import", .pid = 1, .start_ns = 1};

    *guest = (struct cairn_guest){.sink = sink, .err = err, .next_tick = 1};
    cairn_map_init(&guest->locations, FRAMES_MAX);
    cairn_map_init(&guest->processes, THREADS_MAX);
    cairn_map_init(&guest->tracks, THREADS_MAX);
    return cairn_writer_open(sink, &options, &guest->writer);
}

void cairn_guest_release(struct cairn_guest *guest)
{
    cairn_writer_free(guest->writer);
    cairn_map_release(&guest->locations);
    cairn_map_release(&guest->processes);
    cairn_map_release(&guest->tracks);
    cairn_vec_release(&guest->threads);
    cairn_vec_release(&guest->rows);
    guest->writer = NULL;
}

/* A table of lines that says one thing: all of the code is on this line. */
static int put_line(struct cairn_guest *guest, uint32_t code, uint32_t first_line, uint32_t line)
{
    struct cairn_linetable_def def = {.code = code, .kind = CAIRN_LINES_LOCATION};
    int64_t delta = (int64_t)line - (int64_t)first_line;
    uint64_t left = delta < 0 ? (uint64_t)-delta << 1 | 1 : (uint64_t)delta << 1;
    uint8_t bytes[8];
    size_t size_bytes = 0;

    bytes[size_bytes++] = 0x80 | 13 << 3; /* one unit of code; a line without columns */
    for (; left > 63; left >>= 6)
        bytes[size_bytes++] = 0x40 | (left & 63);
    bytes[size_bytes++] = (uint8_t)left;
    def.bytes = (struct cairn_span){bytes, size_bytes};
    return cairn_writer_linetable(guest->writer, &def);
}

/* A line has a code of its own: those of one function have all else alike, and the model joins
 * them. */
static int make_code(struct cairn_guest *guest, uint32_t name, uint32_t file,
                     const struct cairn_guest_frame *frame, uint32_t *ret_code)
{
    struct cairn_code_def def = {
        .name = name, .qualname = name, .file = file, .first_line = frame->first_line};

    CAIRN_TRY(cairn_writer_code(guest->writer, &def, ret_code));
    return frame->line > 0 ? put_line(guest, *ret_code, frame->first_line, frame->line) : 0;
}

int cairn_guest_frame(struct cairn_guest *guest, const struct cairn_guest_frame *frame,
                      uint32_t *ret_frame)
{
    struct cairn_location_def def = {.kind = CAIRN_LOC_LABEL};
    struct cairn_span name = frame->name;
    uint32_t name_id, file_id;
    uint64_t texts, lines, found;

    if (name.size_bytes == 0)
        name = (struct cairn_span){(const uint8_t *)"[unknown]", 9};
    CAIRN_TRY(cairn_writer_string(guest->writer, name, &name_id));
    CAIRN_TRY(cairn_writer_string(guest->writer, frame->file, &file_id));
    texts = (uint64_t)name_id << 32 | file_id;
    lines = file_id || frame->is_code ? (uint64_t)frame->first_line << 32 | frame->line : 0;
    lines |= frame->is_code ? IS_CODE : 0;
    if (cairn_map_get(&guest->locations, texts, lines, &found)) {
        *ret_frame = (uint32_t)found;
        return 0;
    }
    if (file_id || frame->is_code) {
        def.kind = CAIRN_LOC_PYTHON;
        CAIRN_TRY(make_code(guest, name_id, file_id, frame, &def.ref));
    } else {
        def.ref = name_id;
    }
    CAIRN_TRY(cairn_writer_location(guest->writer, &def, ret_frame));
    guest->text_bytes += name.size_bytes + frame->file.size_bytes;
    if (guest->text_bytes > TEXT_MAX_BYTES)
        return -CAIRN_ELIMIT;
    return cairn_map_put(&guest->locations, texts, lines, *ret_frame);
}

int cairn_guest_stack(struct cairn_guest *guest, uint32_t parent, uint32_t frame,
                      uint32_t *ret_stack)
{
    CAIRN_TRY(cairn_writer_stack(guest->writer, parent, frame, ret_stack));
    return *ret_stack > STACKS_MAX ? -CAIRN_ELIMIT : 0;
}

static int process_of(struct cairn_guest *guest, const struct cairn_guest_thread *thread,
                      uint32_t *ret_track)
{
    struct cairn_track_def def = {.kind = CAIRN_TRACK_PROCESS, .number = thread->pid};
    uint64_t found, key;

    CAIRN_TRY(cairn_writer_string(guest->writer, thread->process, &def.name));
    key = thread->pid             ? 0
          : thread->process_place ? (uint64_t)thread->process_place << 32
                                  : def.name;
    if (cairn_map_get(&guest->processes, thread->pid, key, &found)) {
        *ret_track = (uint32_t)found;
        return 0;
    }
    /* Joined by number and start: those without a number are told apart by the latter. */
    def.start_ns = guest->processes.count + 1;
    def.detail = def.name;
    *ret_track = 0;
    CAIRN_TRY(cairn_writer_track(guest->writer, &def, ret_track));
    return cairn_map_put(&guest->processes, thread->pid, key, *ret_track);
}

int cairn_guest_thread(struct cairn_guest *guest, const struct cairn_guest_thread *thread,
                       uint32_t *ret_thread)
{
    struct cairn_track_def def = {.kind = CAIRN_TRACK_THREAD, .number = thread->tid};
    uint64_t found, key, number = thread->tid ? thread->tid : thread->place;
    uint32_t track = 0;

    CAIRN_TRY(process_of(guest, thread, &def.parent));
    CAIRN_TRY(cairn_writer_string(guest->writer, thread->name, &def.name));
    /* A name is below 2^31, as all ids. */
    key = (uint64_t)def.parent << 32 | (thread->tid ? UINT64_C(1) << 31 : def.name);
    if (cairn_map_get(&guest->tracks, key, number, &found)) {
        *ret_thread = (uint32_t)found;
        return 0;
    }
    def.start_ns = guest->threads.count + 1;
    CAIRN_TRY(cairn_writer_track(guest->writer, &def, &track));
    CAIRN_TRY(cairn_vec_reserve(&guest->threads, guest->threads.count + 1, THREADS_MAX));
    CAIRN_TRY(cairn_map_put(&guest->tracks, key, number, guest->threads.count));
    *ret_thread = (uint32_t)guest->threads.count;
    guest->threads.items[guest->threads.count++] = (struct cairn_guest_track){track, START_NS};
    return 0;
}

static int by_thread(const void *left, const void *right)
{
    const struct cairn_guest_row *a = left, *b = right;

    if (a->sample.thread != b->sample.thread)
        return a->sample.thread < b->sample.thread ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int begin_ticks(struct cairn_guest *guest, uint64_t first_ns)
{
    CAIRN_TRY(cairn_writer_flush(guest->writer, CAIRN_CHUNK_DATA, guest->err));
    return cairn_writer_schedule(guest->writer, 0, 0, 1, guest->next_tick, first_ns, first_ns);
}

/* `part` of `whole` of a time, so that the parts of all sum to it. */
static uint64_t share(uint64_t ns, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)ns * part / whole);
}

/* A piece of a row: its ticks from `from` to `until` of `count`. */
static int put_piece(struct cairn_guest *guest, const struct cairn_guest_row *row, uint64_t from,
                     uint64_t until, uint64_t count)
{
    const struct cairn_guest_sample *sample = &row->sample;
    uint64_t values[COLUMNS] = {
        [TRACK] = guest->threads.items[sample->thread].track,
        [TICKS] = until - from,
        [STACK] = sample->stack,
        [CPU] = share(sample->cpu_ns, until, count) - share(sample->cpu_ns, from, count),
        [RUNQ] = share(sample->runq_ns, until, count) - share(sample->runq_ns, from, count),
        [STATE] = sample->state,
    };

    for (uint64_t i = from; i < until; i++) {
        CAIRN_TRY(cairn_writer_tick(guest->writer, guest->next_tick++,
                                    row->first_ns + share(sample->ns, i + 1, count)));
        if (i == from)
            values[TICK] = (uint64_t)cairn_writer_tick_index(guest->writer);
    }
    return cairn_writer_row(guest->writer, CAIRN_ROW_SAMPLE, columns,
                            guest->with_states ? COLUMNS : CPU, values);
}

static int put_row(struct cairn_guest *guest, const struct cairn_guest_row *row)
{
    uint64_t count = row->sample.count;

    if (guest->ticks > TICKS_MAX)
        count = 1;
    else if (count > TICKS_OF_ROW_MAX)
        count = TICKS_OF_ROW_MAX;
    guest->ticks += count;
    for (uint64_t from = 0; from < count;) {
        uint64_t until = count - from > TICKS_AT_ONCE ? from + TICKS_AT_ONCE : count;

        if (cairn_writer_pending_bytes(guest->writer) > PENDING_MAX_BYTES)
            CAIRN_TRY(begin_ticks(guest, cairn_writer_tick_time(guest->writer)));
        CAIRN_TRY(put_piece(guest, row, from, until, count));
        from = until;
    }
    return 0;
}

/* A thread's rows stand in chunks of their own: the ticks of a chunk are those of one thread. */
static int write_rows(struct cairn_guest *guest)
{
    const struct cairn_guest_row *last = NULL;

    if (guest->rows.count > 0)
        qsort(guest->rows.items, guest->rows.count, sizeof(*guest->rows.items), by_thread);
    for (size_t i = 0; i < guest->rows.count; i++) {
        const struct cairn_guest_row *row = &guest->rows.items[i];

        if (!last || last->sample.thread != row->sample.thread)
            CAIRN_TRY(begin_ticks(guest, row->first_ns));
        else if (last->first_ns + last->sample.ns < row->first_ns) /* nobody looked in between */
            CAIRN_TRY(cairn_writer_tick(guest->writer, guest->next_tick++, row->first_ns));
        CAIRN_TRY(put_row(guest, row));
        last = row;
    }
    guest->rows.count = 0;
    return 0;
}

void cairn_guest_wait(struct cairn_guest *guest, uint32_t thread, uint64_t until_ns)
{
    struct cairn_guest_track *track = &guest->threads.items[thread];

    if (until_ns > CAIRN_GUEST_TIME_MAX_NS)
        until_ns = CAIRN_GUEST_TIME_MAX_NS;
    if (START_NS + until_ns > track->clock_ns)
        track->clock_ns = START_NS + until_ns;
}

int cairn_guest_add(struct cairn_guest *guest, const struct cairn_guest_sample *sample)
{
    struct cairn_guest_track *track = &guest->threads.items[sample->thread];
    struct cairn_guest_row *row;

    if (sample->count == 0)
        return 0;
    if (sample->ns > CAIRN_GUEST_TIME_MAX_NS ||
        track->clock_ns - START_NS > CAIRN_GUEST_TIME_MAX_NS - sample->ns)
        return -CAIRN_EDAMAGED;
    if (guest->rows.count == ROWS_MAX)
        CAIRN_TRY(write_rows(guest));
    CAIRN_TRY(cairn_vec_reserve(&guest->rows, guest->rows.count + 1, ROWS_MAX));
    row = &guest->rows.items[guest->rows.count++];
    row->sample = *sample;
    row->first_ns = track->clock_ns;
    row->number = guest->next_number++;
    track->clock_ns += sample->ns;
    guest->samples += sample->count;
    guest->total_ns += sample->ns;
    return 0;
}

/* A row of a table that has no moments. */
static int put_counted(struct cairn_guest *guest, uint8_t kind, const struct cairn_column_def *defs,
                       size_t count, const uint64_t *values)
{
    if (cairn_writer_pending_bytes(guest->writer) > PENDING_MAX_BYTES)
        CAIRN_TRY(cairn_writer_flush(guest->writer, CAIRN_CHUNK_DATA, guest->err));
    return cairn_writer_row(guest->writer, kind, defs, count, values);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

int cairn_guest_count_calls(struct cairn_guest *guest, const struct cairn_guest_calls *calls)
{
    static const struct cairn_column_def defs[] = {
        {"track", "id", CAIRN_ENC_RLE},        {"stack", "id", CAIRN_ENC_DELTA},
        {"calls", "count", CAIRN_ENC_UVARINT}, {"primitive", "count", CAIRN_ENC_UVARINT},
        {"self", "s", CAIRN_ENC_F64},          {"total", "s", CAIRN_ENC_F64},
        {"plain", "", CAIRN_ENC_RLE},
    };
    const uint64_t values[] = {
        guest->threads.items[calls->thread].track,
        calls->stack,
        calls->calls,
        calls->primitive,
        bits_of(calls->self_s),
        bits_of(calls->total_s),
        calls->plain      ? 1
        : calls->unsure   ? 3
        : calls->inferred ? 2
                          : 0,
    };

    return put_counted(guest, CAIRN_ROW_PAIR, defs, sizeof(defs) / sizeof(defs[0]), values);
}

int cairn_guest_count_line(struct cairn_guest *guest, const struct cairn_guest_frame *frame,
                           const struct cairn_guest_line *line)
{
    static const struct cairn_column_def defs[] = {
        {"track", "id", CAIRN_ENC_RLE},     {"code", "id", CAIRN_ENC_DELTA},
        {"line", "", CAIRN_ENC_DELTA},      {"hits", "count", CAIRN_ENC_UVARINT},
        {"total", "ns", CAIRN_ENC_UVARINT},
    };
    struct cairn_code_def def = {.first_line = frame->first_line};
    uint32_t code;

    CAIRN_TRY(cairn_writer_string(guest->writer, frame->name, &def.name));
    CAIRN_TRY(cairn_writer_string(guest->writer, frame->file, &def.file));
    def.qualname = def.name;
    CAIRN_TRY(cairn_writer_code(guest->writer, &def, &code));
    return put_counted(guest, CAIRN_ROW_LINE, defs, sizeof(defs) / sizeof(defs[0]),
                       (const uint64_t[]){guest->threads.items[line->thread].track, code,
                                          frame->line, line->hits, line->total_ns});
}

int cairn_guest_fact(struct cairn_guest *guest, const char *key, const char *format, ...)
{
    struct cairn_buf text;
    va_list args;
    int code;

    cairn_buf_init(&text, FACT_MAX_BYTES);
    va_start(args, format);
    code = cairn_buf_vprintf(&text, format, args);
    va_end(args);
    if (code == 0)
        code = cairn_writer_env(guest->writer, key, cairn_buf_span(&text));
    cairn_buf_release(&text);
    return code;
}

int cairn_guest_finish(struct cairn_guest *guest)
{
    CAIRN_TRY(write_rows(guest));
    CAIRN_TRY(cairn_guest_fact(guest, "import.samples", "%s",
                               !guest->counted                 ? "unknown"
                               : guest->samples > guest->ticks ? "at least"
                                                               : "known"));
    return cairn_writer_flush(guest->writer, CAIRN_CHUNK_END, guest->err);
}
