#include "pyattributes.h"

#include "err.h"

/* How an instance keeps its attributes, by version; the same in every build of it. */
#define FLAG_INLINE_VALUES (UINT64_C(1) << 2)
#define FLAG_MANAGED_DICT (UINT64_C(1) << 4)
#define DICT_BEFORE_BYTES 24
#define VALUES_BEFORE_BYTES 32 /* 3.11 */
#define MODULE_DICT_BYTES 16   /* behind the head of a module object stands its dictionary */

static int get_u64(const struct cairn_pysource *src, uint64_t address, uint64_t *ret)
{
    return cairn_remote_get(src->remote, address, ret, sizeof(*ret));
}

/* Where an instance's attribute values stand when it has no dictionary of its own (yet), else
 * its dictionary: one of the two is 0. */
static int find_attributes(const struct cairn_pysource *src, uint64_t object, uint64_t type,
                           uint64_t *ret_values, uint64_t *ret_dict)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    int minor = src->runtime->table->minor;
    uint64_t flags, basic_size;

    *ret_values = *ret_dict = 0;
    CAIRN_TRY(get_u64(src, type + l->type_flags, &flags));
    CAIRN_TRY(get_u64(src, type + l->type_basic_size, &basic_size));
    if (!(flags & FLAG_MANAGED_DICT))
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(get_u64(src, object - DICT_BEFORE_BYTES, ret_dict));
    if (minor == 11)
        return *ret_dict ? 0 : get_u64(src, object - VALUES_BEFORE_BYTES, ret_values);
    if (minor == 12 && *ret_dict & 1) {
        *ret_values = *ret_dict + 1;
        *ret_dict = 0;
    } else if (minor > 12 && !*ret_dict && flags & FLAG_INLINE_VALUES) {
        *ret_values = object + basic_size;
    }
    return 0;
}

/* Until 3.10 an instance holds its dictionary where its type says. */
static int find_own_dict(const struct cairn_pysource *src, uint64_t object, uint64_t *ret_dict)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint64_t type, offset;

    CAIRN_TRY(get_u64(src, object + l->object_type, &type));
    CAIRN_TRY(get_u64(src, type + l->type_dict_offset, &offset));
    if (!offset || offset > UINT16_MAX) /* it is negative for what varies in length: no Thread */
        return -CAIRN_ENOTFOUND;
    return get_u64(src, object + offset, ret_dict);
}

int cairn_pyattributes_of(const struct cairn_pysource *src, uint64_t object,
                          struct cairn_pydict *dict)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint64_t type, values, own_dict, keys;

    if (cairn_pylayout_has(l->keys_slots)) {
        CAIRN_TRY(find_own_dict(src, object, &own_dict));
        return cairn_pydict_read(src, own_dict, dict);
    }
    if (!cairn_pylayout_has(l->heaptype_cached_keys) || !cairn_pylayout_has(l->type_flags) ||
        !cairn_pylayout_has(l->type_basic_size) || !cairn_pylayout_has(l->long_tag))
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(get_u64(src, object + l->object_type, &type));
    CAIRN_TRY(find_attributes(src, object, type, &values, &own_dict));
    if (own_dict)
        return cairn_pydict_read(src, own_dict, dict);
    if (!values)
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(get_u64(src, type + l->heaptype_cached_keys, &keys));
    return cairn_pydict_read_split(src, keys, values, dict);
}

int cairn_pyattributes_of_module(const struct cairn_pysource *src, uint64_t interp,
                                 const char *name, struct cairn_pydict *dict)
{
    const struct cairn_pylayout *l = &src->runtime->layout;
    uint64_t modules, module, names;

    if (!cairn_pylayout_has(l->interp_modules))
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(get_u64(src, interp + l->interp_modules, &modules));
    CAIRN_TRY(cairn_pydict_read(src, modules, dict));
    CAIRN_TRY(cairn_pydict_find(src, dict, name, &module));
    CAIRN_TRY(get_u64(src, module + MODULE_DICT_BYTES, &names));
    return cairn_pydict_read(src, names, dict);
}
