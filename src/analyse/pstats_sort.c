/* The order of the rows (pstats.h). */
#include <stdlib.h>
#include <string.h>

#include "pstats.h"

#define FIELDS_MAX 3
#define ROWS_MAX ((size_t)1 << 22)

enum field { FIELD_END, CALLS, PRIMITIVE, SELF, TOTAL, FILE_NAME, LINE, NAME, STANDARD };

struct sort_key {
    const char *word, *text;
    uint8_t fields[FIELDS_MAX + 1]; /* counts and times: greatest first */
};

/* In Python's order: a prefix belongs to the first of them, unless the next one has it too. */
static const struct sort_key sort_keys[] = {
    {"calls", "call count", {CALLS}},
    {"ncalls", "call count", {CALLS}},
    {"cumtime", "cumulative time", {TOTAL}},
    {"cumulative", "cumulative time", {TOTAL}},
    {"filename", "file name", {FILE_NAME}},
    {"line", "line number", {LINE}},
    {"module", "file name", {FILE_NAME}},
    {"name", "function name", {NAME}},
    {"nfl", "name/file/line", {NAME, FILE_NAME, LINE}},
    {"pcalls", "primitive call count", {PRIMITIVE}},
    {"stdname", "standard name", {STANDARD}},
    {"time", "internal time", {SELF}},
    {"tottime", "internal time", {SELF}},
};
#define KEY_COUNT (sizeof(sort_keys) / sizeof(sort_keys[0]))

/* Beside them, for samples. */
static const struct sort_key sampled_keys[] = {
    {"samples", "sample count", {CALLS}},
    {"nsamples", "sample count", {CALLS}},
    {"psamples", "primitive call count", {PRIMITIVE}},
};

const char *cairn_pstats_sort_key(size_t index, const char **ret_text)
{
    if (index >= KEY_COUNT)
        return NULL;
    *ret_text = sort_keys[index].text;
    return sort_keys[index].word;
}

/* Python fills a table of all prefixes, word by word and from the whole word down, until it meets
 * one that is there: that one is struck out in the end, and the shorter ones stay with the word
 * that came first. */
static const struct sort_key *find_prefix(struct cairn_span prefix)
{
    const struct sort_key *found = NULL;
    bool struck = false;

    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t size_bytes = strlen(sort_keys[i].word), shared = 0;

        for (size_t j = 0; j < i; j++)
            for (size_t n = size_bytes; n > shared; n--)
                if (strncmp(sort_keys[i].word, sort_keys[j].word, n) == 0)
                    shared = n; /* the longest prefix that is there already */
        if (prefix.size_bytes > size_bytes || prefix.size_bytes < shared ||
            memcmp(prefix.data, sort_keys[i].word, prefix.size_bytes) != 0)
            continue;
        if (prefix.size_bytes == shared)
            struck = true;
        else
            found = &sort_keys[i];
    }
    return struck ? NULL : found;
}

static const struct sort_key *find_key(const struct cairn_pstats *stats, struct cairn_span word)
{
    for (size_t i = 0; stats->prof.sampled && i < sizeof(sampled_keys) / sizeof(*sampled_keys); i++)
        if (word.size_bytes == strlen(sampled_keys[i].word) &&
            memcmp(word.data, sampled_keys[i].word, word.size_bytes) == 0)
            return &sampled_keys[i];
    return word.size_bytes > 0 ? find_prefix(word) : NULL;
}

struct sorting {
    const struct cairn_pstats *stats;
    CAIRN_VEC(uint8_t) fields;
};

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_field(const struct cairn_pstats *stats, enum field field, uint32_t row_a,
                         uint32_t row_b)
{
    const struct cairn_prof *prof = &stats->prof;
    const struct cairn_prof_numbers *a = &prof->rows.items[row_a].numbers;
    const struct cairn_prof_numbers *b = &prof->rows.items[row_b].numbers;
    uint32_t key_a = prof->rows.items[row_a].key, key_b = prof->rows.items[row_b].key;

    switch (field) {
    case CALLS:
        return COMPARE(b->calls, a->calls);
    case PRIMITIVE:
        return COMPARE(b->primitive, a->primitive);
    case SELF:
        return COMPARE(b->self_s, a->self_s);
    case TOTAL:
        return COMPARE(b->total_s, a->total_s);
    case FILE_NAME:
        return cairn_span_compare(cairn_prof_file(prof, key_a), cairn_prof_file(prof, key_b));
    case LINE:
        return COMPARE(prof->keys.items[key_a].line, prof->keys.items[key_b].line);
    case NAME:
        return cairn_span_compare(cairn_prof_name(prof, key_a), cairn_prof_name(prof, key_b));
    case STANDARD:
        return cairn_span_compare(cairn_pstats_name(stats, key_a), cairn_pstats_name(stats, key_b));
    case FIELD_END:
        break;
    }
    return 0;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct sorting *sorting = ctx;
    uint32_t row_a = *(const uint32_t *)a, row_b = *(const uint32_t *)b;

    for (size_t i = 0; i < sorting->fields.count; i++) {
        int order = compare_field(sorting->stats, sorting->fields.items[i], row_a, row_b);

        if (order != 0)
            return order;
    }
    return COMPARE(row_a, row_b); /* stable */
}

/* What the keys sort by, and how that is called. */
static int gather(const struct cairn_pstats *stats, const struct cairn_span *keys, size_t count,
                  struct sorting *sorting, struct cairn_buf *text)
{
    for (size_t i = 0; i < count; i++) {
        const struct sort_key *key = find_key(stats, keys[i]);

        if (key == NULL)
            return -CAIRN_EUSAGE;
        CAIRN_TRY(cairn_vec_reserve(&sorting->fields, sorting->fields.count + FIELDS_MAX,
                                    count * FIELDS_MAX));
        for (const uint8_t *field = key->fields; *field != FIELD_END; field++)
            sorting->fields.items[sorting->fields.count++] = *field;
        cairn_buf_printf(text, "%s%s", i > 0 ? ", " : "", key->text);
    }
    return text->code;
}

int cairn_pstats_sort(struct cairn_pstats *stats, const struct cairn_span *keys, size_t count)
{
    size_t row_count = stats->prof.rows.count;
    struct sorting sorting = {.stats = stats};
    struct cairn_buf text;
    int code;

    cairn_buf_init(&text, stats->sorted_by.max_bytes);
    code = gather(stats, keys, count, &sorting, &text);
    if (code == 0)
        code = cairn_vec_reserve(&stats->order, row_count, ROWS_MAX);
    if (code == 0) {
        for (size_t i = 0; i < row_count; i++)
            stats->order.items[i] = (uint32_t)i;
        stats->order.count = row_count;
        if (row_count > 0)
            qsort_r(stats->order.items, row_count, sizeof(uint32_t), compare_rows, &sorting);
        cairn_buf_release(&stats->sorted_by);
        stats->sorted_by = text;
        stats->sorted = true;
    } else {
        cairn_buf_release(&text);
    }
    cairn_vec_release(&sorting.fields);
    return code;
}

void cairn_pstats_reverse(struct cairn_pstats *stats)
{
    size_t count = stats->sorted ? stats->order.count : 0;

    for (size_t i = 0; i < count / 2; i++) {
        uint32_t row = stats->order.items[i];

        stats->order.items[i] = stats->order.items[count - 1 - i];
        stats->order.items[count - 1 - i] = row;
    }
}
