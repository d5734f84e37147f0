/* in_collapsed.c: collapsed stacks: a line is a stack, root first, frames joined by `;`, a blank or
 * a tab, a number. What the number counts, the format does not say. */
#include <inttypes.h>
#include <string.h>

#include "formats.h"
#include "jsonin.h"

#define US_NS 1000u /* a count for which no rate was given is taken for a microsecond */
#define FRAMES_OF_LINE_MAX 65536

bool cairn_whole_of_text(struct cairn_span text, uint64_t *ret_whole)
{
    uint64_t whole = 0;

    if (text.size_bytes == 0 || text.size_bytes > 18)
        return false;
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        whole = whole * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_whole = whole;
    return true;
}

static struct cairn_span part(struct cairn_span text, size_t from, size_t until)
{
    return (struct cairn_span){text.data + from, until - from};
}

/* The place of the last `byte` in front of `until`; SIZE_MAX: none. */
static size_t last_of(struct cairn_span text, char byte, size_t until)
{
    const uint8_t *found = until ? memrchr(text.data, byte, until) : NULL;

    return found ? (size_t)(found - text.data) : SIZE_MAX;
}

/* Takes ":12" off the end of a text. */
static uint32_t take_line(struct cairn_span *text)
{
    size_t colon = last_of(*text, ':', text->size_bytes);
    uint64_t line;

    if (colon == SIZE_MAX ||
        !cairn_whole_of_text(part(*text, colon + 1, text->size_bytes), &line) || line > INT32_MAX)
        return 0;
    text->size_bytes = colon;
    return (uint32_t)line;
}

static bool is_python_file(struct cairn_span text)
{
    return (text.size_bytes > 3 && memcmp(text.data + text.size_bytes - 3, ".py", 3) == 0) ||
           (text.size_bytes > 2 && text.data[0] == '<' && text.data[text.size_bytes - 1] == '>') ||
           (text.size_bytes == 1 && text.data[0] == '~');
}

struct cairn_guest_frame cairn_frame_of_text(struct cairn_span text)
{
    struct cairn_guest_frame frame = {.name = text}, named = {.file = text};
    size_t end = text.size_bytes, at = SIZE_MAX;

    if (end > 1 && text.data[end - 1] == ')') {
        for (at = last_of(text, '(', end); at != SIZE_MAX && at > 0; at = last_of(text, '(', at))
            if (text.data[at - 1] == ' ')
                break;
        if (at == SIZE_MAX || at < 2 || at + 2 >= end)
            return frame;
        named.name = part(text, 0, at - 1);
        named.file = part(text, at + 1, end - 1);
        named.line = take_line(&named.file);
        return named.file.size_bytes ? named : frame;
    }
    named.line = take_line(&named.file);
    at = last_of(named.file, ':', named.file.size_bytes);
    if (named.line == 0 || at == SIZE_MAX || !is_python_file(part(text, 0, at)))
        return frame;
    named.name = part(text, at + 1, named.file.size_bytes);
    named.file = part(text, 0, at);
    return named.name.size_bytes ? named : frame;
}

static bool begins(struct cairn_span text, const char *head, struct cairn_span *ret_rest)
{
    size_t size_bytes = strlen(head);

    if (text.size_bytes <= size_bytes || memcmp(text.data, head, size_bytes) != 0)
        return false;
    *ret_rest = part(text, size_bytes, text.size_bytes);
    return true;
}

/* Whether the frame in front says which thread or process it is: "thread:NAME", "process:PID" as
 * Cairn writes them, "tid:N" as profiling.sampling does, "P12" and "T0:34" as Austin. */
static bool is_track(struct cairn_span text, struct cairn_guest_thread *thread)
{
    struct cairn_span rest;
    size_t colon;

    if (begins(text, "thread:", &thread->name))
        return true;
    if (begins(text, "process:", &rest) || begins(text, "P", &rest))
        return cairn_whole_of_text(rest, &thread->pid);
    if (begins(text, "tid:", &rest))
        return cairn_whole_of_text(rest, &thread->tid);
    if (!begins(text, "T", &rest))
        return false;
    colon = last_of(rest, ':', rest.size_bytes);
    return colon != SIZE_MAX &&
           cairn_whole_of_text(part(rest, colon + 1, rest.size_bytes), &thread->tid);
}

static int read_stack(struct cairn_guest *guest, struct cairn_span stack,
                      struct cairn_guest_sample *sample)
{
    struct cairn_guest_thread thread = {0};
    unsigned frames = 0;
    bool front = true, tracked = false;

