/* in_chrome.c: trace events, the JSON of chrome://tracing, that VizTracer, PyTorch's Kineto and
 * many others write: calls with a beginning and a length ("X"), or a beginning and an end ("B",
 * "E"), of threads that are named elsewhere ("M"). An array of them, or an object that holds one;
 * that the array is not closed is usual.
 *
 * The calls of a thread are put in order and laid into each other: what a call does not give away
 * to calls within it is its own time. Which ones those are is known when all of them are there: a
 * caller may stand in the file behind all that it called. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats.h"
#include "intern.h"
#include "jsonin.h"
#include "tracecalls.h"

#define SLICES_MAX ((uint32_t)1 << 28)
#define HELD_MAX ((size_t)1 << 22) /* in memory, 128 MiB of them */
#define OPEN_MAX ((size_t)1 << 21)
#define THREADS_MAX ((size_t)1 << 16)
#define FRAMES_MAX ((size_t)1 << 20)
#define DEPTH_MAX ((size_t)1 << 14)
#define NAMES_MAX_BYTES ((size_t)16 << 20)
#define US_NS 1000.0
#define READ_SHARE 0.6              /* of the work, the rest being the calls in order */
#define TIME_MAX_US 9e15            /* centuries behind 1970 */
#define IS_TEXT ((uint64_t)1 << 63) /* of a key: not a number, but the id of a name */

struct begun {
    int64_t first_ns;
    uint32_t frame, number; /* as of a slice */
};

struct thread {
    uint64_t process, number; /* keys: numbers, or texts */
    uint32_t name;
    int64_t last_ns;
    CAIRN_VEC(struct begun) open; /* ("B"), outermost first */
};

struct call { /* on the way through the slices of a thread */
    uint32_t stack;
    int64_t last_ns;
};

struct event {
    char kind;
    double at_us, length_us;
    uint64_t process, thread;
    uint32_t name, argument; /* argument: "name" within "args" */
    uint32_t file, line;     /* within "args", as Cairn writes them; 0: not told */
};

struct chrome {
    struct cairn_jsonin json;
    struct cairn_feed *feed;
    struct cairn_guest *guest;
    struct cairn_err *err;
    struct cairn_intern names;
    struct cairn_map frame_of, process_names, index_of; /* index_of: of a thread */
    CAIRN_VEC(struct thread) threads;
    struct cairn_tracecalls slices;
    uint32_t slice_count;
    size_t open_count; /* of all threads */
    CAIRN_VEC(struct call) calls;
    int64_t first_ns;
    uint64_t others, cut, loose; /* no calls; that end behind their caller; ends of nothing */
    uint64_t timeless;           /* calls without a time that can be */
};

static int read_name(struct chrome *c, uint32_t *ret_name)
{
    struct cairn_span text;
    char kind;

    CAIRN_TRY(cairn_jsonin_kind(&c->json, &kind));
    if (kind != '"')
        return cairn_jsonin_skip(&c->json);
    CAIRN_TRY(cairn_jsonin_text(&c->json, &text));
    return cairn_intern_add(&c->names, text, ret_name);
}

/* A process or thread: most have numbers, some names. */
static int read_key(struct chrome *c, uint64_t *ret_key)
{
    uint32_t name = 0;
    double number;
    char kind;

    CAIRN_TRY(cairn_jsonin_kind(&c->json, &kind));
    if (kind == '0') {
        CAIRN_TRY(cairn_jsonin_number(&c->json, &number));
        *ret_key = fabs(number) < TIME_MAX_US ? (uint64_t)(int64_t)number & ~IS_TEXT : 0;
        return 0;
    }
    CAIRN_TRY(read_name(c, &name));
    *ret_key = name | IS_TEXT;
    return 0;
}

static int read_time(struct chrome *c, double *ret_us)
{
    char kind;

    CAIRN_TRY(cairn_jsonin_kind(&c->json, &kind));
    if (kind != '0')
        return cairn_jsonin_skip(&c->json);
    return cairn_jsonin_number(&c->json, ret_us);
}

