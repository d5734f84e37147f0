/* large_recording.c: writes a recording as large as asked for, to time what reads it.
 *
 *     large_recording FILE [SAMPLES [waiting]]
 *
 * 16 threads at 1 kHz, every one of them on a processor or in the queue for it at every tick: the
 * dear case, a row for each sample. 200,000 stacks of 4 to 60 frames (30 on average) over 3,000
 * functions, made by walking through a program that calls and returns at random; some stacks are
 * far more frequent than others. The same arguments give the same rows.
 * `waiting`: in some functions threads wait for work, as in `queue.get`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "rng.h"
#include "vec.h"
#include "writer.h"

#define FUNCTIONS 3000
#define FUNCTIONS_A_FILE 20
#define CALLEES 5     /* of one function */
#define CALL_BYTES 16 /* of instructions from one call to the next */
#define STACKS 200000
#define WAITING_EACH 5 /* one function in so many */
#define THREADS 16
#define DEPTH_MIN 4
#define DEPTH_MAX 60
#define MEAN_NS 1000000
#define QUANTUM_NS (MEAN_NS / 64)
#define FLUSH_TICKS 1000
#define SEED 2026

struct frame {
    uint32_t function, stack;
};

struct maker {
    struct cairn_writer *writer;
    struct cairn_err *err;
    bool waiting;
    uint64_t drawn; /* random numbers so far */
    uint32_t codes[FUNCTIONS];
    uint32_t tracks[THREADS];
    CAIRN_VEC(uint32_t) stacks;
    struct frame path[DEPTH_MAX]; /* where the walk is */
    size_t depth;
};

static const struct cairn_column_def columns[] = {
    {"track", "id", CAIRN_ENC_RLE},       {"tick", "index", CAIRN_ENC_DELTA},
    {"ticks", "count", CAIRN_ENC_RLE},    {"stack", "id", CAIRN_ENC_DELTA},
    {"cpu", "quanta", CAIRN_ENC_UVARINT}, {"runq", "quanta", CAIRN_ENC_RLE},
    {"state", "", CAIRN_ENC_RLE},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static uint64_t draw(struct maker *maker, uint64_t below)
{
    return cairn_rng_at(SEED, maker->drawn++) % below;
}

/* Lines: the call at offset k x CALL_BYTES stands on the k-th line below the first. */
static int write_linetable(struct maker *maker, uint32_t code)
{
    uint8_t bytes[2 * (CALLEES + 1)];
    struct cairn_linetable_def def = {
        .code = code, .kind = CAIRN_LINES_LOCATION, .bytes = {bytes, sizeof(bytes)}};

    for (size_t i = 0; i < sizeof(bytes); i += 2) {
        bytes[i] = 0x80 | 13 << 3 | (CALL_BYTES / 2 - 1); /* a line, no columns; 8 code units */
        bytes[i + 1] = 1 << 1;                            /* one line further */
    }
    return cairn_writer_linetable(maker->writer, &def);
}

static int write_codes(struct maker *maker)
{
    char text[64];

    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        struct cairn_code_def def = {.first_line = 10 + i % FUNCTIONS_A_FILE * 20};
        bool waits = maker->waiting && i % WAITING_EACH == 2;

        snprintf(text, sizeof(text), waits ? "get" : "function_%04u", i);
        CAIRN_TRY(cairn_writer_str(maker->writer, text, &def.name));
        snprintf(text, sizeof(text), "Class%u.function_%04u", i / 5, i);
        CAIRN_TRY(cairn_writer_str(maker->writer, text, &def.qualname));
        snprintf(text, sizeof(text), waits ? "/usr/lib/python3.11/queue.py" : "/srv/app/module_%03u.py",
                 i / FUNCTIONS_A_FILE);
        CAIRN_TRY(cairn_writer_str(maker->writer, text, &def.file));
        CAIRN_TRY(cairn_writer_code(maker->writer, &def, &maker->codes[i]));
        CAIRN_TRY(write_linetable(maker, maker->codes[i]));
    }
    return 0;
}

static int write_tracks(struct maker *maker)
{
    struct cairn_track_def process = {.kind = CAIRN_TRACK_PROCESS, .number = 4242, .start_ns = 1};
    char text[64];
    uint32_t process_track = 0;

    cairn_clock_boot_id(text);
    CAIRN_TRY(cairn_writer_str(maker->writer, text, &process.boot_id));
    CAIRN_TRY(cairn_writer_str(maker->writer, "python3", &process.name));
    CAIRN_TRY(cairn_writer_str(maker->writer, "python3 /srv/app/module_000.py", &process.detail));
    CAIRN_TRY(cairn_writer_track(maker->writer, &process, &process_track));
    for (uint32_t i = 0; i < THREADS; i++) {
        struct cairn_track_def thread = {.kind = CAIRN_TRACK_THREAD,
                                         .parent = process_track,
                                         .number = 4242 + i,
                                         .start_ns = 1 + i};

        snprintf(text, sizeof(text), "worker-%u", i);
        CAIRN_TRY(cairn_writer_str(maker->writer, text, &thread.name));
        CAIRN_TRY(cairn_writer_track(maker->writer, &thread, &maker->tracks[i]));
    }
    return 0;
}

/* Calls from the walk's innermost frame; a function calls few others, each from a line of its own.
 */