    /* Where py-spy saw no frame it writes a number with nothing in front. */
    if (stack.size_bytes == 0) {
        struct cairn_guest_frame nameless = {.line = 0};
        uint32_t id;

        CAIRN_TRY(cairn_guest_frame(guest, &nameless, &id));
        CAIRN_TRY(cairn_guest_stack(guest, 0, id, &sample->stack));
    }
    for (size_t at = 0; at < stack.size_bytes;) {
        const uint8_t *semicolon = memchr(stack.data + at, ';', stack.size_bytes - at);
        size_t end = semicolon ? (size_t)(semicolon - stack.data) : stack.size_bytes;
        struct cairn_span text = part(stack, at, end);
        struct cairn_guest_frame frame;
        uint32_t id;

        at = end + 1;
        /* Where Austin saw no frame the thread ends the line: "P12;T0:34". */
        front = front && frames == 0 && (semicolon || (tracked && text.data[0] == 'T')) &&
                is_track(text, &thread);
        tracked = front;
        if (front || text.size_bytes == 0)
            continue;
        if (++frames > FRAMES_OF_LINE_MAX)
            return -CAIRN_ELIMIT;
        frame = cairn_frame_of_text(text);
        CAIRN_TRY(cairn_guest_frame(guest, &frame, &id));
        CAIRN_TRY(cairn_guest_stack(guest, sample->stack, id, &sample->stack));
    }
    return cairn_guest_thread(guest, &thread, &sample->thread);
}

/* A number in front of the line's end: whole, or with a fraction that is rounded to ns. */
static bool read_value(struct cairn_span text, uint64_t unit_ns, uint64_t *ret_count,
                       uint64_t *ret_ns)
{
    size_t point = last_of(text, '.', text.size_bytes);
    struct cairn_span whole = text, fraction = {NULL, 0};
    double parts = 0, scale = 1;

    if (point != SIZE_MAX) {
        whole = part(text, 0, point);
        fraction = part(text, point + 1, text.size_bytes);
    }
    if (!cairn_whole_of_text(whole, ret_count) || *ret_count > CAIRN_GUEST_TIME_MAX_NS / unit_ns)
        return false;
    for (size_t i = 0; i < fraction.size_bytes && i < 15; i++) {
        if (fraction.data[i] < '0' || fraction.data[i] > '9')
            return false;
        scale /= 10;
        parts += scale * (fraction.data[i] - '0');
    }
    *ret_ns = *ret_count * unit_ns + (uint64_t)(parts * (double)unit_ns + 0.5);
    return true;
}

size_t cairn_collapsed_number(struct cairn_span line)
{
    size_t at = line.size_bytes;

    while (at > 0 && memchr("0123456789.", line.data[at - 1], 11))
        at--;
    return at > 0 && at < line.size_bytes && memchr(" \t", line.data[at - 1], 2) ? at : 0;
}

static int read_line(struct cairn_guest *guest, struct cairn_span line)
{
    struct cairn_guest_sample sample = {.state = CAIRN_SAMPLE_UNKNOWN};
    uint64_t unit_ns = guest->interval_ns ? guest->interval_ns : US_NS;
    size_t number = cairn_collapsed_number(line);

    if (!number ||
        !read_value(part(line, number, line.size_bytes), unit_ns, &sample.count, &sample.ns))
        return -CAIRN_EDAMAGED;
    if (sample.ns == 0)
        return 0;
    if (!guest->counted || sample.count == 0)
        sample.count = 1;
    CAIRN_TRY(read_stack(guest, part(line, 0, number - 1), &sample));
    return cairn_guest_add(guest, &sample);
}

static bool is_fact(struct cairn_span line)
{
    size_t at = 2;

    while (at < line.size_bytes && line.data[at] >= 'a' && line.data[at] <= 'z')
        at++;
    return at > 2 && at + 1 < line.size_bytes && memcmp(line.data, "# ", 2) == 0 &&
           memcmp(line.data + at, ": ", 2) == 0 && !memchr(line.data, ';', line.size_bytes);
}

bool cairn_is_collapsed_remark(struct cairn_span line)
{
    return line.size_bytes > 0 && line.data[0] == '#' &&
           (is_fact(line) || !cairn_collapsed_number(line));
}

static int read_fact(struct cairn_span line, struct cairn_err *err)
{
    if (!cairn_span_is(line, "# mode: memory"))
        return 0;
    return cairn_err_set(err, -CAIRN_EDAMAGED, 0, "import", "%s", CAIRN_AUSTIN_MEMORY);
}

int cairn_in_collapsed(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct cairn_span line;
    uint64_t number = 0;
    int code;

    guest->counted = guest->interval_ns > 0;
    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        if (line.size_bytes == 0)
            continue;
        if (cairn_is_collapsed_remark(line)) {
            CAIRN_TRY(read_fact(line, err));
            continue;
        }
        code = read_line(guest, line);
        if (code == -CAIRN_EDAMAGED)
            return cairn_err_set(err, code, 0, "import",
                                 cairn_collapsed_number(line)
                                     ? "the number at the end of line %" PRIu64
                                       " is larger than Cairn can add up"
                                     : "line %" PRIu64 " is no stack: a number has to end it",
                                 number);
        CAIRN_TRY(code);
    }
    if (code != -CAIRN_EEND)
        return code;
    CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    return cairn_guest_fact(guest, "import.values",
                            guest->counted ? "samples" : "numbers without a unit");
}
