/* in_hprof.c: the text of Java's hprof (cpu=samples): traces, each a stack, leaf first, and a table
 * that says how often each was met. */
#include <inttypes.h>
#include <string.h>

#include "chain.h"
#include "formats.h"
#include "linewords.h"

#define TRACES_MAX ((size_t)1 << 22)

enum part { BESIDE, TRACE, TABLE }; /* where in the text */

struct hprof {
    struct cairn_chain chain;
    struct cairn_map stacks; /* of the traces, by number */
    struct cairn_err *err;
    enum part part;
    uint64_t trace;
    uint32_t thread;
    bool counted; /* the table was there */
};

int cairn_is_hprof(struct cairn_feed *feed)
{
    struct cairn_span head = {feed->next, (size_t)(feed->end - feed->next)};

    return cairn_words_begin(head, "JAVA PROFILE 1.") &&
           !memchr(head.data, 0, 24 < head.size_bytes ? 24 : head.size_bytes);
}

/* "\tjava.lang.Thread.run(Thread.java:745)" */
static int add_frame(struct hprof *h, struct cairn_span line)
{
    struct cairn_span text = cairn_words_trim(line);
    const uint8_t *open = text.size_bytes ? memrchr(text.data, '(', text.size_bytes) : NULL;
    struct cairn_guest_frame frame = {.name = text};
    const uint8_t *colon;
    uint64_t number;

    if (!open || open == text.data || text.data[text.size_bytes - 1] != ')')
        return cairn_words_begin(text, "<empty>") ? 0 : -CAIRN_EDAMAGED;
    frame.name.size_bytes = (size_t)(open - text.data);
    frame.file = (struct cairn_span){open + 1, text.size_bytes - frame.name.size_bytes - 2};
    colon = frame.file.size_bytes ? memrchr(frame.file.data, ':', frame.file.size_bytes) : NULL;
    if (colon) {
        struct cairn_span digits = {colon + 1,
                                    (size_t)(frame.file.data + frame.file.size_bytes - colon - 1)};

        if (cairn_whole_of_text(digits, &number) && number <= INT32_MAX)
            frame.line = (uint32_t)number;
        frame.file.size_bytes = (size_t)(colon - frame.file.data);
    }
    return cairn_chain_add(&h->chain, &frame);
}

static int end_trace(struct hprof *h)
{
    uint32_t stack;

    if (h->part != TRACE)
        return 0;
    CAIRN_TRY(cairn_chain_stack(&h->chain, &stack));
    return cairn_map_put(&h->stacks, h->trace, 0, stack);
}

/* "TRACE 300123:" or "TRACE 300123: (thread=200001)" */
static int begin_trace(struct hprof *h, struct cairn_span line)
{
    struct cairn_span word;

    (void)cairn_words_take(&line);
    word = cairn_words_take(&line);
    if (word.size_bytes < 2 || word.data[word.size_bytes - 1] != ':')
        return -CAIRN_EDAMAGED;
    word.size_bytes--;
    h->part = TRACE;
    return cairn_whole_of_text(word, &h->trace) ? 0 : -CAIRN_EDAMAGED;
}

/* "   1 53.17% 53.17%      67 300027 java.util.zip.ZipFile.getEntry" */
static int read_row(struct hprof *h, struct cairn_span line)
{
    struct cairn_guest_sample sample = {.thread = h->thread, .state = CAIRN_SAMPLE_UNKNOWN};
    uint64_t unit_ns = cairn_chain_unit_ns(&h->chain), trace, stack;

    if (cairn_words_begin(cairn_words_trim(line), "rank"))
        return 0;
    for (int i = 0; i < 3; i++)
        (void)cairn_words_take(&line);
    if (!cairn_whole_of_text(cairn_words_take(&line), &sample.count) ||
        !cairn_whole_of_text(cairn_words_take(&line), &trace) ||
        sample.count > CAIRN_GUEST_TIME_MAX_NS / unit_ns)
        return -CAIRN_EDAMAGED;
    if (!cairn_map_get(&h->stacks, trace, 0, &stack))
        return cairn_err_set(h->err, -CAIRN_EDAMAGED, 0, "import",
                             "its table names trace %" PRIu64 ", which is not there", trace);
    sample.stack = (uint32_t)stack;
    sample.ns = sample.count * unit_ns;
    return sample.count > 0 ? cairn_guest_add(h->chain.guest, &sample) : 0;
}

static int read_line(struct hprof *h, struct cairn_span line)
{
    if (h->part == TRACE && line.size_bytes > 0 && line.data[0] == '\t')
        return add_frame(h, line);
    if (cairn_words_begin(line, "CPU SAMPLES END")) {
        h->part = BESIDE;
        return 0;
    }
    if (h->part == TABLE)
        return cairn_words_none(line) ? 0 : read_row(h, line);
    CAIRN_TRY(end_trace(h));
    h->part = BESIDE;
    if (cairn_words_begin(line, "TRACE "))
        return begin_trace(h, line);
    if (cairn_words_begin(line, "CPU SAMPLES BEGIN")) {
        h->part = TABLE;
        h->counted = true;
    }
    return 0;
}

static int read_file(struct hprof *h, struct cairn_feed *feed)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    struct cairn_guest *guest = h->chain.guest;
    struct cairn_span line;
    uint64_t number = 0;
    int code;

    CAIRN_TRY(cairn_guest_thread(guest, &all, &h->thread));
    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        code = read_line(h, line);
        if (code == -CAIRN_EDAMAGED && h->err && h->err->code == 0)
            return cairn_err_set(h->err, code, 0, "import",
                                 "line %" PRIu64 " does not belong there", number);
        CAIRN_TRY(code);
    }
    if (code != -CAIRN_EEND)
        return code;
    if (!h->counted)
        return cairn_err_set(h->err, -CAIRN_EDAMAGED, 0, "import",
                             "it has no samples: hprof writes them with cpu=samples");
    CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    CAIRN_TRY(cairn_guest_fact(guest, "import.lost", "threads"));
    return cairn_guest_fact(guest, "import.values", "samples%s",
                            guest->interval_ns ? "" : ", each shown as 1 us");
}

int cairn_in_hprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct hprof h = {.chain = {.guest = guest}, .err = err};
    int code;

    guest->counted = true;
    cairn_map_init(&h.stacks, TRACES_MAX);
    code = read_file(&h, feed);
    cairn_map_release(&h.stacks);
    cairn_chain_release(&h.chain);
    return code;
}
