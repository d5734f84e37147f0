/* in_perf.c: what `perf script` prints: an event is a line that says who, when and what, then the
 * stack, a frame a line, leaf first, and an empty line. Events without a stack stand on one line.
 */
#include <inttypes.h>
#include <string.h>

#include "chain.h"
#include "formats.h"
#include "linewords.h"

#define SNIFFED_LINES 64
#define NS_DIGITS 9

struct event { /* what stands in front of a stack */
    struct cairn_guest_thread thread;
    uint64_t at_ns, period;
    bool timed, clock; /* clock: its period is ns */
    struct cairn_span frame;
};

struct perf {
    struct cairn_chain chain;
    struct cairn_guest_sample sample;
    uint64_t begin_ns;
    bool open, timed;   /* open: an event was met, and its stack is not over */
    bool clocks, plain; /* kinds of events met */
};

/* "55d0c0a1 name+0x1a (/usr/bin/python3.11)", blanks around it. */
static bool take_frame(struct cairn_span line, struct cairn_guest_frame *frame)
{
    struct cairn_span address, rest = line;
    const uint8_t *open;

    address = cairn_words_take(&rest);
    for (size_t i = 0; i < address.size_bytes; i++)
        if (!memchr("0123456789abcdefABCDEF", address.data[i], 22))
            return false;
    rest = cairn_words_trim(rest);
    if (address.size_bytes == 0 || rest.size_bytes < 2 || rest.data[rest.size_bytes - 1] != ')')
        return false;
    for (open = rest.data + rest.size_bytes;
         (open = memrchr(rest.data, '(', (size_t)(open - rest.data)));)
        if (open == rest.data || open[-1] == ' ')
            break;
    if (!open)
        return false;
    *frame = (struct cairn_guest_frame){
        .file = {open + 1, (size_t)(rest.data + rest.size_bytes - open - 2)}};
    frame->name = cairn_words_trim((struct cairn_span){rest.data, (size_t)(open - rest.data)});
    frame->name = cairn_words_without_offset(frame->name);
    if (frame->name.size_bytes == 0 || cairn_words_begin(frame->name, "[unknown]"))
        frame->name = address;
    return true;
}

/* "1234.567890:" */
static bool is_time(struct cairn_span word, uint64_t *ret_ns)
{
    const uint8_t *point;
    struct cairn_span seconds, fraction;
    uint64_t whole, part;

    if (word.size_bytes < 4 || word.data[word.size_bytes - 1] != ':')
        return false;
    word.size_bytes--;
    point = memchr(word.data, '.', word.size_bytes);
    if (!point)
        return false;
    seconds = (struct cairn_span){word.data, (size_t)(point - word.data)};
    fraction = (struct cairn_span){point + 1, word.size_bytes - seconds.size_bytes - 1};
    if (fraction.size_bytes > NS_DIGITS || !cairn_whole_of_text(seconds, &whole) ||
        !cairn_whole_of_text(fraction, &part) || whole > CAIRN_GUEST_TIME_MAX_NS / 1000000000u)
        return false;
    for (size_t i = fraction.size_bytes; i < NS_DIGITS; i++)
        part *= 10;
    *ret_ns = whole * 1000000000u + part;
    return true;
}

/* "12346" or "12345/12346". */
static bool is_thread(struct cairn_span word, struct cairn_guest_thread *thread)
{
    const uint8_t *slash = word.size_bytes ? memchr(word.data, '/', word.size_bytes) : NULL;
    struct cairn_span process = word;

    if (slash) {
        process.size_bytes = (size_t)(slash - word.data);
        word.data = slash + 1;
        word.size_bytes -= process.size_bytes + 1;
        if (!cairn_whole_of_text(process, &thread->pid))
            return false;
    }
    return cairn_whole_of_text(word, &thread->tid);
}

/* Behind the time: how much of what, "250000 cpu-clock:u:", and maybe the only frame. */
static void take_kind(struct cairn_span rest, struct event *event)
{
    struct cairn_span word = cairn_words_take(&rest);

    if (cairn_whole_of_text(word, &event->period))
        word = cairn_words_take(&rest);
    event->clock = event->period > 0 && (cairn_words_begin(word, "cpu-clock:") ||
                                         cairn_words_begin(word, "task-clock:"));
    event->frame = rest;
}

