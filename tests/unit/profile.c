#include "profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "writer.h"

#define MEAN_NS 1000000u
#define QUANTUM_NS (MEAN_NS / 64)
#define SEED 7
#define START_NS 5000000000u
#define TICKS 2000
#define CODES_MAX 64
#define DEPTH_MAX 8

#define PYTHON "/usr/lib/python3.12/"
#define SITE PYTHON "site-packages/"
#define IMPORT                                                                                     \
    {                                                                                              \
        "_find_and_load", "<frozen importlib._bootstrap>", 1349, 1360                              \
    }
#define MODULE(file, line)                                                                         \
    {                                                                                              \
        "<module>", file, 1, line                                                                  \
    }
#define MAIN                                                                                       \
    MODULE("/home/you/shop/shop.py", 40),                                                          \
    {                                                                                              \
        "main", "/home/you/shop/shop.py", 30, 33                                                   \
    }
#define THREAD                                                                                     \
    {                                                                                              \
        "Thread._bootstrap", PYTHON "threading.py", 1016, 1030                                     \
    }

struct frame {
    const char *name, *file;
    uint32_t first_line, line;
};

/* `ticks` of one thread on one stack, of which so many thousandths it ran or was runnable. */
struct step {
    unsigned thread, ticks, cpu_milli, runq_milli;
    struct frame frames[DEPTH_MAX]; /* root first; ends at a NULL name. No file: a label */
};

static const struct step steps[] = {
    {0, 60, 700, 100, {{"[not python]", NULL, 0, 0}}},
    {0, 40, 900, 0, {MODULE("<frozen site>", 10), {"main", "<frozen site>", 600, 610}}},
    {0,
     500,
     950,
     10,
     {MODULE("/home/you/shop/shop.py", 2), IMPORT, MODULE(SITE "torch/__init__.py", 900)}},
    {0,
     100,
     900,
     0,
     {MODULE("/home/you/shop/shop.py", 3), IMPORT, MODULE(PYTHON "json/__init__.py", 106)}},
    {0, 450, 1000, 0, {MAIN, {"Cart.total", "tests/golden/cart.py", 12, 14}}},
    {0, 230, 990, 10, {MAIN, {"Cart.total", "tests/golden/cart.py", 12, 15}}},
    {0,
     220,
     600,
     50,
     {MAIN,
      {"Cart.total", "tests/golden/cart.py", 12, 16},
      {"loads", PYTHON "json/__init__.py", 299, 346},
      {"JSONDecoder.decode", PYTHON "json/decoder.py", 333, 337}}},
    {0,
     180,
     0,
     0,
     {MAIN,
      {"fetch", "/home/you/shop/net.py", 5, 9},
      {"Session.get", SITE "requests/sessions.py", 590, 602}}},
    {0, 90, 800, 0, {MAIN, {PROFILE_HARD_NAME, "/home/you/shop/hard;\n<name>.py", 1, 2}}},
    {0,
     60,
     1000,
     0,
     {MAIN,
      {"fib", "/home/you/shop/fib.py", 1, 3},
      {"fib", "/home/you/shop/fib.py", 1, 3},
      {"fib", "/home/you/shop/fib.py", 1, 2}}},
    {0, 5, 1000, 0, {MAIN, {"[torn]", NULL, 0, 0}}},
    {0, 65, 1000, 0, {MAIN, {"report", "/home/you/shop/shop.py", 20, 22}}},
    {1,
     1500,
     0,
     0,
     {THREAD,
      {"worker", "/home/you/shop/work.py", 3, 5},
      {"Queue.get", PYTHON "queue.py", 154, 171},
      {"Condition.wait", PYTHON "threading.py", 323, 355}}},
    {1,
     300,
     700,
     250,
     {THREAD,
      {"worker", "/home/you/shop/work.py", 3, 6},
      {"pack", "/home/you/shop/work.py", 9, 11}}},
    {2,
     400,
     500,
     0,
     {MODULE("/home/you/shop/child.py", 8), {"child_work", "/home/you/shop/child.py", 2, 4}}},
};

