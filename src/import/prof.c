#include "prof.h"

#include <stdlib.h>

/* Far above what programs have, and low enough for half a gigabyte to hold a table. */
#define STRINGS_MAX_BYTES ((size_t)128 << 20)
#define KEYS_MAX ((size_t)1 << 20)
#define CALLERS_MAX ((size_t)1 << 21)

int cairn_prof_init(struct cairn_prof *prof)
{
    *prof = (struct cairn_prof){0};
    cairn_map_init(&prof->key_ids, KEYS_MAX);
    cairn_map_init(&prof->row_of, KEYS_MAX);
    cairn_map_init(&prof->caller_of, CALLERS_MAX);
    return cairn_intern_init(&prof->strings, STRINGS_MAX_BYTES);
}

void cairn_prof_release(struct cairn_prof *prof)
{
    cairn_intern_release(&prof->strings);
    cairn_map_release(&prof->key_ids);
    cairn_map_release(&prof->row_of);
    cairn_map_release(&prof->caller_of);
    cairn_vec_release(&prof->keys);
    cairn_vec_release(&prof->rows);
    cairn_vec_release(&prof->callers);
}

int cairn_prof_key(struct cairn_prof *prof, struct cairn_span file, int64_t line,
                   struct cairn_span name, uint32_t *ret_key)
{
    struct cairn_prof_key key = {.line = line};
    uint64_t texts, id = prof->keys.count;

    CAIRN_TRY(cairn_intern_add(&prof->strings, file, &key.file));
    CAIRN_TRY(cairn_intern_add(&prof->strings, name, &key.name));
    texts = (uint64_t)key.file << 32 | key.name;
    if (!cairn_map_get(&prof->key_ids, texts, (uint64_t)line, &id)) {
        CAIRN_TRY(cairn_vec_reserve(&prof->keys, prof->keys.count + 1, KEYS_MAX));
        CAIRN_TRY(cairn_map_put(&prof->key_ids, texts, (uint64_t)line, id));
        prof->keys.items[prof->keys.count++] = key;
    }
    *ret_key = (uint32_t)id;
    return 0;
}

bool cairn_prof_find(const struct cairn_prof *prof, uint32_t key, uint32_t *ret_row)
{
    uint64_t row;

    if (!cairn_map_get(&prof->row_of, key, 0, &row))
        return false;
    *ret_row = (uint32_t)row;
    return true;
}

int cairn_prof_put(struct cairn_prof *prof, uint32_t key, const struct cairn_prof_numbers *numbers,
                   uint32_t *ret_row)
{
    uint32_t row;

    if (cairn_prof_find(prof, key, &row))
        return -CAIRN_EDAMAGED;
    row = (uint32_t)prof->rows.count;
    CAIRN_TRY(cairn_vec_reserve(&prof->rows, prof->rows.count + 1, KEYS_MAX));
    CAIRN_TRY(cairn_map_put(&prof->row_of, key, 0, row));
    prof->rows.items[prof->rows.count++] =
        (struct cairn_prof_row){key, CAIRN_PROF_NONE, CAIRN_PROF_NONE, *numbers};
    *ret_row = row;
    return 0;
}

int cairn_prof_put_caller(struct cairn_prof *prof, uint32_t row, uint32_t key,
                          const struct cairn_prof_numbers *numbers)
{
    uint32_t caller = (uint32_t)prof->callers.count, *last = &prof->rows.items[row].last;
    uint64_t there;

    if (cairn_map_get(&prof->caller_of, row, key, &there))
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_vec_reserve(&prof->callers, prof->callers.count + 1, CALLERS_MAX));
    CAIRN_TRY(cairn_map_put(&prof->caller_of, row, key, caller));
    prof->callers.items[prof->callers.count++] =
        (struct cairn_prof_caller){key, CAIRN_PROF_NONE, *numbers};
    if (*last == CAIRN_PROF_NONE)
        prof->rows.items[row].first = caller;
    else
        prof->callers.items[*last].next = caller;
    *last = caller;
    return 0;
}

