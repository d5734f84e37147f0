#include "pynames.h"

#include <string.h>

#include "err.h"
#include "pyattributes.h"
#include "pystr.h"

#define DIGIT_BITS 30
#define DIGITS_MAX 2 /* more than an address has */

/* A non-negative integer object; there is room for two digits in the smallest one. */
static int get_int(const struct cairn_pysource *src, uint64_t address, uint64_t *ret)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint8_t object[CAIRN_PYLAYOUT_OBJECT_BYTES];
    size_t digits_place = l->long_digits - l->long_tag;
    size_t size_bytes = digits_place + DIGITS_MAX * sizeof(uint32_t);
    uint64_t count, value = 0;
    uint32_t digit;

    if (digits_place < sizeof(count) || size_bytes > sizeof(object))
        return -CAIRN_EUNSUPPORTED;
    CAIRN_TRY(cairn_remote_get(src->remote, address + l->long_tag, object, size_bytes));
    memcpy(&count, object, sizeof(count));
    if (src->runtime->table->minor >= 12)
        count >>= 3;
    if (count > DIGITS_MAX)
        return -CAIRN_EDAMAGED;
    while (count-- > 0) {
        memcpy(&digit, object + digits_place + count * sizeof(digit), sizeof(digit));
        value = value << DIGIT_BITS | digit;
    }
    *ret = value;
    return 0;
}

/* What `name` maps to, whose key was at `place` the last time. */
static int get_attribute(const struct cairn_pysource *src, const struct cairn_pydict *dict,
                         const char *name, uint64_t *place, uint64_t *ret_value)
{
    const struct cairn_pydict_entry *entry;

    for (size_t i = 0; i < dict->entries.count; i++)
        if (dict->entries.items[i].key == *place) {
            *ret_value = dict->entries.items[i].value;
            return 0;
        }
    CAIRN_TRY(cairn_pydict_seek(src, dict, name, &entry));
    *place = entry->key;
    *ret_value = entry->value;
    return 0;
}

static int find_active(const struct cairn_pysource *src, uint64_t interp, struct cairn_pydict *dict,
                       uint64_t *ret_active)
{
    CAIRN_TRY(cairn_pyattributes_of_module(src, interp, "threading", dict));
    return cairn_pydict_find(src, dict, "_active", ret_active);
}

static bool is_final(int code)
{
    return code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM;
}

/* One Thread object. */
static int tell_name(const struct cairn_pysource *src, uint64_t object, struct cairn_pydict *dict,
                     struct cairn_pynames_places *places, const struct cairn_pynames *names)
{
    struct cairn_pystr str = {.kind = CAIRN_PYSTR_STR};
    struct cairn_buf buf;
    uint64_t ident, number, native_id = 0;
    int code;

    CAIRN_TRY(cairn_pyattributes_of(src, object, dict));
    CAIRN_TRY(get_attribute(src, dict, "_name", &places->name, &str.address));
    CAIRN_TRY(get_attribute(src, dict, "_ident", &places->ident, &ident));
    CAIRN_TRY(get_int(src, ident, &number));
    code = get_attribute(src, dict, "_native_id", &places->native_id, &ident);
    if (code == 0)
        code = get_int(src, ident, &native_id);
    if (is_final(code)) /* else it is not known */
        return code;
    cairn_buf_init(&buf, 16 * CAIRN_PYSTR_MAX_BYTES);
    code = cairn_pystr_read(src->remote, &src->runtime->layout, src->runtime->table, &str, 1, &buf);
    if (code == 0 && !str.ok)
        code = -CAIRN_ENOTFOUND;
    if (code == 0)
        names->named(names->ctx, number, native_id, str.text);
    cairn_buf_release(&buf);
    return code;
}

int cairn_pynames_read(const struct cairn_pysource *src, uint64_t interp,
                       struct cairn_pynames_places *places, const struct cairn_pynames *names)
{
    struct cairn_pydict threads = {0}, scratch = {0};
    int code = 0, count = 0, others = 0;

    if (!places->active)
        code = find_active(src, interp, &scratch, &places->active);
    if (code == 0)
        code = cairn_pydict_read(src, places->active, &threads);
    for (size_t i = 0; i < threads.entries.count && code == 0; i++) {
        const struct cairn_pydict_entry *entry = &threads.entries.items[i];
        int one;

        /* Its key is an integer, whose hash is itself. */
        if (names->wants && !names->wants(names->ctx, entry->hash)) {
            others++;
            continue;
        }
        one = tell_name(src, entry->value, &scratch, places, names);
        if (is_final(one))
            code = one;
        count += one == 0;
    }
    if (!count && !others)
        places->active = 0; /* replaced, perhaps: look again next time */
    cairn_pydict_release(&threads);
    cairn_pydict_release(&scratch);
    return is_final(code) ? code : count;
}

bool cairn_pynames_are_nowhere(const struct cairn_pysource *src, uint64_t interp)
{
    struct cairn_pydict scratch = {0};
    bool nowhere =
        cairn_pyattributes_of_module(src, interp, "sys", &scratch) == 0 &&
        cairn_pyattributes_of_module(src, interp, "threading", &scratch) == -CAIRN_ENOTFOUND;

    cairn_pydict_release(&scratch);
    return nowhere;
}
