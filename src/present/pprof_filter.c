#include "pprof_filter.h"

#include <string.h>

#include "alloc.h"
#include "pyregex.h"

#define TEXT_MAX_BYTES 4096
#define WORDS_MAX 16

struct filtering {
    struct cairn_pprof *pprof;
    const struct cairn_pprof_filters *filters;
    struct cairn_err *err;
    unsigned idle;
    uint8_t *marks; /* of each frame */
};

enum { /* marks */
       FOCUSED = 1,
       IGNORED = 2,
       HIDDEN = 4,
       TOP = 8,     /* nothing outside of it is shown */
       BOTTOM = 16, /* nothing inside of it is */
};

static int make_regex(struct filtering *f, const char *name, struct cairn_span pattern,
                      struct cairn_pyregex **ret_regex)
{
    int code = cairn_pyregex_make(pattern, CAIRN_PYREGEX_AND_GREP, ret_regex);

    if (code == -CAIRN_EUSAGE)
        return cairn_err_set(f->err, code, 0, "pprof", "-%s: '%.*s' is no regular expression", name,
                             (int)(pattern.size_bytes & 0xff), (const char *)pattern.data);
    return code < 0 ? cairn_err_set(f->err, code, 0, "pprof", "-%s", name) : 0;
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* Gives `mark` to the frames whose name, or file unless `names_only`, holds the pattern, or with
 * `others` to those that do not. *ret_found: whether one does. */
static int mark_frames(struct filtering *f, const char *name, const char *pattern, uint8_t mark,
                       bool others, bool names_only, bool *ret_found)
{
    struct cairn_span text = {(const uint8_t *)pattern, strlen(pattern)};
    struct cairn_pyregex *regex;
    int code = 0;

    *ret_found = false;
    CAIRN_TRY(make_regex(f, name, text, &regex));
    for (size_t i = 0; i < f->pprof->frames.count && code == 0; i++) {
        const struct cairn_pprof_frame *frame = &f->pprof->frames.items[i];
        bool found = false;

        code = cairn_pyregex_search(regex, cairn_intern_get(&f->pprof->texts, frame->name), &found);
        if (code == 0 && !found && !names_only)
            code = cairn_pyregex_search(regex, cairn_intern_get(&f->pprof->texts, frame->file),
                                        &found);
        *ret_found = *ret_found || found;
        if (found != others)
            f->marks[i] |= mark;
    }
    cairn_pyregex_free(regex);
    return code < 0 ? cairn_err_set(f->err, code, 0, "pprof", "-%s", name) : 0;
}

static int mark_all(struct filtering *f)
{
    const struct cairn_pprof_filters *filters = f->filters;
    const struct {
        const char *name, *pattern;
        uint8_t mark;
        bool others, names_only;
        unsigned idle;
    } steps[] = {
        {"focus", filters->focus, FOCUSED, false, false, CAIRN_PPROF_IDLE_FOCUS},
        {"ignore", filters->ignore, IGNORED, false, false, CAIRN_PPROF_IDLE_IGNORE},
        {"hide", filters->hide, HIDDEN, false, false, CAIRN_PPROF_IDLE_HIDE},
        {"show", filters->show, HIDDEN, true, false, CAIRN_PPROF_IDLE_SHOW},
        {"show_from", filters->show_from, TOP, false, false, CAIRN_PPROF_IDLE_SHOW_FROM},
        {"prune_from", filters->prune_from, BOTTOM, false, true, 0},
    };

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        bool found;

        if (!is_given(steps[i].pattern))
            continue;
        CAIRN_TRY(mark_frames(f, steps[i].name, steps[i].pattern, steps[i].mark, steps[i].others,
                              steps[i].names_only, &found));
        if (!found)
            f->idle |= steps[i].idle;
    }
    return 0;
}

static bool is_kept(const struct filtering *f, const uint32_t *stack, uint32_t depth)
{
    bool focused = depth > 0 && !is_given(f->filters->focus);

    for (uint32_t i = 0; i < depth; i++) {
        if (f->marks[stack[i]] & IGNORED)
            return false;
        focused = focused || (f->marks[stack[i]] & FOCUSED) != 0;
    }
    return focused;
}

/* What is left of a sample's stack; false: nothing. */
static bool cut_stack(const struct filtering *f, struct cairn_pprof_sample *sample)
{
    uint32_t *stack = f->pprof->stacks.items + sample->first;
    uint32_t left = 0;

    if (!is_kept(f, stack, sample->depth))
        return false;
    for (uint32_t i = 0; i < sample->depth; i++)
        if (!(f->marks[stack[i]] & HIDDEN))
            stack[left++] = stack[i];
    if (is_given(f->filters->show_from))
        while (left > 0 && !(f->marks[stack[left - 1]] & TOP))
            left--;
    sample->depth = left;
    if (left == 0)
        return false;
    if (is_given(f->filters->prune_from)) {
        uint32_t leaf = 0;

        while (leaf < left && !(f->marks[stack[leaf]] & BOTTOM))
            leaf++;
        if (leaf < left) {
            sample->first += leaf;
            sample->depth -= leaf;
        }
    }
    return true;
}

struct tag_filter {
    const char *key; /* behind it: how long; 0: any label */
    size_t key_bytes;
    struct cairn_pyregex *regexes[WORDS_MAX];
    size_t count;
};

