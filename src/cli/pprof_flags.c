#include "pprof_flags.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

enum kind { SWITCH, TEXT, NUMBER, FRACTION, LIST, FORMAT, FORMAT_TEXT, CHOICE, INDEX, MISSING };

struct flag {
    const char *name;
    enum kind kind;
    size_t offset; /* of its field */
};

#define FIELD(name) offsetof(struct cairn_pprof_flags, name)
#define UNUSED FIELD(unused)
#define UNUSED_TEXT FIELD(unused_text)

static const struct flag flags[] = {
    {"h", SWITCH, FIELD(help)},
    {"help", SWITCH, FIELD(help)},
    {"http", TEXT, FIELD(http)},
    {"no_browser", SWITCH, FIELD(no_browser)},
    {"add_comment", TEXT, FIELD(comment)},
    {"output", TEXT, FIELD(output)},
    {"base", LIST, FIELD(base)},
    {"diff_base", LIST, FIELD(diff_base)},
    {"normalize", SWITCH, FIELD(normalize)},

    {"top", FORMAT, FIELD(format)},
    {"text", FORMAT, FIELD(format)},
    {"tree", FORMAT, FIELD(format)},
    {"traces", FORMAT, FIELD(format)},
    {"tags", FORMAT, FIELD(format)},
    {"comments", FORMAT, FIELD(format)},
    {"raw", FORMAT, FIELD(format)},
    {"proto", FORMAT, FIELD(format)},
    {"topproto", FORMAT, FIELD(format)},
    {"callgrind", FORMAT, FIELD(format)},
    {"dot", FORMAT, FIELD(format)},
    {"svg", FORMAT, FIELD(format)},
    {"png", FORMAT, FIELD(format)},
    {"gif", FORMAT, FIELD(format)},
    {"pdf", FORMAT, FIELD(format)},
    {"ps", FORMAT, FIELD(format)},
    {"peek", FORMAT_TEXT, FIELD(format)},
    {"list", FORMAT_TEXT, FIELD(format)},
    {"weblist", FORMAT_TEXT, FIELD(format)},

    {"cum", SWITCH, FIELD(cum)},
    {"flat", SWITCH, FIELD(flat)},
    {"functions", CHOICE, FIELD(by)},
    {"filefunctions", CHOICE, FIELD(by)},
    {"files", CHOICE, FIELD(by)},
    {"lines", CHOICE, FIELD(by)},
    {"addresses", CHOICE, FIELD(by)},
    {"nodecount", NUMBER, FIELD(node_count)},
    {"nodefraction", FRACTION, FIELD(node_least)},
    {"edgefraction", FRACTION, FIELD(edge_least)},
    {"divide_by", FRACTION, FIELD(divide_by)},
    {"trim", SWITCH, FIELD(trim)},
    {"mean", SWITCH, FIELD(mean)},
    {"drop_negative", SWITCH, FIELD(drop_negative)},
    {"relative_percentages", SWITCH, FIELD(relative)},
    {"compact_labels", SWITCH, FIELD(compact)},
    {"call_tree", SWITCH, FIELD(call_tree)},
    {"unit", TEXT, FIELD(unit)},
    {"sample_index", TEXT, FIELD(sample_index)},
    {"samples", INDEX, FIELD(sample_index)},
    {"wall", INDEX, FIELD(sample_index)},
    {"cpu", INDEX, FIELD(sample_index)},
    {"runq", INDEX, FIELD(sample_index)},
    {"blocked", INDEX, FIELD(sample_index)},
    {"inuse_space", INDEX, FIELD(sample_index)},
    {"inuse_objects", INDEX, FIELD(sample_index)},
    {"alloc_space", INDEX, FIELD(sample_index)},
    {"alloc_objects", INDEX, FIELD(sample_index)},
    {"contentions", INDEX, FIELD(sample_index)},
    {"source_path", TEXT, FIELD(source_path)},
    {"trim_path", TEXT, FIELD(trim_path)},

    {"focus", TEXT, FIELD(focus)},
    {"ignore", TEXT, FIELD(ignore)},
    {"hide", TEXT, FIELD(hide)},
    {"show", TEXT, FIELD(show)},
    {"show_from", TEXT, FIELD(show_from)},
    {"prune_from", TEXT, FIELD(prune_from)},
    {"tagfocus", TEXT, FIELD(tag_focus)},
    {"tagignore", TEXT, FIELD(tag_ignore)},
    {"tagshow", TEXT, FIELD(tag_show)},
    {"taghide", TEXT, FIELD(tag_hide)},

    /* Of what is already in a recording, or of machine code: nothing is left to do. */
    {"symbolize", TEXT, UNUSED_TEXT},
    {"tools", TEXT, UNUSED_TEXT},
    {"buildid", TEXT, UNUSED_TEXT},
    {"noinlines", SWITCH, UNUSED},
    {"intel_syntax", SWITCH, UNUSED},
    /* Of what a server is asked for: files are there. */
    {"seconds", TEXT, UNUSED_TEXT},
    {"timeout", TEXT, UNUSED_TEXT},

    {"disasm", MISSING, 0},
    {"web", MISSING, 0},
    {"eog", MISSING, 0},
    {"evince", MISSING, 0},
    {"gv", MISSING, 0},
    {"kcachegrind", MISSING, 0},
    {"tagroot", MISSING, 0},
    {"tagleaf", MISSING, 0},
    {"total_delay", MISSING, 0},
    {"mean_delay", MISSING, 0},
};

