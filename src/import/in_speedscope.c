/* in_speedscope.c: speedscope's own format, read twice: once for the frames, which may stand behind
 * the profiles that use them, once for the profiles. Of a profile the stacks are kept until its
 * end, because its weights may stand behind its samples, and its unit behind both. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "jsonin.h"
#include "text.h"

#define FRAMES_MAX ((size_t)1 << 20)
#define SAMPLES_MAX ((size_t)1 << 24) /* of one profile */
#define DEPTH_MAX ((size_t)1 << 16)
#define LOST_MAX_BYTES ((size_t)1 << 10)
#define US_NS 1000.0
#define UNIT_MAX_BYTES 64

struct speedscope {
    struct cairn_jsonin json;
    struct cairn_guest *guest;
    struct cairn_err *err;
    CAIRN_VEC(uint32_t) frames;  /* the guest's, by number in the file */
    CAIRN_VEC(uint32_t) stacks;  /* of the profile being read, */
    CAIRN_VEC(double) weights;   /* one for each of them */
    CAIRN_VEC(uint32_t) open;    /* events: the stacks that are open, outermost first */
    struct cairn_buf name, file; /* of a frame; of a profile */
    bool sampled, evented, has_unit;
    double unit_ns, start, last;
    double base; /* where the first profile starts; NAN: none has begun */
    bool in_time, from_py_spy;
    char unit[UNIT_MAX_BYTES], first_unit[UNIT_MAX_BYTES], other_unit[UNIT_MAX_BYTES];
    bool first_in_time;
    uint64_t profiles;
    uint64_t others; /* profiles that are left out, since what they hold is not to be added up */
    uint64_t gaps;   /* without a stack, that take time: */
    double gaps_ns;
};

static bool is_time(const struct speedscope *s)
{
    return s->first_in_time;
}

static int copy_text(struct cairn_jsonin *json, struct cairn_buf *buf)
{
    struct cairn_span text;

    CAIRN_TRY(cairn_jsonin_text(json, &text));
    cairn_buf_clear(buf);
    return cairn_buf_add(buf, text.data, text.size_bytes);
}

static int read_frame(struct speedscope *s)
{
    struct cairn_guest_frame frame = {.line = 0};
    struct cairn_span key;
    double line;
    int more;

    cairn_buf_clear(&s->name);
    cairn_buf_clear(&s->file);
    CAIRN_TRY(cairn_jsonin_enter(&s->json, '{'));
    while ((more = cairn_jsonin_key(&s->json, &key)) > 0) {
        if (cairn_span_is(key, "name")) {
            CAIRN_TRY(copy_text(&s->json, &s->name));
        } else if (cairn_span_is(key, "file")) {
            CAIRN_TRY(copy_text(&s->json, &s->file));
        } else if (cairn_span_is(key, "line")) {
            CAIRN_TRY(cairn_jsonin_number(&s->json, &line));
            if (line >= 1 && line <= INT32_MAX)
                frame.line = (uint32_t)line;
        } else {
            CAIRN_TRY(cairn_jsonin_skip(&s->json));
        }
    }
    CAIRN_TRY(more);
    frame.name = cairn_buf_span(&s->name);
    frame.file = cairn_buf_span(&s->file);
    CAIRN_TRY(cairn_vec_reserve(&s->frames, s->frames.count + 1, FRAMES_MAX));
    CAIRN_TRY(cairn_guest_frame(s->guest, &frame, &s->frames.items[s->frames.count]));
    s->frames.count++;
    return 0;
}

static int read_shared(struct speedscope *s)
{
    struct cairn_span key;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&s->json, '{'));
    while ((more = cairn_jsonin_key(&s->json, &key)) > 0) {
        if (!cairn_span_is(key, "frames")) {
            CAIRN_TRY(cairn_jsonin_skip(&s->json));
            continue;
        }
        CAIRN_TRY(cairn_jsonin_enter(&s->json, '['));
        while ((more = cairn_jsonin_item(&s->json)) > 0)
            CAIRN_TRY(read_frame(s));
        CAIRN_TRY(more);
    }
    return more;
}

static int frame_of(struct speedscope *s, uint32_t *ret_frame)
{
    int64_t number;

    CAIRN_TRY(cairn_jsonin_whole(&s->json, &number));
    if (number < 0 || (uint64_t)number >= s->frames.count)
        return cairn_err_set(s->err, -CAIRN_EDAMAGED, 0, "import",
                             "a stack names frame %" PRId64 ", and there are %zu", number,
                             s->frames.count);
    *ret_frame = s->frames.items[number];
    return 0;
}

