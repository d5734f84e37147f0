#include "import.h"

#include <inttypes.h>
#include <string.h>

#include "formats.h"
#include "jsonin.h"
#include "strangers.h"

#define NAMED_WITHIN_BYTES ((size_t)256)
#define FILE_NAME_MAX_BYTES 255
#define HEAD_MIN_BYTES ((size_t)64 << 10) /* enough to tell most formats by */

struct format {
    const char *name;
    /* 1: it is this; 0: it is not; or a failure to read. The feed stands at the start. NULL: it is
     * JSON, told apart by sniff_json(). */
    int (*is)(struct cairn_feed *feed);
    int (*read)(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
};

static struct cairn_span head_of(const struct cairn_feed *feed)
{
    return (struct cairn_span){feed->next, (size_t)(feed->end - feed->next)};
}

static bool is_json(const struct cairn_feed *feed)
{
    struct cairn_span head = head_of(feed);
    size_t at = 0;

    while (at < head.size_bytes && memchr(" \t\r\n", head.data[at], 4))
        at++;
    if (at == head.size_bytes || (head.data[at] != '{' && head.data[at] != '['))
        return false;
    for (at++; at < head.size_bytes && memchr(" \t\r\n", head.data[at], 4); at++)
        ;
    /* A dict of marshal begins with the same brace. */
    return at < head.size_bytes && memchr("\"}{[]", head.data[at], 5);
}

/* The keys at the top of a JSON object that tell formats apart. */
enum {
    KEY_SHARED = 1,
    KEY_PROFILES = 2,
    KEY_SPEEDSCOPE = 4, /* "$schema" says so */
    KEY_NODES = 8,
    KEY_START_TIME = 16,
    KEY_EVENTS = 32,
    KEY_META = 64,
    KEY_THREADS = 128,
    KEY_FUNCTIONS = 256,
    KEY_COSTED = 512, /* "events", of gprof2dot */
};

static bool is_gecko(unsigned keys)
{
    return keys & KEY_META && keys & KEY_THREADS;
}

static int read_value(struct cairn_jsonin *json, struct cairn_span key, unsigned *keys)
{
    struct cairn_span text;
    char kind;

    if (cairn_span_is(key, "shared"))
        *keys |= KEY_SHARED;
    else if (cairn_span_is(key, "profiles"))
        *keys |= KEY_PROFILES;
    else if (cairn_span_is(key, "nodes"))
        *keys |= KEY_NODES;
    else if (cairn_span_is(key, "startTime"))
        *keys |= KEY_START_TIME;
    else if (cairn_span_is(key, "traceEvents"))
        *keys |= KEY_EVENTS;
    else if (cairn_span_is(key, "meta"))
        *keys |= KEY_META;
    else if (cairn_span_is(key, "threads"))
        *keys |= KEY_THREADS;
    else if (cairn_span_is(key, "functions"))
        *keys |= KEY_FUNCTIONS;
    else if (cairn_span_is(key, "events"))
        *keys |= KEY_COSTED;
    if (*keys == (KEY_SHARED | KEY_PROFILES) || *keys & KEY_EVENTS || is_gecko(*keys))
        return 0; /* that is clear, however long the value */
    if (!cairn_span_is(key, "$schema"))
        return cairn_jsonin_skip(json);
    CAIRN_TRY(cairn_jsonin_kind(json, &kind));
    if (kind != '"')
        return cairn_jsonin_skip(json);
    CAIRN_TRY(cairn_jsonin_text(json, &text));
    if (text.size_bytes && memmem(text.data, text.size_bytes, "speedscope", 10))
        *keys |= KEY_SPEEDSCOPE;
    return 0;
}

/* What a file that was cut off most likely was; NULL: it does not say. */
static const char *likely_name(unsigned keys)
{
    if (keys & (KEY_SHARED | KEY_PROFILES))
        return "speedscope";
    if (keys & (KEY_NODES | KEY_START_TIME))
        return "cpuprofile";
    if (keys & (KEY_META | KEY_THREADS))
        return "gecko";
    return keys & KEY_FUNCTIONS ? "gprof2dot" : NULL;
}

static int sniff_object(struct cairn_jsonin *json, const char **ret_name)
{
    struct cairn_span key;
    unsigned keys = 0;
    int code = cairn_jsonin_enter(json, '{');

    while (code == 0 && !*ret_name && (code = cairn_jsonin_key(json, &key)) > 0) {
        code = read_value(json, key, &keys);
        if (keys & KEY_SPEEDSCOPE || (keys & KEY_SHARED && keys & KEY_PROFILES))
            *ret_name = "speedscope";
        else if (keys & KEY_NODES && keys & KEY_START_TIME)
            *ret_name = "cpuprofile";
        else if (keys & KEY_EVENTS)
            *ret_name = "chrome";
        else if (is_gecko(keys))
            *ret_name = "gecko";
        else if (keys & KEY_FUNCTIONS && keys & KEY_COSTED)
            *ret_name = "gprof2dot";
    }
    if (code < 0 && !*ret_name && json->feed->over && json->feed->next == json->feed->end)
        *ret_name = likely_name(keys);
    return code;
}

/* Trace events may stand alone: each says what it is ("ph"). */
static int sniff_array(struct cairn_jsonin *json, const char **ret_name)
{
    struct cairn_span key;
    int code = cairn_jsonin_enter(json, '[');

    if (code == 0 && (code = cairn_jsonin_item(json)) > 0)
        code = cairn_jsonin_enter(json, '{');
    while (code == 0 && !*ret_name && (code = cairn_jsonin_key(json, &key)) > 0) {
        if (cairn_span_is(key, "ph"))
            *ret_name = "chrome";
        code = cairn_jsonin_skip(json);
    }
    return code;
}

/* What it is, by its keys; it is read until that is clear. What is no JSON is nothing. */
static int sniff_json(struct cairn_feed *feed, const char **ret_name)
{
    struct cairn_jsonin json;
    char kind;
    int code;

    *ret_name = NULL;
    cairn_jsonin_init(&json, feed);
    code = cairn_jsonin_kind(&json, &kind);
    if (code == 0)
        code = kind == '[' ? sniff_array(&json, ret_name) : sniff_object(&json, ret_name);
    cairn_jsonin_release(&json);
    return code == -CAIRN_EDAMAGED || code == -CAIRN_ELIMIT ? 0 : code < 0 ? code : 0;
}

static int is_prof(struct cairn_feed *feed)
{
    struct cairn_span head = head_of(feed);

    if (head.size_bytes < 2 || (head.data[0] & 0x7f) != '{')
        return 0;
    return memchr("()0r", head.data[1] & 0x7f, 4) != NULL && !is_json(feed);
}

/* A pickle that names line_profiler's class near its start. */
static int is_lprof(struct cairn_feed *feed)
{
    struct cairn_span head = head_of(feed);
    size_t near = head.size_bytes < NAMED_WITHIN_BYTES ? head.size_bytes : NAMED_WITHIN_BYTES;

    return near > 0 && (head.data[0] == 0x80 || head.data[0] == 'c') &&
           memmem(head.data, near, "LineStats", 9) != NULL;
}

/* Messages of the fields a profile has, with the types of its values among the first. */
static int is_pprof(struct cairn_feed *feed)
{
    struct cairn_span head = head_of(feed);
    struct cairn_cursor cur;
    unsigned fields = 0;

    if (cairn_is_perfetto(head))
        return 0;

    cairn_cursor_init(&cur, head);
    while (fields < 64 && cairn_cursor_left_bytes(&cur) > 0) {
        uint64_t key, value;
        struct cairn_span bytes;

        if (cairn_cursor_uvarint(&cur, &key) < 0 || key >> 3 == 0 || key >> 3 > 15)
            return 0;
        if ((key & 7) != 2 && (key & 7) != 0)
            return 0;
        if ((key >> 3 <= 6 || key >> 3 == 11) != ((key & 7) == 2) && key >> 3 != 13)
            return 0;
        if (cairn_cursor_uvarint(&cur, &value) < 0)
            return 0;
        if ((key & 7) == 2 && cairn_cursor_take(&cur, value, &bytes) < 0)
            return fields > 0; /* it goes on behind what is here */
        fields++;
    }
    return fields > 0;
}

/* The first lines that say anything end in numbers, and some have a stack in front. */
static int is_collapsed(struct cairn_feed *feed)
{
    struct cairn_span line;
    unsigned lines = 0, stacks = 0;
    int code;

    while (lines < 8 && (code = cairn_feed_line(feed, &line)) == 0) {
        if (line.size_bytes == 0 || cairn_is_collapsed_remark(line))
            continue;
        if (!cairn_collapsed_number(line))
            return 0;
        lines++;
        stacks += cairn_collapsed_number(line) > 1;
    }
    return stacks > 0;
}

static int is_callgrind(struct cairn_feed *feed)
{
    static const char *const heads[] = {"# callgrind format",
                                        "version:", "creator:", "positions:", "events:"};
    struct cairn_span head = head_of(feed);

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        if (head.size_bytes > strlen(heads[i]) &&
            memcmp(head.data, heads[i], strlen(heads[i])) == 0)
            return i == 0 || memmem(head.data, head.size_bytes, "\nevents:", 8) ||
                   memcmp(head.data, "events:", 7) == 0;
    return 0;
}

/* What gprof prints above its tables, with explanations or without. */
static int is_gprof(struct cairn_feed *feed)
{
    static const char *const heads[] = {"Each sample counts as ",
                                        "granularity: each sample hit covers ", "index % time  "};
    struct cairn_span head = head_of(feed);

    for (size_t i = 0; head.size_bytes && i < sizeof(heads) / sizeof(heads[0]); i++)
        if (memmem(head.data, head.size_bytes, heads[i], strlen(heads[i])))
            return !is_json(feed);
    return 0;
}

static int is_mojo(struct cairn_feed *feed)
{
    struct cairn_span head = head_of(feed);

    return head.size_bytes > 4 && memcmp(head.data, "MOJ", 3) == 0 && head.data[3] < 0x40;
}

/* Words of 8 bytes, or of 4: 0, the number of words that follow, 0. */
static int is_gperftools(struct cairn_feed *feed)
{
    static const uint8_t wide[24] = {[8] = 3}, narrow[12] = {[4] = 3};
    struct cairn_span head = head_of(feed);

    return (head.size_bytes > sizeof(wide) && memcmp(head.data, wide, sizeof(wide)) == 0) ||
           (head.size_bytes > sizeof(narrow) && memcmp(head.data, narrow, sizeof(narrow)) == 0);
}

/* In the order in which they are asked: those that are surest of themselves first. */
static const struct format formats[] = {
    {"speedscope", NULL, cairn_in_speedscope},
    {"prof", is_prof, cairn_in_prof},
    {"lprof", is_lprof, cairn_in_lprof},
    {"callgrind", is_callgrind, cairn_in_callgrind},
    {"gprof", is_gprof, cairn_in_gprof},
    {"gperftools", is_gperftools, cairn_in_gperftools},
    {"mojo", is_mojo, cairn_in_mojo},
    {"cpuprofile", NULL, cairn_in_cpuprofile},
    {"chrome", NULL, cairn_in_chrome},
    {"gecko", NULL, cairn_in_gecko},
    {"gprof2dot", NULL, cairn_in_gprof2dot},
    {"hprof", cairn_is_hprof, cairn_in_hprof},
    {"sleepy", cairn_is_sleepy, cairn_in_sleepy},
    {"sysprof", cairn_is_sysprof, cairn_in_sysprof},
    {"xperf", cairn_is_xperf, cairn_in_xperf},
    {"axe", cairn_is_axe, cairn_in_axe},
    {"oprofile", cairn_is_oprofile, cairn_in_oprofile},
    {"perf", cairn_is_perf, cairn_in_perf},
    {"dtrace", cairn_is_dtrace, cairn_in_dtrace},
    {"collapsed", is_collapsed, cairn_in_collapsed},
    {"pprof", is_pprof, cairn_in_pprof},
};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

static int fill_head(struct cairn_feed *feed)
{
    int code = 0;

    CAIRN_TRY(cairn_feed_rewind(feed));
    while (code == 0 && (size_t)(feed->end - feed->next) < HEAD_MIN_BYTES)
        code = cairn_feed_more(feed);
    return code == -CAIRN_EEND ? 0 : code;
}

static int find_json(struct cairn_feed *feed, const struct format **ret_format)
{
    const char *name;

    CAIRN_TRY(sniff_json(feed, &name));
    for (size_t i = 0; name && i < FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, name) == 0)
            *ret_format = &formats[i];
    return 0;
}