static int refuse(struct cairn_err *err, const char *text, const char *name, const char *value)
{
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "pprof", text, name, value);
    cairn_err_add(err, "`cairn help pprof` lists what there is.");
    return -CAIRN_EUSAGE;
}

static int refuse_unknown(const char *name, size_t size_bytes, struct cairn_err *err)
{
    struct cairn_nearest nearest;
    char stem[65];

    cairn_err_set(err, -CAIRN_EUSAGE, 0, "pprof", "`cairn pprof` has no flag -%.*s",
                  (int)(size_bytes & 0xff), name);
    if (size_bytes > 0 && size_bytes < sizeof(stem)) {
        memcpy(stem, name, size_bytes);
        stem[size_bytes] = '\0';
        cairn_nearest_init(&nearest, stem);
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
            if (flags[i].kind != MISSING)
                cairn_nearest_try(&nearest, flags[i].name);
        if (cairn_nearest_best(&nearest) != NULL)
            cairn_err_add(err, "Did you mean -%s?", cairn_nearest_best(&nearest));
    }
    cairn_err_add(err, "`cairn help pprof` lists what there is.");
    return -CAIRN_EUSAGE;
}

static int refuse_missing(const char *name, struct cairn_err *err)
{
    static const struct {
        const char *name, *instead;
    } others[] = {
        {"kcachegrind", "-callgrind -output=calls.out writes what it opens."},
        {"web", "-http has a page, -svg a picture."},
        {"disasm",
         "It shows the machine code of a binary, which Cairn does not read: `cairn dis FUNCTION` "
         "lists bytecode."},
    };

    cairn_err_set(err, -CAIRN_EUSAGE, 0, "pprof", "`cairn pprof` does not have pprof's -%s", name);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i].name, name) == 0)
            cairn_err_add(err, "%s", others[i].instead);
    cairn_err_add(err, "`cairn help pprof` lists what there is.");
    return -CAIRN_EUSAGE;
}

static bool is_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* As Go reads truth. */
static int read_switch(const char *name, const char *value, bool *ret_on, struct cairn_err *err)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True", NULL};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False", NULL};

    if (value != NULL && !is_word(value, yes) && !is_word(value, no))
        return refuse(err, "-%s: '%.100s' is neither true nor false", name, value);
    *ret_on = value == NULL || is_word(value, yes);
    return 0;
}

static int read_number(const struct flag *flag, const char *value, struct cairn_pprof_flags *into,
                       struct cairn_err *err)
{
    void *field = (char *)into + flag->offset;
    char *end;
    double fraction;
    long number;

    errno = 0;
    if (flag->kind == NUMBER) {
        number = strtol(value, &end, 10);
        if (end == value || *end != '\0' || errno != 0 || number < -1)
            return refuse(err, "-%s: '%.100s' is no number from 0 on", flag->name, value);
        *(long *)field = number;
        return 0;
    }
    fraction = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(fraction) || fraction < 0)
        return refuse(err, "-%s: '%.100s' is no number from 0 on", flag->name, value);
    *(double *)field = fraction;
    return 0;
}

static int set_format(const struct flag *flag, const char *value, struct cairn_pprof_flags *into,
                      struct cairn_err *err)
{
    if (into->format != NULL && strcmp(into->format, flag->name) != 0)
        return refuse(err, "must set at most one output format: -%s and -%s", into->format,
                      flag->name);
    into->format = flag->name;
    if (flag->kind == FORMAT_TEXT)
        into->regex = value;
    return 0;
}

static int set_choice(const struct flag *flag, struct cairn_pprof_flags *into,
                      struct cairn_err *err)
{
    const char **field = (const char **)((char *)into + flag->offset);

