#include "pstats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX_BYTES ((size_t)256 << 20)
#define HEAD_MAX_BYTES ((size_t)1 << 20)
#define ROWS_MAX ((size_t)1 << 22)

struct cairn_span cairn_pstats_name(const struct cairn_pstats *stats, uint32_t key)
{
    const struct cairn_pstats_name *name = &stats->name_of.items[key];

    return (struct cairn_span){stats->names.data + name->start, name->size_bytes};
}

size_t cairn_pstats_width(struct cairn_span name)
{
    size_t width = 0;

    for (size_t i = 0; i < name.size_bytes; i++)
        width += (name.data[i] & 0xc0) != 0x80; /* bytes that begin a character */
    return width;
}

/* What has no line in a file is shown by its name alone, in braces instead of angle brackets. */
static void put_name(struct cairn_buf *out, const struct cairn_prof *prof, uint32_t key)
{
    struct cairn_span file = cairn_prof_file(prof, key), name = cairn_prof_name(prof, key);
    int64_t line = prof->keys.items[key].line;

    if (line != 0 || file.size_bytes != 1 || file.data[0] != '~') {
        cairn_buf_add(out, file.data, file.size_bytes);
        cairn_buf_printf(out, ":%" PRId64 "(", line);
        cairn_buf_add(out, name.data, name.size_bytes);
        cairn_buf_u8(out, ')');
    } else if (name.size_bytes > 0 && name.data[0] == '<' &&
               name.data[name.size_bytes - 1] == '>') {
        cairn_buf_u8(out, '{');
        if (name.size_bytes > 2)
            cairn_buf_add(out, name.data + 1, name.size_bytes - 2);
        cairn_buf_u8(out, '}');
    } else {
        cairn_buf_add(out, name.data, name.size_bytes);
    }
}

/* Names of the keys that have none yet. */
static int make_names(struct cairn_pstats *stats)
{
    size_t count = stats->prof.keys.count;

    CAIRN_TRY(cairn_vec_reserve(&stats->name_of, count, ROWS_MAX));
    while (stats->name_of.count < count) {
        struct cairn_pstats_name *name = &stats->name_of.items[stats->name_of.count];

        name->start = stats->names.size_bytes;
        put_name(&stats->names, &stats->prof, (uint32_t)stats->name_of.count);
        CAIRN_TRY(stats->names.code);
        name->size_bytes = stats->names.size_bytes - name->start;
        stats->name_of.count++;
    }
    return 0;
}

static size_t widest(const struct cairn_pstats *stats)
{
    size_t width = 0;

    for (size_t i = 0; i < stats->prof.rows.count; i++) {
        size_t own = cairn_pstats_width(cairn_pstats_name(stats, stats->prof.rows.items[i].key));

        width = own > width ? own : width;
    }
    return width;
}

static int add_sums(struct cairn_pstats *stats, int64_t calls, int64_t primitive, double total_s)
{
    if (__builtin_add_overflow(stats->calls, calls, &stats->calls) ||
        __builtin_add_overflow(stats->primitive, primitive, &stats->primitive))
        return -CAIRN_ELIMIT;
    stats->total_s += total_s;
    return 0;
}

int cairn_pstats_init(struct cairn_pstats *stats, struct cairn_prof *prof, const char *head)
{
    *stats = (struct cairn_pstats){.prof = *prof};
    *prof = (struct cairn_prof){0};
    cairn_buf_init(&stats->head, HEAD_MAX_BYTES);
    cairn_buf_init(&stats->names, NAMES_MAX_BYTES);
    cairn_buf_init(&stats->sorted_by, HEAD_MAX_BYTES);
    if (head[0] != '\0')
        cairn_buf_printf(&stats->head, "%s\n", head);
    CAIRN_TRY(stats->head.code);
    CAIRN_TRY(make_names(stats));
    stats->name_width = widest(stats);
    for (size_t i = 0; i < stats->prof.rows.count; i++) {
        const struct cairn_prof_numbers *numbers = &stats->prof.rows.items[i].numbers;

        CAIRN_TRY(add_sums(stats, numbers->calls, numbers->primitive, numbers->self_s));
        stats->unsure |= numbers->unsure && numbers->calls > 0;
    }
    return 0;
}

void cairn_pstats_release(struct cairn_pstats *stats)
{
    cairn_prof_release(&stats->prof);
    cairn_buf_release(&stats->head);
    cairn_buf_release(&stats->names);
    cairn_buf_release(&stats->sorted_by);
    cairn_vec_release(&stats->name_of);
    cairn_vec_release(&stats->order);
    cairn_vec_release(&stats->callees);
    *stats = (struct cairn_pstats){0};
}

int cairn_pstats_add(struct cairn_pstats *stats, const struct cairn_pstats *more)
{
    CAIRN_TRY(cairn_buf_add(&stats->head, more->head.data, more->head.size_bytes));
    CAIRN_TRY(add_sums(stats, more->calls, more->primitive, more->total_s));
    stats->unsure |= more->unsure;
    if (stats->name_width < more->name_width)
        stats->name_width = more->name_width;
    stats->sorted = false;
    CAIRN_TRY(cairn_prof_merge(&stats->prof, &more->prof));
    return make_names(stats);
}

