#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "io.h"
#include "writer.h"

/* Made once more when memory was short: the failure must have left everything as it was. */
#define CALL(call)                                                                                 \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ == -CAIRN_ENOMEM)                                                                \
            code_ = (call);                                                                        \
        if (code_ < 0)                                                                             \
            return code_;                                                                          \
    } while (0)

#define BOOT "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
#define PROCESS BOOT "/P500@9000"
#define CHILD BOOT "/P600@9900"
#define MAIN_THREAD PROCESS "/T500@9000"
#define CHILD_THREAD CHILD "/T600@9900"
#define STREAM PROCESS "/G7@0"
#define CODE_MAIN "a.py:main:1"
#define CODE_WORK "a.py:Work.run:10"
#define STACK_MAIN CODE_MAIN "+4"
#define STACK_WORK STACK_MAIN ";" CODE_WORK "+-1"
#define STACK_NATIVE STACK_WORK ";libc.so.6{c0ffee}+4660"
#define STACK_MARK "epoch 1"

enum { MEAN_NS = 1000000, QUANTUM_NS = MEAN_NS / 64, START_NS = 1000000000 };

struct pen { /* one writer, and its names for what all of them speak of */
    struct cairn_writer *writer;
    struct cairn_buf *truth;
    uint32_t code_main, code_work;
    uint32_t stack_main, stack_work, stack_native, stack_mark;
    uint32_t process, thread, stream, child, child_thread;
};

static int code_of(struct pen *pen, const char *name, uint32_t first_line, uint32_t *ret_id)
{
    struct cairn_code_def def = {.first_line = first_line};
    const char *dot = strrchr(name, '.');

    CALL(cairn_writer_str(pen->writer, dot == NULL ? name : dot + 1, &def.name));
    CALL(cairn_writer_str(pen->writer, name, &def.qualname));
    CALL(cairn_writer_str(pen->writer, "a.py", &def.file));
    CALL(cairn_writer_code(pen->writer, &def, ret_id));
    return 0;
}

static int push(struct pen *pen, uint32_t parent, uint8_t kind, uint32_t ref, int64_t offset,
                uint32_t *ret_stack)
{
    struct cairn_location_def def = {.kind = kind, .ref = ref, .offset = offset};
    uint32_t location;

    CALL(cairn_writer_location(pen->writer, &def, &location));
    CALL(cairn_writer_stack(pen->writer, parent, location, ret_stack));
    return 0;
}

static int name_stacks(struct pen *pen)
{
    static const uint8_t lines[] = {0x80, 0x00, 0xff, 0x0a};
    static const uint8_t build_id[] = {0xc0, 0xff, 0xee};
    struct cairn_linetable_def table = {.kind = CAIRN_LINES_LOCATION,
                                        .bytes = {lines, sizeof(lines)}};
    struct cairn_module_def module = {.build_id = {build_id, sizeof(build_id)}};
    uint32_t module_id, label;

    CALL(code_of(pen, "main", 1, &pen->code_main));
    CALL(code_of(pen, "Work.run", 10, &pen->code_work));
    table.code = pen->code_work;
    CALL(cairn_writer_linetable(pen->writer, &table));
    CALL(cairn_writer_str(pen->writer, "libc.so.6", &module.path));
    CALL(cairn_writer_module(pen->writer, &module, &module_id));
    CALL(cairn_writer_str(pen->writer, STACK_MARK, &label));

    CALL(push(pen, 0, CAIRN_LOC_LABEL, label, 0, &pen->stack_mark));
    CALL(push(pen, 0, CAIRN_LOC_PYTHON, pen->code_main, 4, &pen->stack_main));
    CALL(push(pen, pen->stack_main, CAIRN_LOC_PYTHON, pen->code_work, -1, &pen->stack_work));
    CALL(push(pen, pen->stack_work, CAIRN_LOC_NATIVE, module_id, 4660, &pen->stack_native));
    return 0;
}

