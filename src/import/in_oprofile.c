/* in_oprofile.c: what opreport --callgraph prints: of each function a block of lines, those that it
 * was called by, the function itself, which is not indented, and what it called, with samples; no
 * stacks. Which columns there are the heading says. */
#include <inttypes.h>
#include <string.h>

#include "formats.h"
#include "inferred.h"
#include "intern.h"
#include "linewords.h"
#include "map.h"

#define NAMES_MAX_BYTES ((size_t)64 << 20)
#define FUNCTIONS_MAX ((size_t)1 << 20)
#define CALLS_MAX ((size_t)1 << 21)
#define FIELDS_MAX 8
#define SNIFFED_LINES 64

enum field { SAMPLES, SHARE, SOURCE, IMAGE, APP, SYMBOL, FIELDS };

static const char *const names[FIELDS] = {"samples",    "%",        "linenr info",
                                          "image name", "app name", "symbol name"};

struct oprofile {
    struct cairn_guest *guest;
    struct cairn_intern keys, texts;
    struct cairn_map calls_of; /* {caller, callee} to a call */
    CAIRN_VEC(struct cairn_inferred_function) functions;
    CAIRN_VEC(struct cairn_inferred_call) calls;
    CAIRN_VEC(uint8_t) key;
    enum field fields[FIELDS_MAX];
    size_t field_count; /* 0: the heading was not there yet */
    uint32_t function;  /* of the block at hand; UINT32_MAX: not yet */
    uint64_t total;
};

struct entry {
    uint64_t samples;
    struct cairn_span source, image, app, symbol;
    bool self; /* of the function's own: it stands among what it called */
};

/* Names are set apart by two blanks or more. */
static bool read_head(struct cairn_span line, enum field *fields, size_t *ret_count)
{
    size_t count = 0, at = 0;

    while (at < line.size_bytes && count < FIELDS_MAX) {
        size_t from = at;
        int known = FIELDS;

        while (at < line.size_bytes &&
               !(line.data[at] == ' ' && (at + 1 == line.size_bytes || line.data[at + 1] == ' ')))
            at++;
        for (int i = 0; i < FIELDS; i++)
            if (strlen(names[i]) == at - from && memcmp(line.data + from, names[i], at - from) == 0)
                known = i;
        if (known == FIELDS || (count == 0) != (known == SAMPLES))
            return false;
        fields[count++] = (enum field)known;
        while (at < line.size_bytes && line.data[at] == ' ')
            at++;
    }
    *ret_count = count;
    return count > 1 && fields[count - 1] == SYMBOL;
}

static bool is_rule(struct cairn_span line)
{
    for (size_t i = 0; i < line.size_bytes; i++)
        if (line.data[i] != '-')
            return false;
    return true;
}

int cairn_is_oprofile(struct cairn_feed *feed)
{
    enum field fields[FIELDS_MAX];
    struct cairn_span line;
    size_t count;
    int code;

    for (unsigned i = 0; i < SNIFFED_LINES; i++) {
        code = cairn_feed_line(feed, &line);
        if (code < 0)
            return code == -CAIRN_EEND || code == -CAIRN_ELIMIT ? 0 : code;
        if (!cairn_words_begin(line, "samples "))
            continue;
        if (!read_head(line, fields, &count))
            return 0;
        code = cairn_feed_line(feed, &line); /* a table without a graph has no rule */
        return code < 0 ? 0 : line.size_bytes > 0 && is_rule(line);
    }
    return 0;
}

/* Up to the next blank; with `open`, up to the ")" that closes what begins with it. */
static struct cairn_span take_word(struct cairn_span *line, const char *open)
{
    struct cairn_span word;

    *line = cairn_words_trim(*line);
    if (cairn_words_begin(*line, open)) {
        const uint8_t *end = memchr(line->data, ')', line->size_bytes);

        if (end) {
            word = (struct cairn_span){line->data, (size_t)(end + 1 - line->data)};
            line->data += word.size_bytes;
            line->size_bytes -= word.size_bytes;
            return word;
        }
    }
    return cairn_words_take(line);
}

static bool ends_with(struct cairn_span text, const char *tail)
{
    size_t size_bytes = strlen(tail);

    return text.size_bytes >= size_bytes &&
           memcmp(text.data + text.size_bytes - size_bytes, tail, size_bytes) == 0;
}

static bool is(struct cairn_span text, const char *word)
{
    return text.size_bytes == strlen(word) && memcmp(text.data, word, text.size_bytes) == 0;
}

