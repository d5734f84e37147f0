/* What the labels of samples are, and how much each has (pprof_text.h); and the comments. */
#include <stdlib.h>

#include "escape.h"
#include "pprof_labels.h"
#include "pprof_units.h"
#include "text.h"

#define VALUES_MAX ((size_t)1 << 24)
#define TEXT_MAX_BYTES ((size_t)1 << 28)

struct tag {
    uint32_t key, text; /* of `texts` */
    int64_t value;
    const struct cairn_intern *texts;
};

struct tags {
    struct cairn_pprof_report *report;
    struct cairn_intern texts; /* keys and values, as they are shown */
    struct cairn_map tag_of;
    CAIRN_VEC(struct tag) tags;
};

static int add(struct tags *t, const char *key, struct cairn_span value, int64_t amount)
{
    struct tag tag = {.texts = &t->texts};
    uint64_t found;

    CAIRN_TRY(cairn_intern_str(&t->texts, key, &tag.key));
    CAIRN_TRY(cairn_intern_add(&t->texts, value, &tag.text));
    if (!cairn_map_get(&t->tag_of, tag.key, tag.text, &found)) {
        found = t->tags.count;
        CAIRN_TRY(cairn_vec_reserve(&t->tags, t->tags.count + 1, VALUES_MAX));
        CAIRN_TRY(cairn_map_put(&t->tag_of, tag.key, tag.text, found));
        t->tags.items[t->tags.count++] = tag;
    }
    t->tags.items[found].value += amount;
    return 0;
}

static int add_sample(struct tags *t, const struct cairn_pprof_showing *showing,
                      const struct cairn_pprof_sample *sample)
{
    struct cairn_pprof_label labels[CAIRN_PPROF_LABELS];
    struct cairn_pprof_report *report = t->report;
    size_t texts,
        count = cairn_pprof_labels_of(report->pprof, showing, &sample->labels, labels, &texts);
    int64_t value = sample->value;

    if (report->look->graph.mean && sample->count != 0)
        value /= sample->count;
    for (size_t i = 0; i < count; i++) {
        struct cairn_buf number;
        int code;

        if (i < texts) {
            CAIRN_TRY(add(t, labels[i].key, labels[i].text, value));
            continue;
        }
        cairn_buf_init(&number, TEXT_MAX_BYTES);
        /* A number without a unit is so many of what it is called. */
        cairn_pprof_label(&number, (int64_t)labels[i].number, labels[i].key, report->look->unit);
        code =
            number.code < 0 ? number.code : add(t, labels[i].key, cairn_buf_span(&number), value);
        cairn_buf_release(&number);
        CAIRN_TRY(code);
    }
    return 0;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static int compare_texts(const struct tag *a, uint32_t left, uint32_t right)
{
    return cairn_span_compare(cairn_intern_get(a->texts, left), cairn_intern_get(a->texts, right));
}

/* By key; what has more first. */
static int in_order(const void *left, const void *right)
{
    const struct tag *a = left, *b = right;
    int64_t more = magnitude(a->value), less = magnitude(b->value);

    if (a->key != b->key)
        return compare_texts(a, a->key, b->key);
    if (more != less)
        return more > less ? -1 : 1;
    return compare_texts(a, a->text, b->text);
}

/* "1.12s (91.07%):", or without a share where there is no whole. */
static void add_amount(struct tags *t, int64_t value, struct cairn_buf *out)
{
    cairn_pprof_value(t->report, out, value, 0);
    if (t->report->pprof->total > 0) {
        cairn_buf_add_str(out, " (");
        cairn_pprof_share(out, value, t->report->pprof->total);
        cairn_buf_u8(out, ')');
    }
    cairn_buf_u8(out, ':');
}

/* How many columns it takes: what is no ASCII there is one of two bytes at most, the micro. */
static size_t columns(struct cairn_span text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.size_bytes; i++)
        count += (text.data[i] & 0xc0) != 0x80;
    return count;
}

static void add_padded(struct cairn_buf *out, struct cairn_span text, size_t width)
{
    cairn_buf_printf(out, "%*s", (int)(width - columns(text)), "");
    cairn_buf_add(out, text.data, text.size_bytes);
}

