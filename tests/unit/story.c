#include "story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define QUANTUM_NS 1000u
#define MEAN_NS 1000000u

static uint32_t string(struct story *story, const char *text)
{
    uint32_t id;

    assert_int_equal(cairn_writer_str(story->writer, text, &id), 0);
    return id;
}

void story_begin(struct story *story, const char *path, uint32_t writer_id)
{
    struct cairn_sink_options sink = {.path = path, .force = true};
    struct cairn_writer_options writer = {.id = writer_id, .role = "collector", .pid = 1};

    memset(story, 0, sizeof(*story));
    assert_int_equal(cairn_sink_open(&sink, &story->sink, NULL), 0);
    assert_int_equal(cairn_writer_open(story->sink, &writer, &story->writer), 0);
    story->now_ns = STORY_START_NS;
    /* At "max" a delay counts from the tick before, so times are what the test says. */
    assert_int_equal(
        cairn_writer_schedule(story->writer, 1, 0, QUANTUM_NS, 1, STORY_START_NS, STORY_START_NS),
        0);
}

unsigned story_thread(struct story *story, uint64_t pid, uint64_t tid, const char *name)
{
    struct cairn_track_def process = {
        .kind = CAIRN_TRACK_PROCESS,
        .number = pid,
        .start_ns = pid,
        .boot_id = string(story, "boot"),
        .name = string(story, "python3"),
    };
    struct cairn_track_def thread = {
        .kind = CAIRN_TRACK_THREAD,
        .number = tid,
        .start_ns = tid,
        .name = string(story, name),
    };
    uint32_t process_id = 0, id = 0;

    assert_true(story->thread_count < STORY_THREADS_MAX);
    assert_int_equal(cairn_writer_track(story->writer, &process, &process_id), 0);
    thread.parent = process_id;
    assert_int_equal(cairn_writer_track(story->writer, &thread, &id), 0);
    story->threads[story->thread_count] = id;
    return (unsigned)story->thread_count++;
}

uint32_t story_process(struct story *story, uint64_t pid, uint32_t parent, const char *command,
                       enum cairn_birth birth)
{
    struct cairn_track_def process = {
        .kind = CAIRN_TRACK_PROCESS,
        .parent = parent,
        .number = pid,
        .start_ns = pid,
        .boot_id = string(story, "boot"),
        .detail = string(story, command),
        .birth = (uint8_t)birth,
    };
    uint32_t id = 0;

    assert_int_equal(cairn_writer_track(story->writer, &process, &id), 0);
    return id;
}

void story_env(struct story *story, const char *key, const char *value)
{
    struct cairn_span span = {(const uint8_t *)value, strlen(value)};

    assert_int_equal(cairn_writer_env(story->writer, key, span), 0);
}

void story_tick(struct story *story, uint64_t step_ns)
{
    story->now_ns += step_ns;
    assert_int_equal(cairn_writer_tick(story->writer, ++story->tick, story->now_ns), 0);
    assert_int_equal(cairn_writer_tick_time(story->writer), story->now_ns);
}

/* The instruction at offset 2n is on the n-th line of the function. */
static uint32_t code_of(struct story *story, const char *name, const char *file, uint32_t first)
{
    static const uint8_t step[] = {2, 1};
    uint8_t lines[256];
    struct cairn_code_def def = {string(story, name), string(story, name), string(story, file),
                                 first};
    struct cairn_linetable_def table = {.kind = CAIRN_LINES_LNOTAB, .bytes = {lines, 0}};
    char key[64];

    assert_true(snprintf(key, sizeof(key), "%s %s:%u", name, file, first) < (int)sizeof(key));
    for (size_t i = 0; i < story->code_count; i++)
        if (strcmp(story->codes[i].name, key) == 0)
            return story->codes[i].id;
    assert_true(story->code_count < STORY_CODES_MAX);
    assert_int_equal(cairn_writer_code(story->writer, &def, &table.code), 0);
    for (; table.bytes.size_bytes < sizeof(lines); table.bytes.size_bytes += sizeof(step))
        memcpy(lines + table.bytes.size_bytes, step, sizeof(step));
    assert_int_equal(cairn_writer_linetable(story->writer, &table), 0);
    memcpy(story->codes[story->code_count].name, key, sizeof(key));
    story->codes[story->code_count++].id = table.code;
    return table.code;
}

static uint32_t location_of(struct story *story, const char *frame)
{
    struct cairn_location_def def = {.kind = CAIRN_LOC_LABEL};
    char name[64], file[64];
    unsigned first, line;
    uint32_t id;
    int found = sscanf(frame, "%63s %63[^:]:%u@%u", name, file, &first, &line);

    if (frame[0] == '[') {
        def.ref = string(story, frame);
    } else {
        assert_true(found >= 3);
        def.kind = CAIRN_LOC_PYTHON;
        def.ref = code_of(story, name, file, first);
        def.offset = found == 4 ? 2 * (int64_t)(line - first) : 0;
    }
    assert_int_equal(cairn_writer_location(story->writer, &def, &id), 0);
    return id;
}