static int find_format(struct cairn_feed *feed, const struct format **ret_format)
{
    *ret_format = NULL;
    CAIRN_TRY(fill_head(feed));
    if (is_json(feed))
        CAIRN_TRY(find_json(feed, ret_format));
    for (size_t i = 0; i < FORMAT_COUNT && !*ret_format; i++) {
        int is = 0;

        CAIRN_TRY(fill_head(feed));
        if (formats[i].is)
            is = formats[i].is(feed);
        CAIRN_TRY(is);
        if (is)
            *ret_format = &formats[i];
    }
    return cairn_feed_rewind(feed);
}

/* One message for a file: what is wrong, where, and which file it is. */
static int refuse(const struct cairn_feed *feed, const char *path, const char *name, int code,
                  struct cairn_err *err)
{
    struct cairn_err inner = *err;

    if (code == -CAIRN_ENOMEM || code == -CAIRN_EIO)
        return err->code == code
                   ? code
                   : cairn_err_set(err, code, 0, "import", "%.300s cannot be read", path);
    if (code == -CAIRN_ELIMIT) {
        cairn_err_set(err, -CAIRN_EFOREIGN, 0, "import",
                      "%.300s holds more than Cairn reads of a %s file", path, name);
        cairn_err_add(err, "It was read up to byte %" PRIu64 ".", cairn_feed_at(feed));
        return -CAIRN_EFOREIGN;
    }
    cairn_err_set(err, -CAIRN_EDAMAGED, 0, "import", "%.300s is no %s file that can be read", path,
                  name);
    if (feed->is_torn)
        cairn_err_add(err, "Its gzip stream is damaged, or was cut off.");
    else if (inner.code == code && inner.text[0])
        cairn_err_add(err, "%.300s", inner.text);
    else if (feed->over && feed->next == feed->end)
        cairn_err_add(err, "It ends too early, at byte %" PRIu64 ": it was cut off.",
                      cairn_feed_at(feed));
    else
        cairn_err_add(err, "What stands at byte %" PRIu64 " does not belong there.",
                      cairn_feed_at(feed));
    return -CAIRN_EDAMAGED;
}