static int read_line(struct chrome *c, uint32_t *ret_line)
{
    double number;
    char kind;

    CAIRN_TRY(cairn_jsonin_kind(&c->json, &kind));
    if (kind != '0')
        return cairn_jsonin_skip(&c->json);
    CAIRN_TRY(cairn_jsonin_number(&c->json, &number));
    if (number >= 1 && number <= INT32_MAX)
        *ret_line = (uint32_t)number;
    return 0;
}

static int read_arguments(struct chrome *c, struct event *event)
{
    struct cairn_span key;
    char kind;
    int more;

    CAIRN_TRY(cairn_jsonin_kind(&c->json, &kind));
    if (kind != '{')
        return cairn_jsonin_skip(&c->json);
    CAIRN_TRY(cairn_jsonin_enter(&c->json, '{'));
    while ((more = cairn_jsonin_key(&c->json, &key)) > 0) {
        if (cairn_span_is(key, "name") && (event->kind == 'M' || event->kind == '\0'))
            CAIRN_TRY(read_name(c, &event->argument));
        else if (cairn_span_is(key, "file"))
            CAIRN_TRY(read_name(c, &event->file));
        else if (cairn_span_is(key, "line"))
            CAIRN_TRY(read_line(c, &event->line));
        else
            CAIRN_TRY(cairn_jsonin_skip(&c->json));
    }
    return more;
}

static int read_kind(struct chrome *c, struct event *event)
{
    struct cairn_span text;

    CAIRN_TRY(cairn_jsonin_text(&c->json, &text));
    event->kind = text.size_bytes == 1 ? (char)text.data[0] : '\0';
    return 0;
}

static int read_event(struct chrome *c, struct event *event)
{
    struct cairn_span key;
    int more;

    *event = (struct event){.at_us = NAN, .length_us = 0};
    CAIRN_TRY(cairn_jsonin_enter(&c->json, '{'));
    while ((more = cairn_jsonin_key(&c->json, &key)) > 0) {
        if (cairn_span_is(key, "ph"))
            CAIRN_TRY(read_kind(c, event));
        else if (cairn_span_is(key, "ts"))
            CAIRN_TRY(read_time(c, &event->at_us));
        else if (cairn_span_is(key, "dur"))
            CAIRN_TRY(read_time(c, &event->length_us));
        else if (cairn_span_is(key, "pid"))
            CAIRN_TRY(read_key(c, &event->process));
        else if (cairn_span_is(key, "tid"))
            CAIRN_TRY(read_key(c, &event->thread));
        else if (cairn_span_is(key, "name"))
            CAIRN_TRY(read_name(c, &event->name));
        else if (cairn_span_is(key, "args"))
            CAIRN_TRY(read_arguments(c, event));
        else
            CAIRN_TRY(cairn_jsonin_skip(&c->json));
    }
    return more;
}

static int thread_of(struct chrome *c, const struct event *event, uint32_t *ret_thread)
{
    uint64_t found;

    if (!cairn_map_get(&c->index_of, event->process, event->thread, &found)) {
        found = c->threads.count;
        CAIRN_TRY(cairn_vec_reserve(&c->threads, c->threads.count + 1, THREADS_MAX));
        CAIRN_TRY(cairn_map_put(&c->index_of, event->process, event->thread, found));
        c->threads.items[c->threads.count++] =
            (struct thread){.process = event->process, .number = event->thread};
    }
    *ret_thread = (uint32_t)found;
    return 0;
}

static int frame_of(struct chrome *c, const struct event *event, uint32_t *ret_frame)
{
    uint64_t found, place = event->file ? (uint64_t)event->file << 32 | event->line : 0;
    struct cairn_guest_frame frame;

    if (!cairn_map_get(&c->frame_of, event->name, place, &found)) {
        struct cairn_span name = cairn_intern_get(&c->names, event->name);

        if (event->file)
            frame = (struct cairn_guest_frame){.name = name,
                                               .file = cairn_intern_get(&c->names, event->file),
                                               .line = event->line};
        else
            frame = cairn_frame_of_text(name);
        CAIRN_TRY(cairn_guest_frame(c->guest, &frame, ret_frame));
        return cairn_map_put(&c->frame_of, event->name, place, *ret_frame);
    }
    *ret_frame = (uint32_t)found;
    return 0;
}

