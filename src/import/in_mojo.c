/* in_mojo.c: MOJO, the binary form in which Austin writes samples: a stream of events, of which
 * each sample is a few: whose it is, its frames from the outermost inwards, its measures. Texts and
 * frames are told once for each process and named by a number from then on. Versions 1 to 4.
 *
 * Numbers are little-endian, the first byte with 6 bits and a sign, the others with 7. */
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "formats.h"
#include "intern.h"
#include "jsonin.h"

#define VERSION_MAX 4
#define TEXT_MAX_BYTES ((size_t)64 << 20)
#define REFS_MAX ((size_t)1 << 22)
#define THREADS_MAX ((size_t)1 << 16)
#define FRAMES_MAX ((size_t)1 << 16) /* of a stack */
#define US_NS 1000u

enum event {
    EVENT_METADATA = 1,
    EVENT_STACK,
    EVENT_FRAME,
    EVENT_FRAME_INVALID,
    EVENT_FRAME_REF,
    EVENT_FRAME_KERNEL,
    EVENT_GC,
    EVENT_IDLE,
    EVENT_TIME,
    EVENT_MEMORY,
    EVENT_STRING,
    EVENT_STRING_REF,
    EVENT_STACK_REPEAT,
    EVENT_TASK_STACK,
    EVENT_TASK_WAITER,
};

struct frame {
    uint32_t id; /* of the guest */
    bool native; /* no Python code */
};

struct stack {
    CAIRN_VEC(struct frame) frames; /* outermost first */
};

struct mojo {
    struct cairn_feed *feed;
    struct cairn_guest *guest;
    struct cairn_err *err;
    struct cairn_intern names;
    struct cairn_buf text;
    struct cairn_map strings, frame_refs, thread_of; /* by process and number */
    CAIRN_VEC(struct frame) frames;
    CAIRN_VEC(struct stack) before; /* of each thread: that of its last sample */
    uint64_t version, pid;
    uint32_t thread; /* of `before`, and of the guest */
    struct stack now;
    uint64_t time_us;
    bool in_sample, timed;
    bool in_task; /* frames are those of a task of asyncio, up to the next time */
    uint64_t untimed, tasks;
};

/* 0, -CAIRN_EEND behind the last byte, or a failure. */
static int take_byte(struct mojo *m, uint8_t *ret_byte)
{
    if (m->feed->next == m->feed->end)
        CAIRN_TRY(cairn_feed_more(m->feed));
    *ret_byte = *m->feed->next++;
    return 0;
}

static int take_number(struct mojo *m, uint64_t *ret_number)
{
    unsigned shift = 6;
    uint8_t byte;

    CAIRN_TRY(take_byte(m, &byte));
    *ret_number = byte & 0x3f;
    while (byte & 0x80) {
        CAIRN_TRY(take_byte(m, &byte));
        /* Keys have all 64 bits; the last byte has room for two of them. */
        if (shift > 62 || (shift == 62 && byte > 3))
            return -CAIRN_EDAMAGED;
        *ret_number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    }
    return 0;
}

static int take_text(struct mojo *m, uint32_t *ret_name)
{
    uint8_t byte;

    cairn_buf_clear(&m->text);
    for (;;) {
        CAIRN_TRY(take_byte(m, &byte));
        if (byte == 0)
            return cairn_intern_add(&m->names, cairn_buf_span(&m->text), ret_name);
        cairn_buf_u8(&m->text, byte);
        CAIRN_TRY(m->text.code);
    }
}

static struct cairn_span string_of(const struct mojo *m, uint64_t key)
{
    uint64_t name = 0;

    if (key == 1)
        return (struct cairn_span){(const uint8_t *)"[unknown]", 9};
    cairn_map_get(&m->strings, m->pid, key, &name);
    return cairn_intern_get(&m->names, (uint32_t)name);
}

static bool is_python(struct cairn_span file)
{
    size_t size = file.size_bytes;

    return (size > 3 && memcmp(file.data + size - 3, ".py", 3) == 0) ||
           (size > 1 && file.data[0] == '<' && file.data[size - 1] == '>');
}

static uint32_t line_of(uint64_t line)
{
    return line < INT32_MAX ? (uint32_t)line : 0;
}

static int take_frame(struct mojo *m)
{
    struct cairn_guest_frame frame = {.line = 0};
    uint64_t key, file, scope, line, unused;
    struct frame made;

    CAIRN_TRY(take_number(m, &key));
    CAIRN_TRY(take_number(m, &file));
    CAIRN_TRY(take_number(m, &scope));
    CAIRN_TRY(take_number(m, &line));
    for (int i = 0; i < 3 && m->version > 1; i++) /* the last line, and the columns */
        CAIRN_TRY(take_number(m, &unused));
    frame.name = string_of(m, scope);
    frame.file = string_of(m, file);
    frame.line = line_of(line);
    made.native = !is_python(frame.file);
    CAIRN_TRY(cairn_guest_frame(m->guest, &frame, &made.id));
    CAIRN_TRY(cairn_vec_reserve(&m->frames, m->frames.count + 1, REFS_MAX));
    CAIRN_TRY(cairn_map_put(&m->frame_refs, m->pid, key, m->frames.count));
    m->frames.items[m->frames.count++] = made;
    return 0;
}