static int read_guest(const struct format *format, struct cairn_feed *feed, const char *path,
                      const struct cairn_import_options *options, struct cairn_sink *sink,
                      struct cairn_err *err)
{
    const char *slash = strrchr(path, '/');
    struct cairn_guest guest;
    int code;

    CAIRN_TRY(cairn_guest_open(&guest, sink, err));
    guest.interval_ns = options->interval_ns;
    guest.spill = options->spill;
    guest.objects = options->objects;
    guest.object_count = options->object_count;
    feed->progress = options->progress;
    code = format->read(feed, &guest, err);
    if (code == 0)
        code = cairn_guest_fact(&guest, "import.format", "%s", format->name);
    if (code == 0)
        code = cairn_guest_fact(&guest, "import.file", "%.*s", FILE_NAME_MAX_BYTES,
                                slash ? slash + 1 : path);
    if (code == 0)
        code = cairn_guest_finish(&guest);
    cairn_guest_release(&guest);
    return code;
}

static void add_names(struct cairn_err *err)
{
    struct cairn_buf names;

    cairn_buf_init(&names, 4096);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        cairn_buf_printf(&names, "%s%s", i ? ", " : "", formats[i].name);
    cairn_err_add(err, "It knows %s.", cairn_buf_cstr(&names));
    cairn_buf_release(&names);
}