/* "python3 12345/12346 [001] 1234.567890:  250000 cpu-clock:u:"; names may hold blanks. */
static bool take_event(struct cairn_span line, struct event *event)
{
    struct cairn_span rest = line, name = cairn_words_take(&rest);
    bool threaded = false;

    *event = (struct event){.thread = {.name = name}};
    while (!cairn_words_none(rest)) {
        struct cairn_span word = cairn_words_take(&rest);

        if (is_time(word, &event->at_ns)) {
            event->timed = true;
            break;
        }
        if (threaded && word.data[word.size_bytes - 1] == ':') { /* no time was asked for */
            rest =
                (struct cairn_span){word.data, (size_t)(rest.data + rest.size_bytes - word.data)};
            break;
        }
        if (is_thread(word, &event->thread))
            threaded = true;
        else if (!threaded)
            event->thread.name.size_bytes =
                (size_t)(word.data + word.size_bytes - event->thread.name.data);
    }
    take_kind(rest, event);
    return threaded && name.size_bytes > 0;
}

int cairn_is_perf(struct cairn_feed *feed)
{
    struct cairn_guest_frame frame;
    struct cairn_span line;
    struct event event;
    bool met = false;
    int code;

    for (unsigned lines = 0; lines < SNIFFED_LINES; lines++) {
        code = cairn_feed_line(feed, &line);
        if (code < 0)
            return code == -CAIRN_EEND || code == -CAIRN_ELIMIT ? 0 : code;
        if (cairn_words_none(line) || line.data[0] == '#')
            continue;
        if (met)
            return (line.data[0] == ' ' || line.data[0] == '\t') && take_frame(line, &frame);
        if (!take_event(line, &event))
            return 0;
        if (take_frame(event.frame, &frame))
            return 1;
        met = true;
    }
    return 0;
}

static int give(struct perf *p)
{
    if (!p->open)
        return 0;
    p->open = false;
    return cairn_chain_give(&p->chain, &p->sample);
}

static int begin(struct perf *p, const struct event *event)
{
    struct cairn_guest_frame frame;

    CAIRN_TRY(give(p));
    p->sample = (struct cairn_guest_sample){.state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
    p->sample.ns = event->clock ? event->period : cairn_chain_unit_ns(&p->chain);
    p->clocks |= event->clock;
    p->plain |= !event->clock;
    CAIRN_TRY(cairn_guest_thread(p->chain.guest, &event->thread, &p->sample.thread));
    if (event->timed) {
        if (!p->timed || event->at_ns < p->begin_ns)
            p->begin_ns = event->at_ns;
        p->timed = true;
        cairn_guest_wait(p->chain.guest, p->sample.thread, event->at_ns - p->begin_ns);
    }
    p->open = true;
    if (!take_frame(event->frame, &frame))
        return 0;
    CAIRN_TRY(cairn_chain_add(&p->chain, &frame));
    return give(p);
}

static int read_line(struct perf *p, struct cairn_span line)
{
    struct cairn_guest_frame frame;
    struct event event;

    if (cairn_words_none(line))
        return give(p);
    if (line.data[0] == '#')
        return 0;
    if (p->open && take_frame(line, &frame))
        return cairn_chain_add(&p->chain, &frame);
    if (!take_event(line, &event))
        return -CAIRN_EDAMAGED;
    return begin(p, &event);
}

static int read_file(struct perf *p, struct cairn_feed *feed, struct cairn_err *err)
{
    struct cairn_guest *guest = p->chain.guest;
    struct cairn_span line;
    uint64_t number = 0;
    int code;

    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        code = read_line(p, line);
        if (code == -CAIRN_EDAMAGED)
            return cairn_err_set(err, code, 0, "import",
                                 "line %" PRIu64 " is neither an event nor a frame", number);
        CAIRN_TRY(code);
    }
    if (code != -CAIRN_EEND)
        return code;
    CAIRN_TRY(give(p));
    if (!p->timed)
        CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    if (p->plain && !guest->interval_ns)
        return cairn_guest_fact(guest, "import.values", "samples, each shown as 1 us%s",
                                p->clocks ? " but those of a clock" : "");
    return cairn_guest_fact(guest, "import.values", "samples of time");
}

int cairn_in_perf(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct perf p = {.chain = {.guest = guest}};
    int code;

    guest->counted = true;
    code = read_file(&p, feed, err);
    cairn_chain_release(&p.chain);
    return code;
}