static void free_tags(struct tag_filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        cairn_pyregex_free(filter->regexes[i]);
    filter->count = 0;
}

static bool is_range(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789:")] == '\0';
}

static int make_tags(struct filtering *f, const char *name, const char *text,
                     struct tag_filter *filter)
{
    const char *equals = strchr(text, '=');
    int code = 0;

    *filter = (struct tag_filter){.key = text};
    if (equals != NULL) {
        filter->key_bytes = (size_t)(equals - text);
        text = equals + 1;
    }
    if (is_range(text)) {
        cairn_err_set(f->err, -CAIRN_EUSAGE, 0, "pprof", "-%s: '%.100s' is a range of numbers",
                      name, text);
        cairn_err_add(f->err, "Cairn compares labels that are words: thread, process, state.");
        return -CAIRN_EUSAGE;
    }
    while (code == 0 && filter->count < WORDS_MAX) {
        size_t size_bytes = strcspn(text, ",");

        code = make_regex(f, name, (struct cairn_span){(const uint8_t *)text, size_bytes},
                          &filter->regexes[filter->count]);
        if (code < 0)
            break;
        filter->count++;
        if (text[size_bytes] == '\0')
            break;
        text += size_bytes + 1;
    }
    if (code < 0)
        free_tags(filter);
    return code;
}

/* Whether a label of the sample holds the pattern; without a key it is looked for in "key:value".
 */
static int search_labels(const struct filtering *f, const struct tag_filter *filter,
                         const struct cairn_pyregex *regex, const struct cairn_pprof_labels *labels,
                         bool *ret_found)
{
    const struct {
        const char *key;
        uint32_t text;
    } words[] = {
        {"thread", labels->thread}, {"process", labels->process}, {"state", labels->state}};
    struct cairn_buf both;
    int code = 0;

    *ret_found = false;
    cairn_buf_init(&both, TEXT_MAX_BYTES);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && code == 0 && !*ret_found; i++) {
        struct cairn_span text = cairn_intern_get(&f->pprof->texts, words[i].text);

        if (words[i].text == 0)
            continue;
        if (filter->key_bytes == 0) {
            cairn_buf_clear(&both);
            cairn_buf_printf(&both, "%s:", words[i].key);
            cairn_buf_add(&both, text.data, text.size_bytes);
            text = cairn_buf_span(&both);
        } else if (filter->key_bytes != strlen(words[i].key) ||
                   memcmp(filter->key, words[i].key, filter->key_bytes) != 0) {
            continue;
        }
        code = cairn_pyregex_search(regex, text, ret_found);
    }
    cairn_buf_release(&both);
    return code;
}

/* With a key one of the patterns is enough, else each must be found. */
static int match_tags(const struct filtering *f, const struct tag_filter *filter,
                      const struct cairn_pprof_labels *labels, bool *ret_matches)
{
    bool all = true, any = false;

    for (size_t i = 0; i < filter->count; i++) {
        bool found;

        CAIRN_TRY(search_labels(f, filter, filter->regexes[i], labels, &found));
        all = all && found;
        any = any || found;
    }
    *ret_matches = filter->key_bytes > 0 ? any : all;
    return 0;
}

static int filter_tags(struct filtering *f, const char *name, const char *text, bool wanted,
                       unsigned idle)
{
    struct tag_filter filter;
    size_t left = 0;
    bool met = false;
    int code = 0;

    if (!is_given(text))
        return 0;
    CAIRN_TRY(make_tags(f, name, text, &filter));
    for (size_t i = 0; i < f->pprof->samples.count && code == 0; i++) {
        struct cairn_pprof_sample *samples = f->pprof->samples.items;
        bool matches = false;

        code = match_tags(f, &filter, &samples[i].labels, &matches);
        met = met || matches;
        if (matches == wanted)
            samples[left++] = samples[i];
    }
    f->pprof->samples.count = left;
    if (!met)
        f->idle |= idle;
    free_tags(&filter);
    return code < 0 ? cairn_err_set(f->err, code, 0, "pprof", "-%s", name) : 0;
}

int cairn_pprof_filter(struct cairn_pprof *pprof, const struct cairn_pprof_filters *filters,
                       unsigned *ret_idle, struct cairn_err *err)
{
    struct filtering f = {.pprof = pprof, .filters = filters, .err = err};
    size_t left = 0;
    int code;

    f.marks = cairn_calloc(pprof->frames.count + 1, 1);
    if (f.marks == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "pprof", "the filters");
    code = mark_all(&f);
    for (size_t i = 0; i < pprof->samples.count && code == 0; i++) {
        pprof->samples.items[left] = pprof->samples.items[i];
        if (cut_stack(&f, &pprof->samples.items[left]))
            left++;
    }
    free(f.marks);
    CAIRN_TRY(code);
    pprof->samples.count = left;
    CAIRN_TRY(filter_tags(&f, "tagfocus", filters->tag_focus, true, CAIRN_PPROF_IDLE_TAG_FOCUS));
    CAIRN_TRY(
        filter_tags(&f, "tagignore", filters->tag_ignore, false, CAIRN_PPROF_IDLE_TAG_IGNORE));
    *ret_idle = f.idle;
    return 0;
}