    if (*field != NULL && strcmp(*field, flag->name) != 0)
        return refuse(err, "conflicting options set: -%s and -%s", *field, flag->name);
    *field = flag->name;
    return 0;
}

static int add_item(const struct flag *flag, const char *value, struct cairn_pprof_flags *into,
                    struct cairn_err *err)
{
    struct cairn_pprof_list_flag *list =
        (struct cairn_pprof_list_flag *)((char *)into + flag->offset);

    if (value[0] == '\0')
        return 0;
    if (list->count == CAIRN_PPROF_BASES_MAX)
        return refuse(err, "-%s %.100s: so many are not compared", flag->name, value);
    list->items[list->count++] = value;
    return 0;
}

/* `value` NULL: there is none. */
static int set_flag(const struct flag *flag, const char *value, struct cairn_pprof_flags *into,
                    struct cairn_err *err)
{
    bool on;

    switch (flag->kind) {
    case SWITCH:
        return read_switch(flag->name, value, (bool *)((char *)into + flag->offset), err);
    case FORMAT:
        CAIRN_TRY(read_switch(flag->name, value, &on, err));
        return on ? set_format(flag, NULL, into, err) : 0;
    case CHOICE:
    case INDEX:
        CAIRN_TRY(read_switch(flag->name, value, &on, err));
        return on ? set_choice(flag, into, err) : 0;
    case FORMAT_TEXT:
        return set_format(flag, value, into, err);
    case NUMBER:
    case FRACTION:
        return read_number(flag, value, into, err);
    case LIST:
        return add_item(flag, value, into, err);
    case MISSING:
        return refuse_missing(flag->name, err);
    case TEXT:
    default:
        *(const char **)((char *)into + flag->offset) = value;
        return 0;
    }
}

static bool takes_value(enum kind kind)
{
    return kind == TEXT || kind == NUMBER || kind == FRACTION || kind == LIST ||
           kind == FORMAT_TEXT;
}

static const struct flag *find(const char *name, size_t size_bytes)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (strlen(flags[i].name) == size_bytes && memcmp(flags[i].name, name, size_bytes) == 0)
            return &flags[i];
    return NULL;
}

static int check(const struct cairn_pprof_flags *f, struct cairn_err *err)
{
    if (f->cum && f->flat)
        return refuse(err, "conflicting options set: -%s and -%s", "cum", "flat");
    if (f->base.count > 0 && f->diff_base.count > 0)
        return refuse(err, "-%s and -%s cannot both be specified", "base", "diff_base");
    if (f->normalize && f->base.count + f->diff_base.count == 0)
        return refuse(err, "-%s wants a profile to compare with: -%s", "normalize", "base FILE");
    if (f->format != NULL && f->http != NULL)
        return refuse(err, "-%s is not compatible with an output format: -%s", "http", f->format);
    if (f->no_browser && f->http == NULL)
        return refuse(err, "-%s only makes sense with -%s", "no_browser", "http");
    if (f->divide_by <= 0)
        return refuse(err, "-%s: %s", "divide_by", "zero divisor specified");
    return 0;
}

int cairn_pprof_flags_read(const struct cairn_words *words, struct cairn_pprof_flags *ret_flags,
                           struct cairn_words *ret_words, struct cairn_err *err)
{
    size_t kept = 0, next = 0;

    *ret_flags = (struct cairn_pprof_flags){.node_count = -1,
                                            .node_least = 0.005,
                                            .edge_least = 0.001,
                                            .divide_by = 1,
                                            .trim = true,
                                            .unit = "minimum"};
    while (next < words->count) {
        char *word = words->items[next++];
        const char *name = word + 1, *value;
        const struct flag *flag;
        size_t size_bytes;

        if (word[0] != '-' || word[1] == '\0') {
            words->items[kept++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0)
            break;
        name += name[0] == '-';
        size_bytes = strcspn(name, "=");
        value = name[size_bytes] == '=' ? name + size_bytes + 1 : NULL;
        flag = find(name, size_bytes);
        if (flag == NULL)
            return refuse_unknown(name, size_bytes, err);
        if (value == NULL && takes_value(flag->kind)) {
            if (next == words->count)
                return refuse(err, "-%s needs a value: -%s=VALUE", flag->name, flag->name);
            value = words->items[next++];
        }
        CAIRN_TRY(set_flag(flag, value, ret_flags, err));
    }
    while (next < words->count)
        words->items[kept++] = words->items[next++];
    *ret_words = (struct cairn_words){words->items, kept};
    return ret_flags->help ? 0 : check(ret_flags, err);
}