static int begin(struct chrome *c, const struct event *event, int64_t first_ns, int64_t last_ns)
{
    struct cairn_tracecall slice = {
        .first_ns = first_ns, .last_ns = last_ns, .number = c->slice_count};
    struct thread *thread;

    if (c->slice_count == SLICES_MAX || c->open_count == OPEN_MAX)
        return -CAIRN_ELIMIT;
    CAIRN_TRY(thread_of(c, event, &slice.thread));
    CAIRN_TRY(frame_of(c, event, &slice.frame));
    c->slice_count++;
    if (event->kind != 'B')
        return cairn_tracecalls_add(&c->slices, &slice);
    thread = &c->threads.items[slice.thread];
    CAIRN_TRY(cairn_vec_reserve(&thread->open, thread->open.count + 1, DEPTH_MAX));
    thread->open.items[thread->open.count++] =
        (struct begun){.first_ns = first_ns, .frame = slice.frame, .number = slice.number};
    c->open_count++;
    return 0;
}

/* The innermost of a thread. */
static int end_open(struct chrome *c, uint32_t index, int64_t at_ns)
{
    struct thread *thread = &c->threads.items[index];
    const struct begun *open = &thread->open.items[--thread->open.count];
    struct cairn_tracecall slice = {
        .first_ns = open->first_ns,
        .last_ns = at_ns > open->first_ns ? at_ns : open->first_ns,
        .thread = index,
        .frame = open->frame,
        .number = open->number,
    };

    c->open_count--;
    return cairn_tracecalls_add(&c->slices, &slice);
}

static int end(struct chrome *c, const struct event *event, int64_t at_ns)
{
    uint32_t index;

    CAIRN_TRY(thread_of(c, event, &index));
    if (c->threads.items[index].open.count > 0)
        return end_open(c, index, at_ns);
    c->loose++;
    return 0;
}

static int take_name(struct chrome *c, const struct event *event)
{
    struct cairn_span what = cairn_intern_get(&c->names, event->name);
    uint32_t index;

    if (cairn_span_is(what, "process_name"))
        return cairn_map_put(&c->process_names, event->process, 0, event->argument);
    if (!cairn_span_is(what, "thread_name"))
        return 0;
    CAIRN_TRY(thread_of(c, event, &index));
    c->threads.items[index].name = event->argument;
    return 0;
}

static int take_event(struct chrome *c, const struct event *event)
{
    int64_t first_ns, last_ns;
    uint32_t index;

    if (event->kind == 'M')
        return take_name(c, event);
    if (event->kind != 'X' && event->kind != 'B' && event->kind != 'E') {
        c->others++;
        return 0;
    }
    if (!(fabs(event->at_us) < TIME_MAX_US) ||
        !(event->length_us >= 0 && event->length_us < TIME_MAX_US / 1000)) {
        /* Without one end the other would be another call's. */
        if (event->kind != 'X')
            return cairn_err_set(c->err, -CAIRN_EDAMAGED, 0, "import",
                                 "a beginning or an end has no time that can be");
        c->timeless++;
        return 0;
    }
    first_ns = last_ns = (int64_t)llround(event->at_us * US_NS);
    if (event->kind == 'X')
        last_ns += (int64_t)llround(event->length_us * US_NS);
    CAIRN_TRY(event->kind == 'E' ? end(c, event, first_ns) : begin(c, event, first_ns, last_ns));
    CAIRN_TRY(thread_of(c, event, &index));
    if (first_ns < c->first_ns)
        c->first_ns = first_ns;
    if (last_ns > c->threads.items[index].last_ns || c->threads.items[index].last_ns == 0)
        c->threads.items[index].last_ns = last_ns;
    return 0;
}