static int add_frame(struct mojo *m, struct frame frame)
{
    if (m->in_task)
        return 0;
    if (!m->in_sample)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_vec_reserve(&m->now.frames, m->now.frames.count + 1, FRAMES_MAX));
    m->now.frames.items[m->now.frames.count++] = frame;
    return 0;
}

static int take_frame_ref(struct mojo *m)
{
    uint64_t key, index;

    CAIRN_TRY(take_number(m, &key));
    if (!cairn_map_get(&m->frame_refs, m->pid, key, &index))
        return cairn_err_set(m->err, -CAIRN_EDAMAGED, 0, "import",
                             "a stack has a frame that was not told before");
    return add_frame(m, m->frames.items[index]);
}

/* A frame of which only a name is known. */
static int add_named(struct mojo *m, struct cairn_span name)
{
    struct cairn_guest_frame frame = {.name = name};
    struct frame made = {.native = true};

    CAIRN_TRY(cairn_guest_frame(m->guest, &frame, &made.id));
    return add_frame(m, made);
}

static int give_sample(struct mojo *m)
{
    struct cairn_guest_sample sample = {
        .thread = m->thread, .state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
    struct stack swap;

    if (!m->in_sample)
        return 0;
    m->in_sample = m->in_task = false;
    m->untimed += !m->timed;
    if (m->timed) {
        if (m->time_us > CAIRN_GUEST_TIME_MAX_NS / US_NS)
            return -CAIRN_EDAMAGED;
        for (size_t i = 0; i < m->now.frames.count; i++)
            CAIRN_TRY(cairn_guest_stack(m->guest, sample.stack, m->now.frames.items[i].id,
                                        &sample.stack));
        sample.ns = m->time_us * US_NS;
        CAIRN_TRY(cairn_guest_add(m->guest, &sample));
    }
    swap = m->before.items[m->thread];
    m->before.items[m->thread] = m->now;
    m->now = swap;
    return 0;
}

static int take_stack(struct mojo *m)
{
    struct cairn_guest_thread thread = {.tid = 0};
    uint64_t unused, found;
    uint32_t name;

    CAIRN_TRY(give_sample(m));
    CAIRN_TRY(take_number(m, &m->pid));
    if (m->version >= 3)
        CAIRN_TRY(take_number(m, &unused)); /* the interpreter */
    CAIRN_TRY(take_text(m, &name));
    if (!cairn_map_get(&m->thread_of, m->pid, name, &found)) {
        thread.pid = m->pid;
        thread.name = cairn_intern_get(&m->names, name);
        CAIRN_TRY(cairn_guest_thread(m->guest, &thread, &m->thread));
        CAIRN_TRY(cairn_vec_reserve(&m->before, m->thread + 1u, THREADS_MAX));
        while (m->before.count <= m->thread)
            m->before.items[m->before.count++] = (struct stack){.frames = {.items = NULL}};
        CAIRN_TRY(cairn_map_put(&m->thread_of, m->pid, name, m->thread));
    } else {
        m->thread = (uint32_t)found;
    }
    m->now.frames.count = 0;
    m->in_sample = true;
    m->timed = false;
    m->time_us = 0;
    return 0;
}

/* The outer frames are those of the thread's last sample, up to its innermost one of Python; what
 * was told of this one so far lies within. */
static int repeat_stack(struct mojo *m)
{
    const struct stack *before;
    size_t outer, inner = m->now.frames.count;

    if (!m->in_sample)
        return -CAIRN_EDAMAGED;
    before = &m->before.items[m->thread];
    for (outer = before->frames.count; outer > 0 && before->frames.items[outer - 1].native; outer--)
        ;
    if (outer == 0)
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&m->now.frames, outer + inner, FRAMES_MAX));
    memmove(m->now.frames.items + outer, m->now.frames.items, inner * sizeof(struct frame));
    memcpy(m->now.frames.items, before->frames.items, outer * sizeof(struct frame));
    m->now.frames.count = outer + inner;
    return 0;
}

static int take_time(struct mojo *m)
{
    uint64_t time_us;

    CAIRN_TRY(take_number(m, &time_us));
    if (m->in_task) {
        m->in_task = false; /* what the task waited is beside the time of threads */
        return 0;
    }
    m->time_us = time_us;
    m->timed = true;
    return 0;
}

static int take_string(struct mojo *m)
{
    uint64_t key;
    uint32_t name;

    CAIRN_TRY(take_number(m, &key));
    CAIRN_TRY(take_text(m, &name));
    return cairn_map_put(&m->strings, m->pid, key, name);
}

