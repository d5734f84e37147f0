/* in_dtrace.c: what dtrace prints of @[ustack()] = count(): stacks, a frame a line, leaf first, as
 * "module`function+0x1f", and below each how often it was met. */
#include <inttypes.h>
#include <string.h>

#include "chain.h"
#include "formats.h"
#include "linewords.h"

#define SNIFFED_LINES 256

/* "module`function+0x1f", or an address that has no name. */
static bool take_frame(struct cairn_span line, struct cairn_guest_frame *frame)
{
    struct cairn_span text = cairn_words_trim(line);
    const uint8_t *tick = text.size_bytes ? memchr(text.data, '`', text.size_bytes) : NULL;

    *frame = (struct cairn_guest_frame){.name = text};
    if (!tick)
        return cairn_words_begin(text, "0x");
    frame->file = (struct cairn_span){text.data, (size_t)(tick - text.data)};
    frame->name = cairn_words_without_offset(
        (struct cairn_span){tick + 1, text.size_bytes - frame->file.size_bytes - 1});
    return frame->name.size_bytes > 0;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

int cairn_is_dtrace(struct cairn_feed *feed)
{
    struct cairn_guest_frame frame;
    struct cairn_span line;
    unsigned ticks = 0;
    uint64_t count;
    int code;

    for (unsigned lines = 0; lines < SNIFFED_LINES; lines++) {
        code = cairn_feed_line(feed, &line);
        if (code < 0)
            return code == -CAIRN_EEND || code == -CAIRN_ELIMIT ? 0 : code;
        if (cairn_words_none(line) || (ticks == 0 && !memchr(line.data, '`', line.size_bytes)))
            continue;
        if (!is_blank(line.data[0]))
            return 0;
        if (ticks > 0 && cairn_whole_of_text(cairn_words_trim(line), &count))
            return 1;
        if (!take_frame(line, &frame))
            return 0;
        ticks++;
    }
    return 0;
}

static int read_line(struct cairn_chain *chain, struct cairn_span line, uint32_t thread)
{
    struct cairn_guest_sample sample = {.thread = thread, .state = CAIRN_SAMPLE_UNKNOWN};
    struct cairn_guest_frame frame;
    uint64_t unit_ns = cairn_chain_unit_ns(chain);

    if (cairn_words_none(line))
        return 0;
    if (take_frame(line, &frame))
        return cairn_chain_add(chain, &frame);
    if (chain->frames.count == 0)
        return 0; /* words about probes, in front of the stacks */
    if (!cairn_whole_of_text(cairn_words_trim(line), &sample.count) ||
        sample.count > CAIRN_GUEST_TIME_MAX_NS / unit_ns)
        return -CAIRN_EDAMAGED;
    sample.ns = sample.count * unit_ns;
    if (sample.count == 0) {
        chain->frames.count = 0;
        return 0;
    }
    if (!chain->guest->counted)
        sample.count = 1;
    return cairn_chain_give(chain, &sample);
}

static int read_file(struct cairn_chain *chain, struct cairn_feed *feed, struct cairn_err *err)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    struct cairn_span line;
    uint64_t number = 0;
    uint32_t thread;
    int code;

    CAIRN_TRY(cairn_guest_thread(chain->guest, &all, &thread));
    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        code = read_line(chain, line, thread);
        if (code == -CAIRN_EDAMAGED)
            return cairn_err_set(err, code, 0, "import",
                                 "line %" PRIu64 " is neither a frame nor a count", number);
        CAIRN_TRY(code);
    }
    if (code != -CAIRN_EEND)
        return code;
    if (chain->frames.count > 0)
        return cairn_err_set(err, -CAIRN_EDAMAGED, 0, "import", "its last stack has no count");
    CAIRN_TRY(cairn_guest_fact(chain->guest, "import.times", "none"));
    return cairn_guest_fact(chain->guest, "import.values",
                            chain->guest->counted ? "samples" : "numbers without a unit");
}

int cairn_in_dtrace(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct cairn_chain chain = {.guest = guest};
    int code;

    guest->counted = guest->interval_ns > 0;
    code = read_file(&chain, feed, err);
    cairn_chain_release(&chain);
    return code;
}