static uint32_t stack_of(struct story *story, const char *text)
{
    char *copy = strdup(text), *rest = copy;
    uint32_t stack = 0;

    for (char *frame; (frame = strsep(&rest, ";")) != NULL && *frame;)
        assert_int_equal(
            cairn_writer_stack(story->writer, stack, location_of(story, frame), &stack), 0);
    free(copy);
    return stack;
}

void story_sample(struct story *story, unsigned thread, const char *stack, uint64_t ticks,
                  uint64_t cpu_ns)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_UVARINT},   {"tick", "index", CAIRN_ENC_UVARINT},
        {"ticks", "count", CAIRN_ENC_RLE},    {"stack", "id", CAIRN_ENC_DELTA},
        {"cpu", "quanta", CAIRN_ENC_UVARINT}, {"runq", "quanta", CAIRN_ENC_RLE},
    };
    uint64_t first = (uint64_t)cairn_writer_tick_index(story->writer) + 1 - ticks;
    const uint64_t values[] = {story->threads[thread], first, ticks, stack_of(story, stack),
                               cpu_ns / QUANTUM_NS,    0};

    assert_int_equal(cairn_writer_row(story->writer, CAIRN_ROW_SAMPLE, columns, 6, values), 0);
}

void story_wait(struct story *story, unsigned thread, const char *stack, uint64_t ticks,
                uint64_t state, uint64_t overlays, const char *on)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_RLE},    {"tick", "index", CAIRN_ENC_DELTA},
        {"ticks", "count", CAIRN_ENC_RLE}, {"stack", "id", CAIRN_ENC_DELTA},
        {"cpu", "quanta", CAIRN_ENC_RLE},  {"state", "", CAIRN_ENC_RLE},
        {"overlays", "", CAIRN_ENC_RLE},   {"on", "id", CAIRN_ENC_RLE},
    };
    uint64_t first = (uint64_t)cairn_writer_tick_index(story->writer) + 1 - ticks;
    const uint64_t values[] = {
        story->threads[thread], first, ticks, stack_of(story, stack), 0, state, overlays,
        string(story, on)};

    assert_int_equal(cairn_writer_row(story->writer, CAIRN_ROW_SAMPLE, columns, 8, values), 0);
}

void story_calls(struct story *story, unsigned thread, const char *stack, uint64_t calls,
                 uint64_t self_ns, uint64_t total_ns)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_RLE},        {"stack", "id", CAIRN_ENC_DELTA},
        {"calls", "count", CAIRN_ENC_UVARINT}, {"resumes", "count", CAIRN_ENC_UVARINT},
        {"self", "ns", CAIRN_ENC_UVARINT},     {"total", "ns", CAIRN_ENC_UVARINT},
    };
    const uint64_t values[] = {
        story->threads[thread], stack_of(story, stack), calls, 0, self_ns, total_ns};

    assert_int_equal(cairn_writer_row(story->writer, CAIRN_ROW_TREE, columns, 6, values), 0);
}

void story_calls_left(struct story *story, unsigned thread, const char *stack, uint64_t calls,
                      uint64_t self_ns, uint64_t total_ns, uint64_t flags)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_RLE},        {"stack", "id", CAIRN_ENC_DELTA},
        {"calls", "count", CAIRN_ENC_UVARINT}, {"self", "ns", CAIRN_ENC_UVARINT},
        {"total", "ns", CAIRN_ENC_UVARINT},    {"let_go", "flags", CAIRN_ENC_RLE},
    };
    const uint64_t values[] = {
        story->threads[thread], stack_of(story, stack), calls, self_ns, total_ns, flags};

    assert_int_equal(cairn_writer_row(story->writer, CAIRN_ROW_TREE, columns, 6, values), 0);
}

void story_region(struct story *story, unsigned thread, const char *name, uint64_t from_ns,
                  uint64_t to_ns)
{
    static const struct cairn_column_def columns[] = {
        {"track", "id", CAIRN_ENC_RLE},   {"time", "ns", CAIRN_ENC_DELTA},
        {"dur", "ns", CAIRN_ENC_UVARINT}, {"stack", "id", CAIRN_ENC_DELTA},
        {"state", "", CAIRN_ENC_RLE},
    };
    const uint64_t values[] = {story->threads[thread], STORY_START_NS + from_ns, to_ns - from_ns,
                               stack_of(story, name), CAIRN_MARK_OVER};

    assert_int_equal(cairn_writer_row(story->writer, CAIRN_ROW_MARK, columns, 5, values), 0);
}

void story_flush(struct story *story)
{
    assert_int_equal(cairn_writer_flush(story->writer, CAIRN_CHUNK_DATA, NULL), 0);
}

struct cairn_model *story_end(struct story *story)
{
    bool in_memory = !*cairn_sink_path(story->sink);
    struct cairn_model *model = NULL;

    assert_int_equal(cairn_writer_flush(story->writer, CAIRN_CHUNK_END, NULL), 0);
    if (in_memory)
        assert_int_equal(cairn_model_load_fd(cairn_sink_fd(story->sink), &model, NULL), 0);
    cairn_writer_free(story->writer);
    assert_int_equal(cairn_sink_close(story->sink, NULL), 0);
    return model;
}