static int read_events(struct chrome *c)
{
    struct event event;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&c->json, '['));
    while ((more = cairn_jsonin_item(&c->json)) > 0) {
        CAIRN_TRY(read_event(c, &event));
        CAIRN_TRY(take_event(c, &event));
    }
    return more;
}

static int read_file(struct chrome *c)
{
    struct cairn_span key;
    char kind;
    int more;

    c->json.lenient = true;
    CAIRN_TRY(cairn_jsonin_kind(&c->json, &kind));
    if (kind == '[')
        return read_events(c);
    CAIRN_TRY(cairn_jsonin_enter(&c->json, '{'));
    while ((more = cairn_jsonin_key(&c->json, &key)) > 0)
        CAIRN_TRY(cairn_span_is(key, "traceEvents") ? read_events(c) : cairn_jsonin_skip(&c->json));
    return more;
}

/* What has no number is told apart by its name. */
static struct cairn_span name_of(const struct chrome *c, uint64_t key, uint32_t name)
{
    return cairn_intern_get(&c->names, name == 0 && key & IS_TEXT ? (uint32_t)key : name);
}

static int make_thread(struct chrome *c, const struct thread *thread, uint32_t *ret_thread)
{
    struct cairn_guest_thread made = {
        .pid = thread->process & IS_TEXT ? 0 : thread->process,
        .tid = thread->number & IS_TEXT ? 0 : thread->number,
        .name = name_of(c, thread->number, thread->name),
        .place = thread->number & IS_TEXT ? (uint32_t)thread->number : 0,
        .process_place = thread->process & IS_TEXT ? (uint32_t)thread->process : 0,
    };
    uint64_t process = 0;

    cairn_map_get(&c->process_names, thread->process, 0, &process);
    made.process = name_of(c, thread->process, (uint32_t)process);
    return cairn_guest_thread(c->guest, &made, ret_thread);
}

/* What the innermost call did from `from_ns` until `until_ns`. */
static int give(struct chrome *c, uint32_t thread, int64_t from_ns, int64_t until_ns)
{
    struct cairn_guest_sample sample = {
        .thread = thread,
        .stack = c->calls.items[c->calls.count - 1].stack,
        .state = CAIRN_SAMPLE_UNKNOWN,
        .count = 1,
        .ns = (uint64_t)(until_ns - from_ns),
    };

    if (until_ns <= from_ns)
        return 0;
    cairn_guest_wait(c->guest, thread, (uint64_t)(from_ns - c->first_ns));
    return cairn_guest_add(c->guest, &sample);
}

/* Leaves the calls that are over at `at_ns`; from where on the rest is still to be given. */
static int leave(struct chrome *c, uint32_t thread, int64_t at_ns, int64_t *now_ns)
{
    while (c->calls.count > 0 && c->calls.items[c->calls.count - 1].last_ns <= at_ns) {
        int64_t last_ns = c->calls.items[c->calls.count - 1].last_ns;

        CAIRN_TRY(give(c, thread, *now_ns, last_ns));
        if (last_ns > *now_ns)
            *now_ns = last_ns;
        c->calls.count--;
    }
    return 0;
}

static int enter(struct chrome *c, uint32_t thread, const struct cairn_tracecall *slice,
                 int64_t *now_ns)
{
    struct call call = {.last_ns = slice->last_ns};
    uint32_t below = 0;

    if (c->calls.count > 0) {
        const struct call *caller = &c->calls.items[c->calls.count - 1];

        CAIRN_TRY(give(c, thread, *now_ns, slice->first_ns));
        below = caller->stack;
        /* A thousandth of what is written, or less, is rounding. */
        c->cut += call.last_ns > caller->last_ns + (int64_t)US_NS;
        if (call.last_ns > caller->last_ns)
            call.last_ns = caller->last_ns;
    }
    *now_ns = slice->first_ns;
    CAIRN_TRY(cairn_vec_reserve(&c->calls, c->calls.count + 1, DEPTH_MAX));
    CAIRN_TRY(cairn_guest_stack(c->guest, below, slice->frame, &call.stack));
    c->calls.items[c->calls.count++] = call;
    return 0;
}