static void take_symbol(struct cairn_span line, struct entry *entry)
{
    entry->symbol = cairn_words_trim(line);
    if (ends_with(entry->symbol, " [self]")) {
        entry->self = true;
        entry->symbol.size_bytes -= strlen(" [self]");
        entry->symbol = cairn_words_trim(entry->symbol);
    }
    if (entry->symbol.size_bytes >= 2 && entry->symbol.data[0] == '"' &&
        ends_with(entry->symbol, "\"")) {
        entry->symbol.data++;
        entry->symbol.size_bytes -= 2;
    }
    if (is(entry->symbol, "(no symbols)"))
        entry->symbol.size_bytes = 0;
}

static bool read_entry(const struct oprofile *o, struct cairn_span line, struct entry *entry)
{
    *entry = (struct entry){.samples = 0};
    for (size_t i = 0; i < o->field_count; i++) {
        struct cairn_span before, word;

        if (o->fields[i] == SYMBOL) {
            take_symbol(line, entry);
            return entry->symbol.size_bytes > 0 || entry->image.size_bytes > 0;
        }
        word = take_word(&line, o->fields[i] == SOURCE ? "(no location" : "\n");
        if (word.size_bytes == 0)
            return false;
        if (o->fields[i] == SAMPLES && !cairn_whole_of_text(word, &entry->samples))
            return false;
        if (o->fields[i] == SOURCE && word.data[0] != '(')
            entry->source = word;
        else if (o->fields[i] == APP)
            entry->app = word;
        if (o->fields[i] != IMAGE)
            continue;
        entry->image = word;
        before = line; /* "vmlinux (tgid:12 range:…)" */
        if (cairn_words_begin(cairn_words_trim(line), "(tgid:")) {
            word = take_word(&before, "(tgid:");
            entry->image.size_bytes = (size_t)(word.data + word.size_bytes - entry->image.data);
            line = before;
        }
    }
    return false;
}

static int add_key(struct oprofile *o, struct cairn_span part)
{
    CAIRN_TRY(cairn_vec_reserve(&o->key, o->key.count + part.size_bytes + 1, NAMES_MAX_BYTES));
    if (part.size_bytes > 0)
        memcpy(o->key.items + o->key.count, part.data, part.size_bytes);
    o->key.count += part.size_bytes;
    o->key.items[o->key.count++] = '\0';
    return 0;
}

static struct cairn_span base_of(struct cairn_span path)
{
    const uint8_t *slash = path.size_bytes ? memrchr(path.data, '/', path.size_bytes) : NULL;

    return slash ? (struct cairn_span){slash + 1, (size_t)(path.data + path.size_bytes - slash - 1)}
                 : path;
}

static int keep_text(struct oprofile *o, struct cairn_span text, struct cairn_span *ret_text)
{
    uint32_t id;

    CAIRN_TRY(cairn_intern_add(&o->texts, text, &id));
    *ret_text = cairn_intern_get(&o->texts, id);
    return 0;
}

/* The function whose file is its source, or what it is part of. */
static int make_frame(struct oprofile *o, const struct entry *entry,
                      struct cairn_guest_frame *frame)
{
    const uint8_t *colon = entry->source.size_bytes
                               ? memrchr(entry->source.data, ':', entry->source.size_bytes)
                               : NULL;
    uint64_t line;

    CAIRN_TRY(keep_text(o, entry->symbol.size_bytes ? entry->symbol : entry->image, &frame->name));
    if (!colon)
        return keep_text(o, base_of(entry->image), &frame->file);
    CAIRN_TRY(
        keep_text(o, (struct cairn_span){entry->source.data, (size_t)(colon - entry->source.data)},
                  &frame->file));
    if (cairn_whole_of_text(
            (struct cairn_span){
                colon + 1, (size_t)(entry->source.data + entry->source.size_bytes - colon - 1)},
            &line) &&
        line <= INT32_MAX)
        frame->line = frame->first_line = (uint32_t)line;
    return 0;
}

static int function_of(struct oprofile *o, const struct entry *entry, uint32_t *ret_function)
{
    uint32_t id;

    o->key.count = 0;
    CAIRN_TRY(add_key(o, entry->app));
    CAIRN_TRY(add_key(o, entry->image));
    CAIRN_TRY(add_key(o, entry->source));
    CAIRN_TRY(add_key(o, entry->symbol));
    CAIRN_TRY(cairn_intern_add(&o->keys, (struct cairn_span){o->key.items, o->key.count}, &id));
    if (id > o->functions.count) {
        CAIRN_TRY(cairn_vec_reserve(&o->functions, id, FUNCTIONS_MAX));
        o->functions.items[o->functions.count] = (struct cairn_inferred_function){.self_ns = 0};
        CAIRN_TRY(make_frame(o, entry, &o->functions.items[o->functions.count].frame));
        o->functions.count++;
    }
    *ret_function = id - 1;
    return 0;
}