static void tell(struct cairn_feed *feed, const char *path, struct cairn_err *err)
{
    if (fill_head(feed) < 0 || !cairn_stranger_tell(head_of(feed), path, err))
        add_names(err);
}

static bool is_recording(struct cairn_feed *feed)
{
    struct cairn_span head;

    if (fill_head(feed) < 0)
        return false;
    head = head_of(feed);
    return head.size_bytes >= CAIRN_MAGIC_BYTES &&
           memcmp(head.data, CAIRN_MAGIC, CAIRN_MAGIC_BYTES) == 0;
}

int cairn_import_feed(struct cairn_feed *feed, const char *path,
                      const struct cairn_import_options *options, struct cairn_sink *sink,
                      struct cairn_err *err)
{
    const struct format *format = NULL;
    struct cairn_err inner = {0};
    int code = find_format(feed, &format);

    if (code == 0 && !format && is_recording(feed)) {
        code =
            cairn_err_set(err, -CAIRN_EFOREIGN, 0, "import", "%.300s is a recording already", path);
        cairn_err_add(err, "Reading commands take it as it is: cairn report %.100s", path);
        return code;
    }
    if (code == 0 && !format) {
        code = cairn_err_set(err, -CAIRN_EFOREIGN, 0, "import",
                             "%.300s is no recording, nor a profile that Cairn knows", path);
        tell(feed, path, err);
        return code;
    }
    if (code == 0)
        code = read_guest(format, feed, path, options, sink, &inner);
    if (code < 0) {
        code = refuse(feed, path, format ? format->name : "gzip", code, &inner);
        if (err)
            *err = inner;
    }
    return code;
}

int cairn_import(int fd, const char *path, const struct cairn_import_options *options,
                 struct cairn_sink *sink, struct cairn_err *err)
{
    struct cairn_feed feed;
    int code = cairn_feed_open(&feed, fd);

    if (code < 0)
        cairn_err_set(err, code, 0, "import", "%.300s cannot be read", path);
    else
        code = cairn_import_feed(&feed, path, options, sink, err);
    cairn_feed_release(&feed);
    return code;
}

int cairn_import_mapped(int fd, struct cairn_buf *ret_paths)
{
    struct cairn_feed feed;
    int code = cairn_feed_open(&feed, fd);

    if (code == 0)
        code = fill_head(&feed);
    if (code == 0 && is_gperftools(&feed))
        code = cairn_gperftools_mapped(&feed, ret_paths);
    cairn_feed_release(&feed);
    return code;
}
