/* in_sleepy.c: what Very Sleepy saves: a zip archive with Symbols.txt, a function a line, and
 * Callstacks.txt, a stack a line, leaf first, behind how much it has: seconds, which have a point,
 * or in old versions samples. */
#include <string.h>

#include "chain.h"
#include "formats.h"
#include "intern.h"
#include "linewords.h"
#include "zipin.h"

#define ARCHIVE_MAX_BYTES ((size_t)96 << 20)
#define SYMBOLS_MAX ((size_t)1 << 21)
#define SYMBOLS_MAX_BYTES ((size_t)64 << 20)
#define NS_PER_S 1e9

struct sleepy {
    struct cairn_chain chain;
    struct cairn_intern keys;   /* the names that symbols have in the archive */
    CAIRN_VEC(uint32_t) frames; /* of each of them, and 1; 0: none */
    uint32_t thread;
    bool in_seconds;
};

int cairn_is_sleepy(struct cairn_feed *feed)
{
    size_t size_bytes = (size_t)(feed->end - feed->next);

    return size_bytes > 30 && memcmp(feed->next, "PK\3\4", 4) == 0 &&
           (memmem(feed->next, size_bytes, "ymbols.txt", 10) ||
            memmem(feed->next, size_bytes, "allstacks.txt", 13));
}

/* The next text in quotes; false: there is none. */
static bool take_quoted(struct cairn_span *line, struct cairn_span *ret_text)
{
    struct cairn_span text = cairn_words_trim(*line);
    const uint8_t *end;

    if (text.size_bytes < 2 || text.data[0] != '"')
        return false;
    end = memchr(text.data + 1, '"', text.size_bytes - 1);
    if (!end)
        return false;
    *ret_text = (struct cairn_span){text.data + 1, (size_t)(end - text.data - 1)};
    *line = (struct cairn_span){end + 1, (size_t)(text.data + text.size_bytes - end - 1)};
    return true;
}

/* sym12 "module" "function" "file" 34. A line that is none is passed over. */
static int read_symbol(void *context, struct cairn_span line)
{
    struct sleepy *s = context;
    struct cairn_span key = cairn_words_take(&line), module, file;
    struct cairn_guest_frame frame = {.line = 0};
    uint64_t number;
    uint32_t id;

    if (key.size_bytes == 0 || !take_quoted(&line, &module) || !take_quoted(&line, &frame.name) ||
        !take_quoted(&line, &file) || !cairn_whole_of_text(cairn_words_trim(line), &number))
        return 0;
    frame.file = module; /* of machine code, as others have it; where it is not known, the source */
    if (module.size_bytes == 0) {
        frame.file = file;
        frame.line = number <= INT32_MAX ? (uint32_t)number : 0;
    }
    CAIRN_TRY(cairn_intern_add(&s->keys, key, &id));
    CAIRN_TRY(cairn_vec_reserve(&s->frames, (size_t)id + 1, SYMBOLS_MAX));
    while (s->frames.count <= id)
        s->frames.items[s->frames.count++] = 0;
    CAIRN_TRY(cairn_guest_frame(s->chain.guest, &frame, &s->frames.items[id]));
    s->frames.items[id]++;
    return 0;
}

static int find_point(void *context, struct cairn_span line)
{
    struct sleepy *s = context;
    struct cairn_span amount = cairn_words_take(&line);

    s->in_seconds =
        s->in_seconds || (amount.size_bytes > 0 && memchr(amount.data, '.', amount.size_bytes));
    return 0;
}

static int read_stack(void *context, struct cairn_span line)
{
    struct sleepy *s = context;
    struct cairn_guest_sample sample = {
        .thread = s->thread, .state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
    struct cairn_span word;
    double amount;
    uint32_t id;

    if (cairn_words_none(line))
        return 0;
    if (!cairn_words_decimal(cairn_words_take(&line), &amount))
        return -CAIRN_EDAMAGED;
    while ((word = cairn_words_take(&line)).size_bytes > 0) {
        CAIRN_TRY(cairn_intern_add(&s->keys, word, &id));
        if (id >= s->frames.count || s->frames.items[id] == 0)
            return -CAIRN_EDAMAGED;
        CAIRN_TRY(cairn_chain_add_known(&s->chain, s->frames.items[id] - 1));
    }
    amount *= s->in_seconds ? NS_PER_S : (double)cairn_chain_unit_ns(&s->chain);
    if (s->chain.frames.count == 0 || !(amount <= (double)CAIRN_GUEST_TIME_MAX_NS))
        return -CAIRN_EDAMAGED;
    sample.ns = (uint64_t)(amount + 0.5);
    return cairn_chain_give(&s->chain, &sample);
}

static int find(struct cairn_span archive, const char *name, struct cairn_zipin_file *file,
                struct cairn_err *err)
{
    int found = cairn_zipin_find(archive, name, file);

    if (found == 0)
        return cairn_err_set(err, -CAIRN_EDAMAGED, 0, "import", "it has no %s in it", name);
    return found < 0 ? -CAIRN_EDAMAGED : 0;
}

static int read_archive(struct sleepy *s, struct cairn_span archive, struct cairn_err *err)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    struct cairn_guest *guest = s->chain.guest;
    struct cairn_zipin_file symbols, stacks;

    CAIRN_TRY(find(archive, "Symbols.txt", &symbols, err));
    CAIRN_TRY(find(archive, "Callstacks.txt", &stacks, err));
    CAIRN_TRY(cairn_guest_thread(guest, &all, &s->thread));
    CAIRN_TRY(cairn_zipin_lines(&symbols, read_symbol, s));
    CAIRN_TRY(cairn_zipin_lines(&stacks, find_point, s));
    CAIRN_TRY(cairn_zipin_lines(&stacks, read_stack, s));
    CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    return cairn_guest_fact(guest, "import.values", "%s",
                            s->in_seconds        ? "time"
                            : guest->interval_ns ? "samples"
                                                 : "samples, each shown as 1 us");
}

int cairn_in_sleepy(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct sleepy s = {.chain = {.guest = guest}};
    struct cairn_span archive;
    int code = cairn_intern_init(&s.keys, SYMBOLS_MAX_BYTES);

    if (code == 0)
        code = cairn_feed_rest(feed, ARCHIVE_MAX_BYTES, &archive);
    if (code == 0)
        code = read_archive(&s, archive, err);
    cairn_intern_release(&s.keys);
    cairn_vec_release(&s.frames);
    cairn_chain_release(&s.chain);
    return code;
}