static const struct step few[] = {
    {0, 9, 700, 100, {{"[not python]", NULL, 0, 0}}},
    {0, 4, 1000, 0, {MODULE("/home/you/shop/blink.py", 5)}},
};

struct pen {
    struct cairn_writer *writer;
    struct {
        struct frame frame;
        uint32_t code;
    } codes[CODES_MAX];
    size_t code_count;
    uint32_t threads[3];
    uint64_t times_ns[TICKS + 1]; /* [0]: before the first tick */
};

static uint32_t string(struct pen *pen, const char *text)
{
    uint32_t id;

    assert_int_equal(cairn_writer_str(pen->writer, text, &id), 0);
    return id;
}

/* The instruction at offset 2n is on the n-th line of the function. */
static uint32_t code_of(struct pen *pen, const struct frame *frame)
{
    static const uint8_t step[] = {2, 1};
    uint8_t lines[4096];
    const char *dot = strrchr(frame->name, '.');
    struct cairn_code_def def = {string(pen, dot ? dot + 1 : frame->name), string(pen, frame->name),
                                 string(pen, frame->file), frame->first_line};
    struct cairn_linetable_def table = {.kind = CAIRN_LINES_LNOTAB, .bytes = {lines, 0}};

    for (size_t i = 0; i < pen->code_count; i++)
        if (strcmp(pen->codes[i].frame.name, frame->name) == 0 &&
            strcmp(pen->codes[i].frame.file, frame->file) == 0)
            return pen->codes[i].code;
    assert_true(pen->code_count < CODES_MAX);
    assert_int_equal(cairn_writer_code(pen->writer, &def, &table.code), 0);
    for (; table.bytes.size_bytes < sizeof(lines); table.bytes.size_bytes += sizeof(step))
        memcpy(lines + table.bytes.size_bytes, step, sizeof(step));
    assert_int_equal(cairn_writer_linetable(pen->writer, &table), 0);
    pen->codes[pen->code_count].frame = *frame;
    pen->codes[pen->code_count++].code = table.code;
    return table.code;
}

static uint32_t stack_of(struct pen *pen, const struct frame *frames)
{
    uint32_t stack = 0;

    for (size_t i = 0; i < DEPTH_MAX && frames[i].name; i++) {
        struct cairn_location_def def = {.kind = CAIRN_LOC_LABEL};
        uint32_t location;

        if (frames[i].file) {
            def.kind = CAIRN_LOC_PYTHON;
            def.ref = code_of(pen, &frames[i]);
            def.offset = 2 * (int64_t)(frames[i].line - frames[i].first_line);
        } else {
            def.ref = string(pen, frames[i].name);
        }
        assert_int_equal(cairn_writer_location(pen->writer, &def, &location), 0);
        assert_int_equal(cairn_writer_stack(pen->writer, stack, location, &stack), 0);
    }
    return stack;
}

static void write_tracks(struct pen *pen)
{
    static const struct {
        const char *process, *command, *thread;
        uint64_t pid, tid;
    } tracks[] = {
        {"python3", "python3 shop.py --fast", "MainThread", 100, 100},
        {NULL, NULL, "w\xc3\xb6rker;1", 100, 101},
        {"python3", "python3 child.py", "MainThread", 200, 200},
    };
    uint32_t process = 0, parent = 0;

    for (size_t i = 0; i < 3; i++) {
        struct cairn_track_def def = {.kind = CAIRN_TRACK_PROCESS, .number = tracks[i].pid};

        if (tracks[i].process) {
            def.parent = parent;
            def.start_ns = tracks[i].pid;
            def.boot_id = string(pen, "11111111-2222-3333-4444-555555555555");
            def.name = string(pen, tracks[i].process);
            def.detail = string(pen, tracks[i].command);
            process = 0;
            assert_int_equal(cairn_writer_track(pen->writer, &def, &process), 0);
            parent = process;
        }
        def = (struct cairn_track_def){.kind = CAIRN_TRACK_THREAD,
                                       .parent = process,
                                       .number = tracks[i].tid,
                                       .start_ns = tracks[i].tid,
                                       .name = string(pen, tracks[i].thread)};
        assert_int_equal(cairn_writer_track(pen->writer, &def, &pen->threads[i]), 0);
    }
}

