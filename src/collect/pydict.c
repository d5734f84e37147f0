#include "pydict.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "err.h"
#include "pystr.h"

#define KEYS_GENERAL 0
#define LOG2_INDEX_MAX 24
#define KEYS_AT_ONCE 256

static uint64_t u64_at(const uint8_t *data, size_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

void cairn_pydict_release(struct cairn_pydict *dict)
{
    cairn_vec_release(&dict->entries);
}

struct keys {
    uint64_t entries; /* address */
    size_t count, entry_bytes, key_place;
};

/* Until 3.10 the number of slots stands there, and each entry is {hash, key, value}. */
static int read_old_keys(const struct cairn_pysource *src, uint64_t address, struct keys *ret)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint8_t head[CAIRN_PYLAYOUT_OBJECT_BYTES];
    uint64_t count, slots, index_bytes = 1;

    CAIRN_TRY(cairn_remote_get(src->remote, address, head, l->keys_size));
    count = u64_at(head, l->keys_entry_count);
    slots = u64_at(head, l->keys_slots);
    if (count > CAIRN_PYDICT_ENTRIES_MAX || slots > UINT64_C(1) << LOG2_INDEX_MAX)
        return -CAIRN_EDAMAGED;
    if (slots > UINT8_MAX)
        index_bytes = slots > UINT16_MAX ? 4 : 2;
    *ret = (struct keys){address + l->keys_indices + slots * index_bytes, (size_t)count, 24, 8};
    return 0;
}

static int read_keys(const struct cairn_pysource *src, uint64_t address, struct keys *ret)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint8_t head[CAIRN_PYLAYOUT_OBJECT_BYTES];
    uint64_t count;
    uint8_t log2_index;

    if (cairn_pylayout_has(l->keys_slots))
        return read_old_keys(src, address, ret);
    if (!cairn_pylayout_has(l->keys_indices) || !cairn_pylayout_has(l->keys_entry_count))
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(cairn_remote_get(src->remote, address, head, l->keys_size));
    count = u64_at(head, l->keys_entry_count);
    log2_index = head[l->keys_log2_index_bytes];
    if (count > CAIRN_PYDICT_ENTRIES_MAX || log2_index > LOG2_INDEX_MAX)
        return -CAIRN_EDAMAGED;
    ret->count = (size_t)count;
    ret->entries = address + l->keys_indices + (UINT64_C(1) << log2_index);
    /* An entry is {hash, key, value}, or {key, value} when all keys are strings. */
    ret->entry_bytes = head[l->keys_kind] == KEYS_GENERAL ? 24 : 16;
    ret->key_place = head[l->keys_kind] == KEYS_GENERAL ? 8 : 0;
    return 0;
}

/* `values`: where values stand apart, 0 when each stands in its entry. */
static int copy_entries(const struct cairn_pysource *src, const struct keys *keys, uint64_t values,
                        struct cairn_pydict *dict)
{
    size_t entries_bytes = keys->count * keys->entry_bytes, values_bytes = keys->count * 8;
    uint8_t *copy = cairn_malloc(entries_bytes + values_bytes + 1);
    int code = copy ? 0 : -CAIRN_ENOMEM;

    dict->entries.count = 0;
    if (code == 0 && keys->count)
        code = cairn_remote_get(src->remote, keys->entries, copy, entries_bytes);
    if (code == 0 && keys->count && values)
        code = cairn_remote_get(src->remote, values, copy + entries_bytes, values_bytes);
    if (code == 0)
        code = cairn_vec_reserve(&dict->entries, keys->count, CAIRN_PYDICT_ENTRIES_MAX);
    for (size_t i = 0; i < keys->count && code == 0; i++) {
        const uint8_t *entry = copy + i * keys->entry_bytes;
        struct cairn_pydict_entry found = {.key = u64_at(entry, keys->key_place),
                                           .value = u64_at(entry, keys->key_place + 8),
                                           .hash = keys->key_place ? u64_at(entry, 0) : 0};

        if (values)
            found.value = u64_at(copy + entries_bytes, i * 8);
        if (found.key && found.value)
            dict->entries.items[dict->entries.count++] = found;
    }
    free(copy);
    return code;
}

int cairn_pydict_read_split(const struct cairn_pysource *src, uint64_t keys, uint64_t values,
                            struct cairn_pydict *dict)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    struct keys found;

    CAIRN_TRY(read_keys(src, keys, &found));
    /* Until 3.10 they are a plain array. */
    if (!cairn_pylayout_has(l->keys_slots) && !cairn_pylayout_has(l->values_first))
        return -CAIRN_ENOTFOUND;
    if (cairn_pylayout_has(l->values_first))
        values += l->values_first;
    return copy_entries(src, &found, values, dict);
}

int cairn_pydict_read(const struct cairn_pysource *src, uint64_t address, struct cairn_pydict *dict)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint8_t object[CAIRN_PYLAYOUT_OBJECT_BYTES];
    uint64_t values;
    struct keys keys;

    if (!cairn_pylayout_has(l->dict_keys) || !cairn_pylayout_has(l->dict_values))
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(cairn_remote_get(src->remote, address, object, l->dict_size));
    values = u64_at(object, l->dict_values);
    if (values)
        return cairn_pydict_read_split(src, u64_at(object, l->dict_keys), values, dict);
    CAIRN_TRY(read_keys(src, u64_at(object, l->dict_keys), &keys));
    return copy_entries(src, &keys, 0, dict);
}

int cairn_pydict_seek(const struct cairn_pysource *src, const struct cairn_pydict *dict,
                      const char *name, const struct cairn_pydict_entry **ret_entry)
{
    struct cairn_pystr *strs = cairn_calloc(KEYS_AT_ONCE, sizeof(*strs));
    struct cairn_buf buf;
    int code = strs ? -CAIRN_ENOTFOUND : -CAIRN_ENOMEM;

    cairn_buf_init(&buf, (size_t)KEYS_AT_ONCE * 16 * CAIRN_PYSTR_MAX_BYTES);
    for (size_t start = 0; start < dict->entries.count && code == -CAIRN_ENOTFOUND;
         start += KEYS_AT_ONCE) {
        const struct cairn_pydict_entry *entries = dict->entries.items + start;
        size_t count = dict->entries.count - start;
        int got;

        if (count > KEYS_AT_ONCE)
            count = KEYS_AT_ONCE;
        for (size_t i = 0; i < count; i++)
            strs[i] = (struct cairn_pystr){.kind = CAIRN_PYSTR_STR, .address = entries[i].key};
        got = cairn_pystr_read(src->remote, &src->runtime->layout, src->runtime->table, strs, count,
                               &buf);
        if (got < 0)
            code = got;
        for (size_t i = 0; i < count && code == -CAIRN_ENOTFOUND; i++) {
            if (strs[i].ok && strs[i].text.size_bytes == strlen(name) &&
                memcmp(strs[i].text.data, name, strlen(name)) == 0) {
                *ret_entry = &entries[i];
                code = 0;
            }
        }
    }
    cairn_buf_release(&buf);
    free(strs);
    return code;
}

int cairn_pydict_find(const struct cairn_pysource *src, const struct cairn_pydict *dict,
                      const char *name, uint64_t *ret_value)
{
    const struct cairn_pydict_entry *entry;

    CAIRN_TRY(cairn_pydict_seek(src, dict, name, &entry));
    *ret_value = entry->value;
    return 0;
}