static int track(struct pen *pen, uint8_t kind, uint32_t parent, uint64_t number, uint64_t start_ns,
                 const char *name, uint32_t *ret_id)
{
    struct cairn_track_def def = {
        .kind = kind, .parent = parent, .number = number, .start_ns = start_ns};

    if (kind == CAIRN_TRACK_PROCESS) {
        def.birth = parent ? CAIRN_BIRTH_FORK : CAIRN_BIRTH_EXEC;
        CALL(cairn_writer_str(pen->writer, BOOT, &def.boot_id));
    }
    CALL(cairn_writer_str(pen->writer, name, &def.name));
    CALL(cairn_writer_track(pen->writer, &def, ret_id));
    return 0;
}

static int name_tracks(struct pen *pen)
{
    CALL(track(pen, CAIRN_TRACK_PROCESS, 0, 500, 9000, "python3", &pen->process));
    CALL(track(pen, CAIRN_TRACK_THREAD, pen->process, 500, 9000, "MainThread", &pen->thread));
    CALL(track(pen, CAIRN_TRACK_GPU_STREAM, pen->process, 7, 0, "stream 7", &pen->stream));
    CALL(track(pen, CAIRN_TRACK_PROCESS, pen->process, 600, 9900, "worker", &pen->child));
    CALL(track(pen, CAIRN_TRACK_THREAD, pen->child, 600, 9900, "MainThread", &pen->child_thread));
    return 0;
}

/* `keys` says what the value stands for, or is NULL where the value speaks for itself. */
static int row(struct pen *pen, uint8_t kind, const struct cairn_column_def *columns, size_t count,
               const uint64_t *values, const char *const *keys)
{
    CALL(cairn_writer_row(pen->writer, kind, columns, count, values));
    cairn_buf_printf(pen->truth, "%u", kind);
    for (size_t i = 0; i < count; i++) {
        if (keys[i] == NULL)
            cairn_buf_printf(pen->truth, " %s=%lld", columns[i].name, (long long)values[i]);
        else
            cairn_buf_printf(pen->truth, " %s=%s", columns[i].name, keys[i]);
    }
    cairn_buf_add_str(pen->truth, "\n");
    return 0;
}

static int sample(struct pen *pen, uint32_t thread, const char *thread_key, uint32_t stack,
                  const char *stack_key, uint64_t cpu)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_RLE},       {"tick", "index", CAIRN_ENC_DELTA},
        {"ticks", "count", CAIRN_ENC_RLE},    {"stack", "id", CAIRN_ENC_DELTA},
        {"cpu", "quanta", CAIRN_ENC_UVARINT}, {"runq", "quanta", CAIRN_ENC_RLE},
        {"state", "", CAIRN_ENC_RLE},         {"overlays", "", CAIRN_ENC_RLE},
        {"on", "id", CAIRN_ENC_RLE},
    };
    uint32_t on;
    char tick[32];
    uint64_t index = (uint64_t)cairn_writer_tick_index(pen->writer);
    const char *keys[] = {thread_key, tick, NULL, stack_key, NULL, NULL, NULL, NULL, "read pipe"};

    CAIRN_TRY(cairn_writer_str(pen->writer, keys[8], &on));
    const uint64_t values[] = {thread, index, 1, stack, cpu, 2, 3, 5, on};

    snprintf(tick, sizeof(tick), "%llu", (unsigned long long)cairn_writer_tick_time(pen->writer));
    return row(pen, CAIRN_ROW_SAMPLE, columns, 9, values, keys);
}

/* Sampling: threads of both processes, a missed tick, a native leaf. */
static int write_samples(struct pen *pen, uint64_t first_tick)
{
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t number = first_tick + i + (i >= 3); /* one is missed */

        CALL(cairn_writer_tick(pen->writer, number, START_NS + number * MEAN_NS + 40000 + i));
        CALL(sample(pen, pen->thread, MAIN_THREAD, i % 3 ? pen->stack_work : pen->stack_native,
                    i % 3 ? STACK_WORK : STACK_NATIVE, 60 + i % 5));
        CALL(sample(pen, pen->child_thread, CHILD_THREAD, pen->stack_main, STACK_MAIN, i % 2));
    }
    return 0;
}