/* Passes over so many numbers, and so many texts. */
static int pass(struct mojo *m, unsigned numbers, unsigned texts)
{
    uint64_t number;
    uint32_t name;

    while (numbers-- > 0)
        CAIRN_TRY(take_number(m, &number));
    while (texts-- > 0)
        CAIRN_TRY(take_text(m, &name));
    return 0;
}

static int take_fact(struct mojo *m)
{
    uint32_t key, value;

    CAIRN_TRY(take_text(m, &key));
    CAIRN_TRY(take_text(m, &value));
    if (!cairn_span_is(cairn_intern_get(&m->names, key), "mode") ||
        !cairn_span_is(cairn_intern_get(&m->names, value), "memory"))
        return 0;
    return cairn_err_set(m->err, -CAIRN_EDAMAGED, 0, "import", "%s", CAIRN_AUSTIN_MEMORY);
}

static int take_event(struct mojo *m, uint8_t event)
{
    uint32_t name;

    switch (event) {
    case EVENT_METADATA:
        return take_fact(m);
    case EVENT_STACK:
        return take_stack(m);
    case EVENT_FRAME:
        return take_frame(m);
    case EVENT_FRAME_INVALID:
        return add_named(m, (struct cairn_span){(const uint8_t *)"[invalid]", 9});
    case EVENT_FRAME_REF:
        return take_frame_ref(m);
    case EVENT_FRAME_KERNEL:
        CAIRN_TRY(take_text(m, &name));
        return add_named(m, cairn_intern_get(&m->names, name));
    case EVENT_GC:
    case EVENT_IDLE:
        return 0;
    case EVENT_TIME:
        return take_time(m);
    case EVENT_MEMORY:
    case EVENT_STRING_REF:
        return pass(m, 1, 0);
    case EVENT_STRING:
        return take_string(m);
    case EVENT_STACK_REPEAT:
        return repeat_stack(m);
    case EVENT_TASK_STACK:
        m->in_task = true;
        m->tasks++;
        return pass(m, 2, 0);
    case EVENT_TASK_WAITER:
        return pass(m, 2, 0);
    default:
        return cairn_err_set(m->err, -CAIRN_EDAMAGED, 0, "import", "it has no event %u", event);
    }
}

static int read_head(struct mojo *m)
{
    static const char head[] = "MOJ";
    uint8_t byte;

    for (size_t i = 0; i < 3; i++) {
        CAIRN_TRY(take_byte(m, &byte));
        if (byte != (uint8_t)head[i])
            return -CAIRN_EDAMAGED;
    }
    CAIRN_TRY(take_number(m, &m->version));
    if (m->version == 0 || m->version > VERSION_MAX)
        return cairn_err_set(m->err, -CAIRN_EDAMAGED, 0, "import",
                             "its version is %" PRIu64 "; 1 to %d are known", m->version,
                             VERSION_MAX);
    return 0;
}

static int read_events(struct mojo *m)
{
    uint8_t event;
    int code;

    while ((code = take_byte(m, &event)) == 0) {
        code = take_event(m, event);
        if (code == -CAIRN_EEND)
            return cairn_err_set(m->err, -CAIRN_EDAMAGED, 0, "import", "its last event is cut off");
        CAIRN_TRY(code);
    }
    return code == -CAIRN_EEND ? give_sample(m) : code;
}

static int read_all(struct mojo *m)
{
    int code = read_head(m);

    if (code < 0)
        return code == -CAIRN_EEND ? -CAIRN_EDAMAGED : code;
    CAIRN_TRY(read_events(m));
    m->guest->counted = true;
    if (m->untimed + m->tasks > 0)
        CAIRN_TRY(cairn_guest_fact(m->guest, "import.lost",
                                   "%" PRIu64 " samples without a time, and %" PRIu64
                                   " positions of tasks",
                                   m->untimed, m->tasks));
    return cairn_guest_fact(m->guest, "import.values", "samples of time");
}

int cairn_in_mojo(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct mojo m = {.feed = feed, .guest = guest, .err = err};
    int code = cairn_intern_init(&m.names, TEXT_MAX_BYTES);

    if (code < 0)
        return code;
    cairn_buf_init(&m.text, TEXT_MAX_BYTES);
    cairn_map_init(&m.strings, REFS_MAX);
    cairn_map_init(&m.frame_refs, REFS_MAX);
    cairn_map_init(&m.thread_of, THREADS_MAX);
    code = read_all(&m);
    cairn_intern_release(&m.names);
    cairn_buf_release(&m.text);
    cairn_map_release(&m.strings);
    cairn_map_release(&m.frame_refs);
    cairn_map_release(&m.thread_of);
    for (size_t i = 0; i < m.before.count; i++)
        cairn_vec_release(&m.before.items[i].frames);
    cairn_vec_release(&m.before);
    cairn_vec_release(&m.now.frames);
    cairn_vec_release(&m.frames);
    return code;
}