static int step_in(struct maker *maker)
{
    struct frame *caller = maker->depth ? &maker->path[maker->depth - 1] : NULL;
    uint64_t call = draw(maker, CALLEES);
    struct frame callee = {.function = 0};
    struct cairn_location_def def = {.kind = CAIRN_LOC_PYTHON};
    uint32_t location;

    if (caller)
        callee.function =
            (uint32_t)(cairn_rng_at(SEED + 1, caller->function * CALLEES + call) % FUNCTIONS);
    def.ref = maker->codes[callee.function];
    def.offset = (int64_t)(draw(maker, CALLEES) * CALL_BYTES);
    CAIRN_TRY(cairn_writer_location(maker->writer, &def, &location));
    CAIRN_TRY(
        cairn_writer_stack(maker->writer, caller ? caller->stack : 0, location, &callee.stack));
    maker->path[maker->depth++] = callee;
    return 0;
}

/* Writes STACKS different stacks; an id greater than all before it is a new one. */
static int write_stacks(struct maker *maker)
{
    uint32_t newest = 0;

    CAIRN_TRY(cairn_vec_reserve(&maker->stacks, STACKS, STACKS));
    while (maker->stacks.count < STACKS) {
        uint64_t keep = draw(maker, DEPTH_MAX);
        uint64_t depth = DEPTH_MIN + draw(maker, DEPTH_MAX - DEPTH_MIN + 1);

        if (maker->depth > keep)
            maker->depth = keep;
        while (maker->depth < depth) {
            CAIRN_TRY(step_in(maker));
            uint32_t stack = maker->path[maker->depth - 1].stack;

            if (stack <= newest || maker->stacks.count == STACKS)
                continue;
            newest = stack;
            maker->stacks.items[maker->stacks.count++] = stack;
        }
        if (cairn_writer_pending_bytes(maker->writer) > CAIRN_WRITER_FULL_BYTES / 2)
            CAIRN_TRY(cairn_writer_flush(maker->writer, CAIRN_CHUNK_DATA, maker->err));
    }
    return 0;
}

/* Few stacks hold most of the samples: the cube of a uniform number. */
static uint32_t pick_stack(struct maker *maker)
{
    double u = (double)draw(maker, 1 << 20) / (1 << 20);

    return maker->stacks.items[(size_t)(u * u * u * STACKS)];
}

static int write_samples(struct maker *maker, uint64_t samples)
{
    uint64_t due_ns = cairn_clock_mono_ns(), ticks = (samples + THREADS - 1) / THREADS;
    uint32_t on[THREADS] = {0};

    CAIRN_TRY(cairn_writer_schedule(maker->writer, SEED, MEAN_NS, QUANTUM_NS, 1, due_ns,
                                    due_ns - MEAN_NS));
    for (uint64_t tick = 1; tick <= ticks; tick++) {
        CAIRN_TRY(cairn_writer_tick(maker->writer, tick, due_ns + 50000 + draw(maker, 20000)));
        for (uint32_t i = 0; i < THREADS && samples > 0; i++, samples--) {
            if (!on[i] || draw(maker, 2))
                on[i] = pick_stack(maker);
            const uint64_t values[COLUMNS] = {maker->tracks[i],
                                              (uint64_t)cairn_writer_tick_index(maker->writer),
                                              1,
                                              on[i],
                                              draw(maker, 9),
                                              draw(maker, 56),
                                              0};
            CAIRN_TRY(cairn_writer_row(maker->writer, CAIRN_ROW_SAMPLE, columns, COLUMNS, values));
        }
        if (tick % FLUSH_TICKS == 0)
            CAIRN_TRY(cairn_writer_flush(maker->writer, CAIRN_CHUNK_DATA, maker->err));
        due_ns += cairn_tick_interval(SEED, tick + 1, MEAN_NS);
    }
    CAIRN_TRY(cairn_writer_counter(maker->writer, "ticks", ticks));
    return 0;
}

static int write_recording(struct maker *maker, uint64_t samples)
{
    CAIRN_TRY(cairn_writer_clock(maker->writer));
    CAIRN_TRY(write_codes(maker));
    CAIRN_TRY(write_tracks(maker));
    CAIRN_TRY(write_stacks(maker));
    CAIRN_TRY(cairn_writer_counter(maker->writer, "samples", samples));
    CAIRN_TRY(write_samples(maker, samples));
    return cairn_writer_flush(maker->writer, CAIRN_CHUNK_END, maker->err);
}

int main(int argc, char **argv)
{
    static struct maker maker;
    struct cairn_err err = {0};
    struct cairn_sink_options sink_options = {.path = argc > 1 ? argv[1] : NULL, .force = true};
    struct cairn_writer_options writer_options = {.id = 1, .role = "collector", .start_ns = 1};
    struct cairn_sink *sink = NULL;
    uint64_t samples = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
    int code, closed;

    maker.waiting = argc > 3 && strcmp(argv[3], "waiting") == 0;
    if (argc < 2 || argc > 4 || samples == 0 || maker.waiting != (argc == 4)) {
        fprintf(stderr, "usage: %s FILE [SAMPLES [waiting]]\n", argv[0]);
        return 2;
    }
    maker.err = &err;
    writer_options.pid = (uint64_t)getpid();
    code = cairn_sink_open(&sink_options, &sink, &err);
    if (code >= 0)
        code = cairn_writer_open(sink, &writer_options, &maker.writer);
    if (code >= 0)
        code = write_recording(&maker, samples);
    cairn_writer_free(maker.writer);
    cairn_vec_release(&maker.stacks);
    closed = cairn_sink_close(sink, &err);
    if (code < 0 || closed < 0) {
        fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1],
                err.text[0] ? err.text : cairn_err_sentence(code < 0 ? code : closed));
        return 1;
    }
    return 0;
}