static int add_numbers(struct cairn_prof_numbers *sum, const struct cairn_prof_numbers *more)
{
    struct cairn_prof_numbers numbers = *sum;

    if (sum->plain != more->plain)
        return -CAIRN_EUSAGE;
    if (__builtin_add_overflow(sum->calls, more->calls, &numbers.calls) ||
        __builtin_add_overflow(sum->primitive, more->primitive, &numbers.primitive))
        return -CAIRN_ELIMIT;
    numbers.self_s += more->self_s;
    numbers.total_s += more->total_s;
    numbers.unsure |= more->unsure;
    *sum = numbers;
    return 0;
}

/* Formats without a word for it show what nobody counted like what never happened. */
void cairn_prof_put_unsure(const struct cairn_prof *prof, struct cairn_buf *out)
{
    size_t recursing = 0, uncounted = 0;

    for (size_t i = 0; i < prof->rows.count; i++) {
        const struct cairn_prof_numbers *numbers = &prof->rows.items[i].numbers;

        recursing += numbers->unsure && numbers->calls > 0;
        uncounted += numbers->unsure && numbers->calls == 0;
    }
    if (recursing > 0)
        cairn_buf_printf(out,
                         "which calls of %zu function%s recursed: the file that was read does not "
                         "tell, and they stand as if none did",
                         recursing, recursing == 1 ? "" : "s");
    if (uncounted > 0)
        cairn_buf_printf(out,
                         "%show often %zu function%s called: the file that was read does not "
                         "tell, and 0 stands for it",
                         recursing > 0 ? "; nor " : "", uncounted,
                         uncounted == 1 ? " was" : "s were");
}

int cairn_prof_add(struct cairn_prof *prof, uint32_t key, const struct cairn_prof_numbers *numbers,
                   uint32_t *ret_row)
{
    if (!cairn_prof_find(prof, key, ret_row))
        return cairn_prof_put(prof, key, numbers, ret_row);
    return add_numbers(&prof->rows.items[*ret_row].numbers, numbers);
}

int cairn_prof_add_caller(struct cairn_prof *prof, uint32_t row, uint32_t key,
                          const struct cairn_prof_numbers *numbers)
{
    uint64_t caller;

    if (!cairn_map_get(&prof->caller_of, row, key, &caller))
        return cairn_prof_put_caller(prof, row, key, numbers);
    return add_numbers(&prof->callers.items[caller].numbers, numbers);
}

/* The key of another table in this one. */
static int copy_key(struct cairn_prof *prof, const struct cairn_prof *from, uint32_t key,
                    uint32_t *ret_key)
{
    return cairn_prof_key(prof, cairn_prof_file(from, key), from->keys.items[key].line,
                          cairn_prof_name(from, key), ret_key);
}

int cairn_prof_merge(struct cairn_prof *prof, const struct cairn_prof *more)
{
    for (size_t i = 0; i < more->rows.count; i++) {
        const struct cairn_prof_row *from = &more->rows.items[i];
        uint32_t key, row;

        CAIRN_TRY(copy_key(prof, more, from->key, &key));
        CAIRN_TRY(cairn_prof_add(prof, key, &from->numbers, &row));
        for (uint32_t c = from->first; c != CAIRN_PROF_NONE; c = more->callers.items[c].next) {
            const struct cairn_prof_caller *caller = &more->callers.items[c];

            CAIRN_TRY(copy_key(prof, more, caller->key, &key));
            CAIRN_TRY(cairn_prof_add_caller(prof, row, key, &caller->numbers));
        }
    }
    return 0;
}

struct cairn_span cairn_prof_file(const struct cairn_prof *prof, uint32_t key)
{
    return cairn_intern_get(&prof->strings, prof->keys.items[key].file);
}

struct cairn_span cairn_prof_name(const struct cairn_prof *prof, uint32_t key)
{
    return cairn_intern_get(&prof->strings, prof->keys.items[key].name);
}

int cairn_prof_compare(const struct cairn_prof *prof, uint32_t key_a, uint32_t key_b)
{
    int64_t line_a = prof->keys.items[key_a].line, line_b = prof->keys.items[key_b].line;
    int order = cairn_span_compare(cairn_prof_file(prof, key_a), cairn_prof_file(prof, key_b));

    if (order == 0)
        order = (line_a > line_b) - (line_a < line_b);
    return order ? order
                 : cairn_span_compare(cairn_prof_name(prof, key_a), cairn_prof_name(prof, key_b));
}