static int keep_stack(struct speedscope *s, uint32_t stack)
{
    CAIRN_TRY(cairn_vec_reserve(&s->stacks, s->stacks.count + 1, SAMPLES_MAX));
    s->stacks.items[s->stacks.count++] = stack;
    return 0;
}

static int keep_weight(struct speedscope *s, double weight)
{
    if (!(weight >= 0))
        return cairn_err_set(s->err, -CAIRN_EDAMAGED, 0, "import",
                             "a weight or a time between events is below 0");
    CAIRN_TRY(cairn_vec_reserve(&s->weights, s->weights.count + 1, SAMPLES_MAX));
    s->weights.items[s->weights.count++] = weight;
    return 0;
}

static int read_samples(struct speedscope *s)
{
    int more, inner;

    s->sampled = true;
    CAIRN_TRY(cairn_jsonin_enter(&s->json, '['));
    while ((more = cairn_jsonin_item(&s->json)) > 0) {
        uint32_t stack = 0, frame;
        size_t depth = 0;

        CAIRN_TRY(cairn_jsonin_enter(&s->json, '['));
        while ((inner = cairn_jsonin_item(&s->json)) > 0) {
            if (++depth > DEPTH_MAX)
                return -CAIRN_ELIMIT;
            CAIRN_TRY(frame_of(s, &frame));
            CAIRN_TRY(cairn_guest_stack(s->guest, stack, frame, &stack));
        }
        CAIRN_TRY(inner);
        CAIRN_TRY(keep_stack(s, stack));
    }
    return more;
}

static int read_weights(struct speedscope *s)
{
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&s->json, '['));
    while ((more = cairn_jsonin_item(&s->json)) > 0) {
        double weight;

        CAIRN_TRY(cairn_jsonin_number(&s->json, &weight));
        CAIRN_TRY(keep_weight(s, weight));
    }
    return more;
}

/* A frame is opened or closed at `at`: until then, the innermost one ran. */
static int give_event(struct speedscope *s, bool opens, uint32_t frame, double at)
{
    uint32_t top = s->open.count ? s->open.items[s->open.count - 1] : 0;

    if (!isnan(s->last)) {
        CAIRN_TRY(keep_stack(s, top));
        CAIRN_TRY(keep_weight(s, at - s->last));
    }
    s->last = at;
    if (!opens) {
        if (s->open.count == 0)
            return cairn_err_set(s->err, -CAIRN_EDAMAGED, 0, "import",
                                 "an event closes a frame that nobody opened");
        s->open.count--;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&s->open, s->open.count + 1, DEPTH_MAX));
    CAIRN_TRY(cairn_guest_stack(s->guest, top, frame, &s->open.items[s->open.count]));
    s->open.count++;
    return 0;
}

static int read_event(struct speedscope *s)
{
    bool opens = false, known = false;
    struct cairn_span key, type;
    uint32_t frame = 0;
    double at = NAN;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&s->json, '{'));
    while ((more = cairn_jsonin_key(&s->json, &key)) > 0) {
        if (cairn_span_is(key, "type")) {
            CAIRN_TRY(cairn_jsonin_text(&s->json, &type));
            opens = cairn_span_is(type, "O");
            known = opens || cairn_span_is(type, "C");
        } else if (cairn_span_is(key, "frame")) {
            CAIRN_TRY(frame_of(s, &frame));
        } else if (cairn_span_is(key, "at")) {
            CAIRN_TRY(cairn_jsonin_number(&s->json, &at));
        } else {
            CAIRN_TRY(cairn_jsonin_skip(&s->json));
        }
    }
    CAIRN_TRY(more);
    return !known || isnan(at) || (opens && frame == 0) ? -CAIRN_EDAMAGED
                                                        : give_event(s, opens, frame, at);
}

static int read_events(struct speedscope *s)
{
    int more;

    s->evented = true;
    s->last = NAN;
    CAIRN_TRY(cairn_jsonin_enter(&s->json, '['));
    while ((more = cairn_jsonin_item(&s->json)) > 0)
        CAIRN_TRY(read_event(s));
    return more;
}