static void tell(const struct chrome *c, uint32_t given)
{
    if (given % 65536 == 0)
        cairn_progress_tell(c->feed->progress,
                            READ_SHARE + (1 - READ_SHARE) * given / c->slice_count);
}

static int give_in_order(struct chrome *c)
{
    uint32_t thread = 0, last = UINT32_MAX, given = 0;
    struct cairn_tracecall slice;
    int64_t now_ns = 0;
    int more;

    while ((more = cairn_tracecalls_next(&c->slices, &slice)) > 0) {
        tell(c, given++);
        if (slice.thread != last) {
            CAIRN_TRY(leave(c, thread, INT64_MAX, &now_ns));
            CAIRN_TRY(make_thread(c, &c->threads.items[slice.thread], &thread));
            last = slice.thread;
        }
        CAIRN_TRY(leave(c, thread, slice.first_ns, &now_ns));
        CAIRN_TRY(enter(c, thread, &slice, &now_ns));
    }
    CAIRN_TRY(more);
    return leave(c, thread, INT64_MAX, &now_ns);
}

/* What was not ended went on as long as its thread is known to have. */
static int give_all(struct chrome *c)
{
    for (uint32_t i = 0; i < c->threads.count; i++)
        while (c->threads.items[i].open.count > 0)
            CAIRN_TRY(end_open(c, i, c->threads.items[i].last_ns));
    CAIRN_TRY(cairn_tracecalls_sort(&c->slices));
    return give_in_order(c);
}

static int read_all(struct chrome *c)
{
    CAIRN_TRY(read_file(c));
    if (c->slice_count == 0 && c->others + c->timeless > 0)
        return cairn_err_set(c->err, -CAIRN_EDAMAGED, 0, "import",
                             "it holds no calls: %" PRIu64 " events are of other kinds, %" PRIu64
                             " have no time that can be",
                             c->others, c->timeless);
    CAIRN_TRY(give_all(c));
    if (c->others + c->cut + c->loose > 0)
        CAIRN_TRY(cairn_guest_fact(c->guest, "import.lost",
                                   "%" PRIu64 " events that are no calls, %" PRIu64
                                   " ends without a beginning, and what %" PRIu64
                                   " calls took after their caller had ended",
                                   c->others, c->loose, c->cut));
    if (c->timeless > 0)
        CAIRN_TRY(cairn_guest_fact(c->guest, "import.incomplete",
                                   "%" PRIu64 " calls without a time that can be are left out",
                                   c->timeless));
    return cairn_guest_fact(c->guest, "import.values", "time of calls");
}

int cairn_in_chrome(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct chrome c = {.feed = feed, .guest = guest, .err = err, .first_ns = INT64_MAX};
    int code = cairn_intern_init(&c.names, NAMES_MAX_BYTES);

    if (code < 0)
        return code;
    cairn_jsonin_init(&c.json, feed);
    cairn_tracecalls_init(&c.slices, guest->spill, HELD_MAX);
    feed->share = READ_SHARE;
    cairn_map_init(&c.frame_of, FRAMES_MAX);
    cairn_map_init(&c.process_names, THREADS_MAX);
    cairn_map_init(&c.index_of, THREADS_MAX);
    code = read_all(&c);
    cairn_jsonin_release(&c.json);
    cairn_intern_release(&c.names);
    cairn_map_release(&c.frame_of);
    cairn_map_release(&c.process_names);
    cairn_map_release(&c.index_of);
    for (size_t i = 0; i < c.threads.count; i++)
        cairn_vec_release(&c.threads.items[i].open);
    cairn_vec_release(&c.threads);
    cairn_tracecalls_release(&c.slices);
    cairn_vec_release(&c.calls);
    return code;
}