static void write_environment(struct pen *pen)
{
    static const char *const entries[][2] = {
        {"run.mode", "run"},
        {"run.command", "python3 shop.py --fast"},
        {"run.wall_ns", "2004000000"},
        {"run.user_ns", "1730000000"},
        {"run.sys_ns", "61000000"},
        {"run.peak_bytes", "327155712"},
        {"run.exit", "0"},
        {"run.children", "perf"},
        {"host.cores_usable", "4.000"},
        {"sampler.interval_ns", "1000000"},
    };

    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        assert_int_equal(cairn_writer_env(pen->writer, entries[i][0],
                                          (struct cairn_span){(const uint8_t *)entries[i][1],
                                                              strlen(entries[i][1])}),
                         0);
    assert_int_equal(cairn_writer_counter(pen->writer, "missed", 3), 0);
    assert_int_equal(cairn_writer_counter(pen->writer, "own_cpu_ns", 21000000), 0);
}

static void write_ticks(struct pen *pen)
{
    uint64_t due_ns = START_NS;

    pen->times_ns[0] = START_NS - MEAN_NS;
    assert_int_equal(
        cairn_writer_schedule(pen->writer, SEED, MEAN_NS, QUANTUM_NS, 1, due_ns, pen->times_ns[0]),
        0);
    for (uint64_t tick = 1; tick <= TICKS; tick++) {
        if (tick > 1)
            due_ns += cairn_tick_interval(SEED, tick, MEAN_NS);
        assert_int_equal(cairn_writer_tick(pen->writer, tick, due_ns), 0);
        pen->times_ns[tick] = cairn_writer_tick_time(pen->writer);
    }
}

static void write_steps(struct pen *pen, const struct step *list, size_t count)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_RLE},       {"tick", "index", CAIRN_ENC_DELTA},
        {"ticks", "count", CAIRN_ENC_RLE},    {"stack", "id", CAIRN_ENC_DELTA},
        {"cpu", "quanta", CAIRN_ENC_UVARINT}, {"runq", "quanta", CAIRN_ENC_RLE},
    };
    uint64_t first[3] = {0, 0, 0};

    for (size_t i = 0; i < count; i++) {
        const struct step *step = &list[i];
        uint64_t from = first[step->thread], until = from + step->ticks, quanta;

        assert_true(until <= TICKS);
        quanta = (pen->times_ns[until] - pen->times_ns[from]) / QUANTUM_NS;
        assert_int_equal(cairn_writer_row(pen->writer, CAIRN_ROW_SAMPLE, columns,
                                          sizeof(columns) / sizeof(columns[0]),
                                          (uint64_t[]){pen->threads[step->thread], from,
                                                       step->ticks, stack_of(pen, step->frames),
                                                       quanta * step->cpu_milli / 1000,
                                                       quanta * step->runq_milli / 1000}),
                         0);
        first[step->thread] = until;
    }
}

static struct cairn_model *load_steps(const struct step *list, size_t count)
{
    struct cairn_sink_options sink_options = {.path = NULL};
    struct cairn_writer_options options = {.id = 1, .role = "collector", .pid = 1, .start_ns = 1};
    struct cairn_model *model = NULL;
    struct cairn_sink *sink;
    static struct pen pen;

    memset(&pen, 0, sizeof(pen));
    assert_int_equal(cairn_sink_open(&sink_options, &sink, NULL), 0);
    assert_int_equal(cairn_writer_open(sink, &options, &pen.writer), 0);
    write_environment(&pen);
    write_tracks(&pen);
    write_ticks(&pen);
    write_steps(&pen, list, count);
    assert_int_equal(cairn_writer_flush(pen.writer, CAIRN_CHUNK_END, NULL), 0);
    assert_int_equal(cairn_model_load_fd(cairn_sink_fd(sink), &model, NULL), 0);
    cairn_writer_free(pen.writer);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
    return model;
}

struct cairn_model *profile_load(void)
{
    return load_steps(steps, sizeof(steps) / sizeof(steps[0]));
}

struct cairn_model *profile_load_short(void)
{
    return load_steps(few, sizeof(few) / sizeof(few[0]));
}