static void choose_unit(struct speedscope *s, struct cairn_span unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        {"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};

    s->in_time = false;
    snprintf(s->unit, sizeof(s->unit), "%.*s", (int)(unit.size_bytes & 0xffff),
             (const char *)unit.data);
    s->unit_ns = s->guest->interval_ns ? (double)s->guest->interval_ns : US_NS;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (cairn_span_is(unit, units[i].name)) {
            s->unit_ns = units[i].ns;
            s->in_time = true;
        }
}

/* " (pid 12, tid 34)" at the end of a name, as Cairn writes it. */
static void take_numbers(struct cairn_guest_thread *thread)
{
    static const char pid[] = "(pid ", tid[] = ", tid ";
    const uint8_t *data = thread->name.data, *open, *comma;
    size_t size_bytes = thread->name.size_bytes;

    open = size_bytes ? memrchr(data, '(', size_bytes) : NULL;
    if (!open || data[size_bytes - 1] != ')')
        return;
    comma = memchr(open, ',', size_bytes - (size_t)(open - data));
    if (!comma || (size_t)(comma - open) < strlen(pid) || memcmp(open, pid, strlen(pid)) != 0 ||
        (size_t)(data + size_bytes - comma) < strlen(tid) || memcmp(comma, tid, strlen(tid)) != 0)
        return;
    open += strlen(pid);
    if (!cairn_whole_of_text((struct cairn_span){open, (size_t)(comma - open)}, &thread->pid))
        return;
    comma += strlen(tid);
    if (!cairn_whole_of_text((struct cairn_span){comma, (size_t)(data + size_bytes - 1 - comma)},
                             &thread->tid))
        return;
    thread->name.size_bytes = (size_t)(open - strlen(pid) - data);
    if (thread->name.size_bytes > 0) /* the blank between */
        thread->name.size_bytes--;
}

static int add_sample(struct speedscope *s, uint32_t thread, size_t i, double *past)
{
    struct cairn_guest_sample sample = {
        .thread = thread, .stack = s->stacks.items[i], .state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
    double ns = s->weights.items[i] * s->unit_ns;

    if (ns < 0 || ns > (double)CAIRN_GUEST_TIME_MAX_NS)
        return -CAIRN_EDAMAGED;
    *past += ns;
    sample.ns = (uint64_t)llround(ns);
    if (sample.stack == 0) { /* nothing was open */
        s->gaps += ns > 0;
        s->gaps_ns += ns;
        if (is_time(s) && *past > 0 && *past < (double)CAIRN_GUEST_TIME_MAX_NS)
            cairn_guest_wait(s->guest, thread, (uint64_t)*past);
        return 0;
    }
    if (sample.ns == 0)
        return 0;
    if (s->guest->counted && !s->in_time)
        sample.count = (uint64_t)llround(s->weights.items[i]);
    return cairn_guest_add(s->guest, &sample);
}

static int give_profile(struct speedscope *s)
{
    struct cairn_guest_thread thread = {.name = cairn_buf_span(&s->name), .place = s->profiles++};
    double past;
    uint32_t id;

    if (s->sampled == s->evented || s->stacks.count != s->weights.count || !s->has_unit)
        return cairn_err_set(s->err, -CAIRN_EDAMAGED, 0, "import",
                             "a profile has %zu samples, %zu weights and %s", s->stacks.count,
                             s->weights.count, s->has_unit ? "a unit" : "no unit");
    if (isnan(s->base)) {
        memcpy(s->first_unit, s->unit, sizeof(s->unit));
        s->first_in_time = s->in_time;
        s->base = s->start;
    }
    if (s->in_time != s->first_in_time || (!s->in_time && strcmp(s->first_unit, s->unit) != 0)) {
        if (s->others++ == 0)
            memcpy(s->other_unit, s->unit, sizeof(s->unit));
        return 0;
    }
    take_numbers(&thread);
    CAIRN_TRY(cairn_guest_thread(s->guest, &thread, &id));
    past = (s->start - s->base) * s->unit_ns;
    if (is_time(s) && past > 0 && past < (double)CAIRN_GUEST_TIME_MAX_NS)
        cairn_guest_wait(s->guest, id, (uint64_t)past);
    for (size_t i = 0; i < s->stacks.count; i++)
        CAIRN_TRY(add_sample(s, id, i, &past));
    return 0;
}

static int read_profile(struct speedscope *s)
{
    struct cairn_span key, text;
    int more;

    s->stacks.count = s->weights.count = s->open.count = 0;
    s->sampled = s->evented = s->has_unit = false;
    s->start = 0;
    cairn_buf_clear(&s->name);
    CAIRN_TRY(cairn_jsonin_enter(&s->json, '{'));
    while ((more = cairn_jsonin_key(&s->json, &key)) > 0) {
        if (cairn_span_is(key, "name")) {
            CAIRN_TRY(copy_text(&s->json, &s->name));
        } else if (cairn_span_is(key, "unit")) {
            CAIRN_TRY(cairn_jsonin_text(&s->json, &text));
            choose_unit(s, text);
            s->has_unit = true;
        } else if (cairn_span_is(key, "startValue")) {
            CAIRN_TRY(cairn_jsonin_number(&s->json, &s->start));
        } else if (cairn_span_is(key, "samples") && !s->sampled) {
            CAIRN_TRY(read_samples(s));
        } else if (cairn_span_is(key, "weights") && s->weights.count == 0) {
            CAIRN_TRY(read_weights(s));
        } else if (cairn_span_is(key, "events") && !s->evented) {
            CAIRN_TRY(read_events(s));
        } else {
            CAIRN_TRY(cairn_jsonin_skip(&s->json));
        }
    }
    CAIRN_TRY(more);
    return give_profile(s);
}

static int read_profiles(struct speedscope *s)
{
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&s->json, '['));
    while ((more = cairn_jsonin_item(&s->json)) > 0)
        CAIRN_TRY(read_profile(s));
    return more;
}