static int write_spans(struct pen *pen, uint64_t time_ns)
{
    static const struct cairn_column_def gpu[] = {
        {"track", "id", CAIRN_ENC_UVARINT},       {"time", "ns", CAIRN_ENC_DELTA},
        {"dur", "ns", CAIRN_ENC_UVARINT},         {"stack", "id", CAIRN_ENC_UVARINT},
        {"correlation", "", CAIRN_ENC_DELTA_RLE},
    };
    static const struct cairn_column_def bench[] = {
        {"track", "id", CAIRN_ENC_UVARINT}, {"time", "ns", CAIRN_ENC_DELTA},
        {"dur", "ns", CAIRN_ENC_UVARINT},   {"stack", "id", CAIRN_ENC_UVARINT},
        {"loops", "count", CAIRN_ENC_RLE},  {"score", "", CAIRN_ENC_F64},
    };
    const char *gpu_keys[] = {STREAM, NULL, NULL, STACK_NATIVE, NULL};
    const char *bench_keys[] = {MAIN_THREAD, NULL, NULL, STACK_MARK, NULL, NULL};
    const char *mark_keys[] = {MAIN_THREAD, NULL, NULL, STACK_MARK};

    for (uint64_t i = 0; i < 2; i++) {
        double score = 0.1 * (double)(i + 1);
        uint64_t score_bits, begin_ns = time_ns + i * 1000;
        const uint64_t span[] = {pen->stream, begin_ns, 500 + i, pen->stack_native, i};
        const uint64_t mark[] = {pen->thread, begin_ns, 900, pen->stack_mark};

        memcpy(&score_bits, &score, sizeof(score_bits));
        const uint64_t run[] = {pen->thread, begin_ns, 700 + i, pen->stack_mark, 1000, score_bits};
        CALL(row(pen, CAIRN_ROW_GPU, gpu, 5, span, gpu_keys));
        CALL(row(pen, CAIRN_ROW_BENCH, bench, 6, run, bench_keys));
        CALL(row(pen, CAIRN_ROW_MARK, bench, 4, mark, mark_keys));
    }
    return 0;
}

static int write_tasks(struct pen *pen, uint64_t time_ns)
{
    static const struct cairn_column_def task[] = {
        {"track", "id", CAIRN_ENC_RLE},    {"time", "ns", CAIRN_ENC_DELTA},
        {"dur", "ns", CAIRN_ENC_UVARINT},  {"stack", "id", CAIRN_ENC_UVARINT},
        {"tasks", "count", CAIRN_ENC_RLE}, {"state", "", CAIRN_ENC_RLE},
    };
    const char *keys[] = {MAIN_THREAD, NULL, NULL, STACK_WORK, NULL, NULL};
    const uint64_t waiting[] = {pen->thread, time_ns, 40, pen->stack_work, 12, CAIRN_TASK_WAITING};
    const uint64_t running[] = {pen->thread, time_ns + 40,      10, pen->stack_work,
                                1,           CAIRN_TASK_RUNNING};

    CALL(row(pen, CAIRN_ROW_TASK, task, 6, waiting, keys));
    return row(pen, CAIRN_ROW_TASK, task, 6, running, keys);
}