/* The tags of one key: columns at the right, as wide as what is widest. */
static int put_key(struct tags *t, const struct tag *tags, size_t count)
{
    struct cairn_span key = cairn_intern_get(&t->texts, tags[0].key);
    struct cairn_buf *out = &t->report->out->buf, amount;
    size_t width = 0;
    int64_t sum = 0;

    cairn_buf_init(&amount, TEXT_MAX_BYTES);
    for (size_t i = 0; i < count; i++) {
        cairn_buf_clear(&amount);
        add_amount(t, tags[i].value, &amount);
        if (columns(cairn_buf_span(&amount)) > width)
            width = columns(cairn_buf_span(&amount));
        sum += tags[i].value;
    }
    cairn_buf_u8(out, ' ');
    cairn_escape_terminal(out, key);
    cairn_buf_add_str(out, ": Total ");
    cairn_pprof_value(t->report, out, sum, 0);
    cairn_buf_add_str(out, " of ");
    cairn_pprof_value(t->report, out, t->report->pprof->total, 0);
    if (t->report->pprof->total > 0) {
        cairn_buf_add_str(out, " (");
        cairn_pprof_share(out, sum, t->report->pprof->total);
        cairn_buf_u8(out, ')');
    }
    cairn_buf_u8(out, '\n');
    for (size_t i = 0; i < count; i++) {
        cairn_buf_clear(&amount);
        add_amount(t, tags[i].value, &amount);
        cairn_buf_printf(out, "%*s ", (int)(key.size_bytes + 2), "");
        add_padded(out, cairn_buf_span(&amount), width);
        cairn_buf_u8(out, ' ');
        cairn_escape_terminal(out, cairn_intern_get(&t->texts, tags[i].text));
        cairn_buf_u8(out, '\n');
    }
    cairn_buf_u8(out, '\n');
    cairn_buf_release(&amount);
    return cairn_outlet_drain(t->report->out);
}

static int put_all(struct tags *t)
{
    struct cairn_pprof_showing showing;
    const struct cairn_pprof_samples *samples = &t->report->pprof->samples;

    CAIRN_TRY(cairn_pprof_showing_make(t->report, &showing));
    for (size_t i = 0; i < samples->count; i++)
        if (samples->items[i].any)
            CAIRN_TRY(add_sample(t, &showing, &samples->items[i]));
    if (t->tags.count > 0)
        qsort(t->tags.items, t->tags.count, sizeof(*t->tags.items), in_order);
    for (size_t from = 0, until; from < t->tags.count; from = until) {
        for (until = from; until < t->tags.count; until++)
            if (t->tags.items[until].key != t->tags.items[from].key)
                break;
        CAIRN_TRY(put_key(t, t->tags.items + from, until - from));
    }
    return 0;
}

int cairn_pprof_tags(struct cairn_pprof_report *report)
{
    struct tags tags = {.report = report};
    int code;

    report->unit = report->look->unit; /* each value in what suits it */
    code = cairn_intern_init(&tags.texts, TEXT_MAX_BYTES);
    cairn_map_init(&tags.tag_of, VALUES_MAX);
    if (code == 0)
        code = put_all(&tags);
    cairn_map_release(&tags.tag_of);
    cairn_vec_release(&tags.tags);
    cairn_intern_release(&tags.texts);
    return code;
}

/* Escaped one by one: a line end is between two of them. */
static void add_lines(struct cairn_buf *out, bool heading, const char *head, struct cairn_span text)
{
    struct cairn_span line;

    while (cairn_text_line(&text, &line)) {
        if (heading && line.size_bytes > 0 && line.data[0] == '#')
            continue;
        cairn_buf_add_str(out, head);
        cairn_escape_terminal(out, line);
        cairn_buf_u8(out, '\n');
    }
}

void cairn_pprof_add_comments(struct cairn_pprof_report *report, bool heading, const char *head,
                              struct cairn_buf *out)
{
    const struct cairn_pprof *pprof = report->pprof;

    add_lines(out, heading, head, cairn_intern_get(&pprof->texts, pprof->comments));
    add_lines(out, heading, head, cairn_span_of(report->look->comment));
    report->commented = true;
}

int cairn_pprof_comments(struct cairn_pprof_report *report)
{
    cairn_pprof_add_comments(report, false, "", &report->out->buf);
    return 0;
}