/* One way through the file: the profiles, or all but them. */
static int read_file(struct speedscope *s, bool profiles)
{
    struct cairn_span key, text;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&s->json, '{'));
    while ((more = cairn_jsonin_key(&s->json, &key)) > 0) {
        if (!profiles && cairn_span_is(key, "shared")) {
            CAIRN_TRY(read_shared(s));
        } else if (!profiles && cairn_span_is(key, "exporter")) {
            CAIRN_TRY(cairn_jsonin_text(&s->json, &text));
            /* Which writes each sample by itself: they may be counted. */
            s->from_py_spy = text.size_bytes >= 6 && memcmp(text.data, "py-spy", 6) == 0;
        } else if (profiles && cairn_span_is(key, "profiles")) {
            CAIRN_TRY(read_profiles(s));
        } else {
            CAIRN_TRY(cairn_jsonin_skip(&s->json));
        }
    }
    CAIRN_TRY(more);
    return cairn_jsonin_end(&s->json);
}

/* What nothing is shown for. */
static void put_gaps(const struct speedscope *s, struct cairn_buf *text)
{
    cairn_text_count(text, s->gaps);
    cairn_buf_add_str(text, s->gaps == 1 ? " stretch" : " stretches");
    cairn_buf_add_str(text, " without a stack, ");
    cairn_text_amount(text, (uint64_t)fmin(s->gaps_ns, (double)CAIRN_GUEST_TIME_MAX_NS),
                      is_time(s) ? 0 : (uint64_t)s->unit_ns);
    cairn_buf_add_str(text, " in all");
}

static int say_lost(const struct speedscope *s)
{
    struct cairn_buf text;
    int code;

    if (s->gaps == 0 && s->others == 0)
        return 0;
    cairn_buf_init(&text, LOST_MAX_BYTES);
    if (s->gaps > 0)
        put_gaps(s, &text);
    if (s->others > 0)
        cairn_buf_printf(&text, "%s%" PRIu64 " profile%s in another unit (%s)",
                         s->gaps > 0 ? ", and " : "", s->others, s->others == 1 ? "" : "s",
                         s->other_unit);
    code = text.code;
    if (code == 0)
        code = cairn_guest_fact(s->guest, "import.lost", "%s", cairn_buf_cstr(&text));
    cairn_buf_release(&text);
    return code;
}

static int say_values(const struct speedscope *s)
{
    if (is_time(s))
        return cairn_guest_fact(s->guest, "import.values", "time");
    CAIRN_TRY(cairn_guest_fact(s->guest, "import.times", "none"));
    if (s->guest->counted)
        return cairn_guest_fact(s->guest, "import.values", "samples");
    if (s->first_unit[0] == '\0' || strcmp(s->first_unit, "none") == 0)
        return cairn_guest_fact(s->guest, "import.values", "numbers without a unit");
    return cairn_guest_fact(s->guest, "import.values", "%s, each shown as 1 us", s->first_unit);
}

static int read_both(struct speedscope *s, struct cairn_feed *feed)
{
    CAIRN_TRY(read_file(s, false));
    s->guest->counted = s->from_py_spy || s->guest->interval_ns > 0;
    CAIRN_TRY(cairn_feed_rewind(feed));
    CAIRN_TRY(read_file(s, true));
    CAIRN_TRY(say_lost(s));
    return say_values(s);
}

int cairn_in_speedscope(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct speedscope s = {.guest = guest, .err = err, .base = NAN, .unit_ns = US_NS};
    int code;

    cairn_jsonin_init(&s.json, feed);
    cairn_buf_init(&s.name, 2 * CAIRN_JSONIN_TEXT_MAX_BYTES);
    cairn_buf_init(&s.file, 2 * CAIRN_JSONIN_TEXT_MAX_BYTES);
    code = read_both(&s, feed);
    cairn_jsonin_release(&s.json);
    cairn_buf_release(&s.name);
    cairn_buf_release(&s.file);
    cairn_vec_release(&s.frames);
    cairn_vec_release(&s.stacks);
    cairn_vec_release(&s.weights);
    cairn_vec_release(&s.open);
    return code;
}