static int write_counts(struct pen *pen, uint32_t thread, const char *thread_key, uint64_t hits)
{
    static const struct cairn_column_def tree[] = {
        {"track", "id", CAIRN_ENC_RLE},
        {"stack", "id", CAIRN_ENC_DELTA},
        {"calls", "count", CAIRN_ENC_UVARINT},
        {"self", "ns", CAIRN_ENC_SVARINT},
    };
    static const struct cairn_column_def line[] = {
        {"track", "id", CAIRN_ENC_RLE},
        {"code", "id", CAIRN_ENC_RLE},
        {"line", "", CAIRN_ENC_DELTA_RLE},
        {"hits", "count", CAIRN_ENC_UVARINT},
    };
    static const struct cairn_column_def opcode[] = {
        {"track", "id", CAIRN_ENC_RLE},
        {"code", "id", CAIRN_ENC_RLE},
        {"offset", "bytes", CAIRN_ENC_DELTA},
        {"hits", "count", CAIRN_ENC_UVARINT},
    };
    const char *tree_keys[] = {thread_key, STACK_WORK, NULL, NULL};
    const char *code_keys[] = {thread_key, CODE_WORK, NULL, NULL};
    const uint64_t node[] = {thread, pen->stack_work, hits, (uint64_t)-5};

    CALL(row(pen, CAIRN_ROW_TREE, tree, 4, node, tree_keys));
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t at_line[] = {thread, pen->code_work, 10 + i, hits + i};
        const uint64_t at_opcode[] = {thread, pen->code_work, 2 * i, hits - i};

        CALL(row(pen, CAIRN_ROW_LINE, line, 4, at_line, code_keys));
        CALL(row(pen, CAIRN_ROW_OPCODE, opcode, 4, at_opcode, code_keys));
    }
    return 0;
}

static int write_events(struct pen *pen, uint32_t thread, const char *thread_key, uint64_t time_ns)
{
    static const struct cairn_column_def event[] = {
        {"track", "id", CAIRN_ENC_RLE},
        {"time", "ns", CAIRN_ENC_DELTA},
        {"dur", "ns", CAIRN_ENC_UVARINT},
        {"stack", "id", CAIRN_ENC_DELTA},
    };
    static const struct cairn_column_def alloc[] = {
        {"track", "id", CAIRN_ENC_RLE},        {"time", "ns", CAIRN_ENC_DELTA},
        {"stack", "id", CAIRN_ENC_DELTA},      {"address", "", CAIRN_ENC_DELTA},
        {"bytes", "bytes", CAIRN_ENC_UVARINT},
    };
    const char *event_keys[] = {thread_key, NULL, NULL, STACK_WORK};
    const char *alloc_keys[] = {thread_key, NULL, STACK_NATIVE, NULL, NULL};

    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t call[] = {thread, time_ns + i, 3 * i, pen->stack_work};
        const uint64_t block[] = {thread, time_ns + i, pen->stack_native, 0x7fff00000000 - (i << 4),
                                  64 << i};

        CALL(row(pen, CAIRN_ROW_EVENT, event, 4, call, event_keys));
        CALL(row(pen, CAIRN_ROW_ALLOC, alloc, 5, block, alloc_keys));
    }
    return 0;
}

static int open_pen(struct pen *pen, struct cairn_sink *sink, uint32_t id, const char *role,
                    uint64_t pid, struct cairn_buf *truth)
{
    struct cairn_writer_options options = {
        .id = id, .role = role, .pid = pid, .start_ns = 18 * pid};

    *pen = (struct pen){.truth = truth};
    CALL(cairn_writer_open(sink, &options, &pen->writer));
    cairn_buf_printf(truth, "W %u %s %llu %llu\n", id, role, (unsigned long long)pid,
                     (unsigned long long)options.start_ns);
    return 0;
}

/* The same things under other ids than the collector's. */
static int begin_agent(struct pen *pen)
{
    uint32_t id;

    for (int i = 0; i < 5; i++) {
        char text[32];

        snprintf(text, sizeof(text), "agent only %d", i);
        CALL(cairn_writer_str(pen->writer, text, &id));
    }
    CALL(code_of(pen, "elsewhere", 99, &id));
    CALL(push(pen, 0, CAIRN_LOC_PYTHON, id, 0, &id));
    CALL(name_tracks(pen));
    CALL(name_stacks(pen));
    return 0;
}