static int add_call(struct oprofile *o, uint32_t callee, uint64_t samples)
{
    uint64_t found;

    if (!cairn_map_get(&o->calls_of, o->function, callee, &found)) {
        found = o->calls.count;
        CAIRN_TRY(cairn_vec_reserve(&o->calls, found + 1, CALLS_MAX));
        CAIRN_TRY(cairn_map_put(&o->calls_of, o->function, callee, found));
        o->calls.items[o->calls.count++] =
            (struct cairn_inferred_call){.caller = o->function, .callee = callee};
    }
    o->calls.items[found].self += (double)samples;
    o->calls.items[found].total += (double)samples;
    return 0;
}

static int read_line(struct oprofile *o, struct cairn_span line)
{
    uint64_t unit_ns = o->guest->interval_ns ? o->guest->interval_ns : 1000;
    struct entry entry;
    uint32_t function;

    if (o->field_count == 0) {
        if (cairn_words_begin(line, "samples ") && !read_head(line, o->fields, &o->field_count))
            return -CAIRN_EDAMAGED;
        return 0;
    }
    if (is_rule(line)) {
        o->function = UINT32_MAX;
        return 0;
    }
    if (!read_entry(o, line, &entry) || entry.samples > CAIRN_GUEST_TIME_MAX_NS / unit_ns)
        return -CAIRN_EDAMAGED;
    if (line.data[0] == ' ' || line.data[0] == '\t') {
        if (o->function == UINT32_MAX || entry.self) /* who called it: that stands there, too */
            return 0;
        CAIRN_TRY(function_of(o, &entry, &function));
        return add_call(o, function, entry.samples);
    }
    CAIRN_TRY(function_of(o, &entry, &o->function));
    o->total += entry.samples * unit_ns;
    if (o->total > CAIRN_GUEST_TIME_MAX_NS)
        return -CAIRN_EDAMAGED;
    o->functions.items[o->function].self_ns += entry.samples * unit_ns;
    return 0;
}

static int give(struct oprofile *o)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    uint32_t thread;

    if (o->field_count == 0)
        return -CAIRN_EDAMAGED;
    for (size_t i = 0; i < o->functions.count; i++) /* nobody tells; none is too small to follow */
        o->functions.items[i].total_ns = o->total;
    CAIRN_TRY(cairn_guest_thread(o->guest, &all, &thread));
    CAIRN_TRY(cairn_inferred_give(o->guest, thread, o->functions.items, o->functions.count,
                                  o->calls.items, o->calls.count));
    CAIRN_TRY(cairn_guest_fact(o->guest, "import.stacks", "inferred"));
    CAIRN_TRY(cairn_guest_fact(o->guest, "import.times", "none"));
    return cairn_guest_fact(o->guest, "import.values", "samples%s",
                            o->guest->interval_ns ? "" : ", each shown as 1 us");
}

static int read_file(struct oprofile *o, struct cairn_feed *feed, struct cairn_err *err)
{
    struct cairn_span line;
    uint64_t number = 0;
    int code;

    while ((code = cairn_feed_line(feed, &line)) == 0) {
        number++;
        code = read_line(o, line);
        if (code == -CAIRN_EDAMAGED)
            return cairn_err_set(err, code, 0, "import", "line %" PRIu64 " does not belong there",
                                 number);
        CAIRN_TRY(code);
    }
    return code == -CAIRN_EEND ? give(o) : code;
}

int cairn_in_oprofile(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct oprofile o = {.guest = guest, .function = UINT32_MAX};
    int code = cairn_intern_init(&o.keys, NAMES_MAX_BYTES);

    if (code == 0)
        code = cairn_intern_init(&o.texts, NAMES_MAX_BYTES);
    cairn_map_init(&o.calls_of, CALLS_MAX);
    if (code == 0)
        code = read_file(&o, feed, err);
    cairn_map_release(&o.calls_of);
    cairn_vec_release(&o.functions);
    cairn_vec_release(&o.calls);
    cairn_vec_release(&o.key);
    cairn_intern_release(&o.keys);
    cairn_intern_release(&o.texts);
    return code;
}