/* The function with the last part of its file's name, in another table. */
static int strip_key(struct cairn_prof *stripped, const struct cairn_prof *prof, uint32_t key,
                     uint32_t *ret_key)
{
    struct cairn_span file = cairn_prof_file(prof, key);
    const uint8_t *slash = file.size_bytes ? memrchr(file.data, '/', file.size_bytes) : NULL;

    if (slash != NULL)
        file = (struct cairn_span){slash + 1, file.size_bytes - (size_t)(slash + 1 - file.data)};
    return cairn_prof_key(stripped, file, prof->keys.items[key].line, cairn_prof_name(prof, key),
                          ret_key);
}

/* Adds the row's callers. Of those that have become one, the last one counts, at the place of the
 * first one: `last_of` has the key's last caller for each row. */
static int strip_callers(struct cairn_prof *stripped, const struct cairn_prof *prof,
                         uint32_t from_row, uint32_t to_row, struct cairn_map *last_of)
{
    const struct cairn_prof_caller *callers = prof->callers.items;
    uint32_t first = prof->rows.items[from_row].first, key;

    for (uint32_t i = first; i != CAIRN_PROF_NONE; i = callers[i].next) {
        CAIRN_TRY(strip_key(stripped, prof, callers[i].key, &key));
        CAIRN_TRY(cairn_map_put(last_of, from_row, key, i));
    }
    for (uint32_t i = first; i != CAIRN_PROF_NONE; i = callers[i].next) {
        uint64_t last;

        CAIRN_TRY(strip_key(stripped, prof, callers[i].key, &key));
        /* Removed with the first one, so that the others find nothing. */
        if (!cairn_map_get(last_of, from_row, key, &last))
            continue;
        cairn_map_remove(last_of, from_row, key);
        CAIRN_TRY(cairn_prof_add_caller(stripped, to_row, key, &callers[last].numbers));
    }
    return 0;
}

static int strip_rows(struct cairn_prof *stripped, const struct cairn_prof *prof)
{
    struct cairn_map last_of;
    int code = 0;

    cairn_map_init(&last_of, ROWS_MAX);
    for (size_t i = 0; i < prof->rows.count && code == 0; i++) {
        uint32_t key, row;

        code = strip_key(stripped, prof, prof->rows.items[i].key, &key);
        if (code == 0)
            code = cairn_prof_add(stripped, key, &prof->rows.items[i].numbers, &row);
        if (code == 0)
            code = strip_callers(stripped, prof, (uint32_t)i, row, &last_of);
    }
    cairn_map_release(&last_of);
    return code;
}

int cairn_pstats_strip(struct cairn_pstats *stats)
{
    struct cairn_prof stripped;
    int code = cairn_prof_init(&stripped);

    if (code == 0)
        code = strip_rows(&stripped, &stats->prof);
    if (code < 0) {
        cairn_prof_release(&stripped);
        return code;
    }
    stripped.sampled = stats->prof.sampled;
    cairn_prof_release(&stats->prof);
    stats->prof = stripped;
    cairn_buf_clear(&stats->names);
    stats->name_of.count = stats->callees.count = 0;
    stats->sorted = stats->callees_known = false;
    CAIRN_TRY(make_names(stats));
    stats->name_width = widest(stats);
    return 0;
}

static int compare_callees(const void *a, const void *b, void *ctx)
{
    const struct cairn_pstats_callee *left = a, *right = b;

    if (left->caller != right->caller)
        return left->caller < right->caller ? -1 : 1;
    return cairn_prof_compare(ctx, left->callee, right->callee);
}

int cairn_pstats_find_callees(struct cairn_pstats *stats)
{
    const struct cairn_prof *prof = &stats->prof;

    if (stats->callees_known)
        return 0;
    stats->callees.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&stats->callees, prof->callers.count, ROWS_MAX));
    for (size_t i = 0; i < prof->rows.count; i++) {
        const struct cairn_prof_row *row = &prof->rows.items[i];

        for (uint32_t c = row->first; c != CAIRN_PROF_NONE; c = prof->callers.items[c].next)
            stats->callees.items[stats->callees.count++] = (struct cairn_pstats_callee){
                prof->callers.items[c].key, row->key, prof->callers.items[c].numbers};
    }
    if (stats->callees.count > 0)
        qsort_r(stats->callees.items, stats->callees.count, sizeof(*stats->callees.items),
                compare_callees, (void *)(uintptr_t)prof);
    stats->callees_known = true;
    return 0;
}

size_t cairn_pstats_callees(const struct cairn_pstats *stats, uint32_t key,
                            const struct cairn_pstats_callee **ret_callees)
{
    size_t low = 0, high = stats->callees.count, count = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (stats->callees.items[middle].caller < key)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_callees = stats->callees.items + low;
    while (low + count < stats->callees.count && stats->callees.items[low + count].caller == key)
        count++;
    return count;
}