static int write_forked(struct pen *pen)
{
    CALL(begin_agent(pen));
    CALL(write_counts(pen, pen->child_thread, CHILD_THREAD, 50));
    CALL(write_events(pen, pen->child_thread, CHILD_THREAD, START_NS + 77));
    CALL(cairn_writer_counter(pen->writer, "lost", 3));
    cairn_buf_add_str(pen->truth, "C 3 lost=3\n");
    /* It never hears of the new name that the parent's thread gets. */
    cairn_buf_add_str(pen->truth, "T " MAIN_THREAD " MainThread parent=" PROCESS " birth=0\n");
    CALL(cairn_writer_flush(pen->writer, CAIRN_CHUNK_DATA, NULL));
    return 0;
}

/* What the child of a fork does: it writes into memory which its parent will read. */
static int run_forked(struct cairn_sink *sink, int truth_fd)
{
    struct cairn_buf truth;
    struct pen pen;
    int code;

    cairn_buf_init(&truth, 1 << 20);
    pen.writer = NULL;
    /* Room for all of it, asked for as often as memory can be made to be short. */
    if (cairn_buf_reserve(&truth, 1 << 14) < 0) {
        cairn_buf_clear(&truth);
        cairn_buf_reserve(&truth, 1 << 14);
    }
    code = open_pen(&pen, sink, 3, "agent", 600, &truth);
    if (code == 0)
        code = write_forked(&pen);
    if (code == 0)
        code = cairn_io_write(truth_fd, truth.data, truth.size_bytes);
    cairn_writer_free(pen.writer);
    cairn_buf_release(&truth);
    return code;
}

/* Appends the chunks of a recording in memory to another file, under the writer they name. */
static int take_over(struct cairn_sink *sink, int fd)
{
    struct cairn_reader *reader;
    struct cairn_buf buf;
    int code = 0;

    CALL(cairn_reader_open_fd(fd, &reader, NULL));
    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    for (size_t i = 0; code == 0 && i < cairn_reader_chunk_count(reader); i++) {
        const struct cairn_chunk_info *info = cairn_reader_chunk(reader, i);
        struct cairn_span sections;

        code = cairn_reader_load(reader, i, &buf, &sections, NULL);
        if (code == -CAIRN_ENOMEM)
            code = cairn_reader_load(reader, i, &buf, &sections, NULL);
        if (code == 0)
            code = cairn_sink_append(sink, info->kind, info->writer, info->first_ns, info->last_ns,
                                     info->track_mask, sections, NULL);
        if (code == -CAIRN_ENOMEM)
            code = cairn_sink_append(sink, info->kind, info->writer, info->first_ns, info->last_ns,
                                     info->track_mask, sections, NULL);
    }
    cairn_buf_release(&buf);
    cairn_reader_free(reader);
    return code;
}

static int write_across_fork(struct cairn_sink *sink, struct cairn_buf *truth)
{
    struct cairn_sink_options in_memory = {.path = NULL};
    struct cairn_sink *memory;
    uint8_t text[8192];
    int truth_fd, status = -1, code;
    ssize_t size_bytes;
    pid_t pid;

    CALL(cairn_sink_open(&in_memory, &memory, NULL));
    truth_fd = memfd_create("truth", MFD_CLOEXEC);
    pid = fork();
    if (pid == 0)
        _exit(run_forked(memory, truth_fd) < 0);
    waitpid(pid, &status, 0);
    size_bytes = cairn_io_pread(truth_fd, text, sizeof(text), 0);
    cairn_io_close(&truth_fd);
    code = status == 0 && size_bytes < (ssize_t)sizeof(text) ? 0 : -CAIRN_EINTERNAL;
    if (code == 0)
        code = cairn_buf_add(truth, text, (size_t)size_bytes);
    if (code == 0)
        code = take_over(sink, cairn_sink_fd(memory));
    cairn_sink_close(memory, NULL);
    return code;
}

static int write_facts(struct pen *pen, struct cairn_buf *truth)
{
    CALL(cairn_writer_env(pen->writer, "host.cpu",
                          (struct cairn_span){(const uint8_t *)"Toy 9000", 8}));
    CALL(cairn_writer_clock(pen->writer));
    CALL(cairn_writer_schedule(pen->writer, 42, MEAN_NS, QUANTUM_NS, 0, START_NS,
                               START_NS - MEAN_NS));
    cairn_buf_add_str(truth, "E host.cpu=Toy 9000\n");
    cairn_buf_add_str(truth, "L " CODE_WORK " 3 8000ff0a\n");
    cairn_buf_add_str(truth, "T " PROCESS " python3 parent=- birth=2\n"
                             "T " MAIN_THREAD " Main renamed parent=" PROCESS " birth=0\n"
                             "T " STREAM " stream 7 parent=" PROCESS " birth=0\n"
                             "T " CHILD " worker parent=" PROCESS " birth=1\n"
                             "T " CHILD_THREAD " MainThread parent=" CHILD " birth=0\n");
    return 0;
}

static int write_all(struct cairn_sink *sink, struct pen *collector, struct pen *agent,
                     struct cairn_buf *truth)
{
    CALL(name_stacks(collector));
    CALL(name_tracks(collector));
    CALL(begin_agent(agent));
    CALL(write_facts(collector, truth));
    for (uint64_t i = 0; i < RECORDING_CHUNK_PAIRS; i++) {
        CALL(write_samples(collector, 9 * i));
        CALL(write_spans(collector, START_NS + i * 30000000));
        CALL(write_tasks(collector, START_NS + i * 30000000));
        CALL(write_counts(agent, agent->thread, MAIN_THREAD, 100 + i));
        CALL(write_events(agent, agent->thread, MAIN_THREAD, START_NS + i));
        CALL(cairn_writer_counter(collector->writer, "own_cpu_ns", 1000 * (i + 1)));
        if (i == 0)
            CALL(write_across_fork(sink, truth));
        /* From here on the thread has another name, for all of its rows, whoever wrote them. */
        CALL(track(collector, CAIRN_TRACK_THREAD, collector->process, 500, 9000, "Main renamed",
                   &collector->thread));
        CALL(cairn_writer_flush(collector->writer, CAIRN_CHUNK_DATA, NULL));
        CALL(track(agent, CAIRN_TRACK_THREAD, agent->process, 500, 9000, "Main renamed",
                   &agent->thread));
        CALL(cairn_writer_flush(agent->writer, CAIRN_CHUNK_DATA, NULL));
    }
    cairn_buf_printf(truth, "C 1 own_cpu_ns=%d\n", 1000 * RECORDING_CHUNK_PAIRS);
    CALL(cairn_writer_flush(agent->writer, CAIRN_CHUNK_DATA, NULL));
    CALL(cairn_writer_flush(collector->writer, CAIRN_CHUNK_END, NULL));
    return truth->code;
}

int recording_write(const char *path, uint64_t rotate_bytes, bool sync, struct cairn_buf *truth)
{
    struct cairn_sink_options options = {
        .path = path, .force = true, .sync = sync, .rotate_bytes = rotate_bytes};
    struct pen collector = {0}, agent = {0};
    struct cairn_sink *sink;
    int code, closed;

    CALL(cairn_sink_open(&options, &sink, NULL));
    code = open_pen(&collector, sink, 1, "collector", 400, truth);
    if (code == 0)
        code = open_pen(&agent, sink, 2, "agent", 500, truth);
    if (code == 0)
        code = write_all(sink, &collector, &agent, truth);
    cairn_writer_free(collector.writer);
    cairn_writer_free(agent.writer);
    closed = cairn_sink_close(sink, NULL);
    return code < 0 ? code : closed;
}
