#include "pydistances.h"

#include <stddef.h>
#include <string.h>

#define FIRST 8
#define LAST 15
#define START SIZE_MAX /* of the structure */

#define PLACE(field) offsetof(struct cairn_pylayout, field)

/* `member` lies `bytes` behind `other`, from 3.`since` to 3.`until`. */
static const struct rule {
    size_t member, other;
    int32_t bytes;
    int since, until;
    const char *of;
} rules[] = {
    {PLACE(thread_exc_info), PLACE(thread_exc_state), 32, FIRST, 10, "its threads"},
    {PLACE(thread_exception), PLACE(thread_exc_info), -56, FIRST, 10, "its threads"},
    {PLACE(thread_exception), PLACE(thread_exc_info), -24, 11, 11, "its threads"},
    {PLACE(thread_exception), PLACE(thread_exc_info), -8, 12, LAST, "its threads"},
    {PLACE(thread_dict), PLACE(thread_exc_info), 8, FIRST, LAST, "its threads"},
    {PLACE(thread_ident), PLACE(thread_dict), 24, FIRST, LAST, "its threads"},
    {PLACE(thread_native_id), PLACE(thread_ident), 8, 11, LAST, "its threads"},
    {PLACE(excitem_value), PLACE(excitem_size), -24, FIRST, 10, "its exceptions"},
    {PLACE(excitem_value), PLACE(excitem_size), -16, 11, LAST, "its exceptions"},
    {PLACE(gil_holder), START, 8, FIRST, LAST, "its GIL"},
    {PLACE(gil_locked), PLACE(gil_holder), 8, FIRST, LAST, "its GIL"},
    {PLACE(thread_profile), PLACE(thread_current_frame), 32, FIRST, 10, "its threads"},
    {PLACE(thread_trace), PLACE(thread_profile), 8, FIRST, 10, "its threads"},
    {PLACE(thread_chunk_top), PLACE(thread_chunk), 8, 11, LAST, "its threads"},
    {PLACE(chunk_previous), START, 0, 11, LAST, "its stacks"},
    {PLACE(chunk_size_bytes), PLACE(chunk_previous), 8, 11, LAST, "its stacks"},
    {PLACE(chunk_used_words), PLACE(chunk_size_bytes), 8, 11, LAST, "its stacks"},
    {PLACE(chunk_data), PLACE(chunk_used_words), 8, 11, LAST, "its stacks"},
    {PLACE(code_stack), PLACE(code_locals), 4, FIRST, 10, "its code objects"},
    {PLACE(code_stack), PLACE(code_first_line), -4, 11, LAST, "its code objects"},
    {PLACE(code_locals), PLACE(code_first_line), 4, 11, LAST, "its code objects"},
    {PLACE(code_frame_words), PLACE(code_locals), 4, 12, LAST, "its code objects"},
    {PLACE(code_first_traceable), PLACE(code_instructions), -16, 11, LAST, "its code objects"},
    {PLACE(object_count), PLACE(object_type), 8, FIRST, LAST, "its objects"},
    {PLACE(type_basic_size), PLACE(type_name), 8, FIRST, LAST, "its types"},
    {PLACE(type_base), PLACE(type_members), 16, FIRST, LAST, "its types"},
    {PLACE(type_dict_offset), PLACE(type_base), 32, FIRST, LAST, "its types"},
    {PLACE(unicode_state), PLACE(unicode_length), 16, FIRST, LAST, "its strings"},
    {PLACE(unicode_ascii_data), PLACE(unicode_state), 16, FIRST, 11, "its strings"},
    {PLACE(unicode_ascii_data), PLACE(unicode_state), 8, 12, LAST, "its strings"},
    {PLACE(unicode_compact_data), PLACE(unicode_ascii_data), 24, FIRST, 11, "its strings"},
    {PLACE(unicode_compact_data), PLACE(unicode_ascii_data), 16, 12, LAST, "its strings"},
    {PLACE(unicode_size), PLACE(unicode_compact_data), 8, FIRST, 12, "its strings"},
    {PLACE(set_used), PLACE(object_count), 8, FIRST, LAST, "its sets"},
    {PLACE(set_mask), PLACE(set_used), 8, FIRST, LAST, "its sets"},
    {PLACE(set_table), PLACE(set_mask), 8, FIRST, LAST, "its sets"},
    {PLACE(weakref_object), PLACE(object_type), 8, FIRST, LAST, "its weak references"},
    {PLACE(dict_keys), PLACE(object_count), 16, FIRST, LAST, "its dictionaries"},
    {PLACE(dict_values), PLACE(dict_keys), 8, FIRST, LAST, "its dictionaries"},
    {PLACE(keys_slots), START, 8, FIRST, 10, "its dictionaries"},
    {PLACE(keys_entry_count), PLACE(keys_slots), 24, FIRST, 10, "its dictionaries"},
    {PLACE(keys_log2_index_bytes), START, 9, 11, LAST, "its dictionaries"},
    {PLACE(keys_kind), PLACE(keys_log2_index_bytes), 1, 11, LAST, "its dictionaries"},
    {PLACE(keys_entry_count), PLACE(keys_kind), 14, 11, LAST, "its dictionaries"},
    {PLACE(keys_indices), PLACE(keys_entry_count), 8, FIRST, LAST, "its dictionaries"},
    {PLACE(long_tag), PLACE(object_type), 8, FIRST, LAST, "its integers"},
    {PLACE(long_digits), PLACE(long_tag), 8, FIRST, LAST, "its integers"},
    {PLACE(gen_frame), PLACE(object_type), 8, FIRST, 10, "its generators"},
    {PLACE(gen_frame), PLACE(gen_state), 5, 11, LAST, "its generators"},
};

static uint32_t get(const struct cairn_pylayout *layout, size_t place)
{
    uint32_t value = 0;

    if (place != START)
        memcpy(&value, (const uint8_t *)layout + place, sizeof(value));
    return value;
}

static bool is_told(const struct cairn_pytable *table, size_t place)
{
    return table->told && place != START && cairn_pylayout_has(get(table->told, place));
}

static bool holds(const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                  const struct rule *rule)
{
    uint32_t member = get(layout, rule->member), other = get(layout, rule->other);

    if (table->minor < rule->since || table->minor > rule->until ||
        (is_told(table, rule->member) && is_told(table, rule->other)))
        return true;
    return !cairn_pylayout_has(member) || !cairn_pylayout_has(other) ||
           (int64_t)member == (int64_t)other + rule->bytes;
}

const char *cairn_pydistances_misfit(const struct cairn_pylayout *layout,
                                     const struct cairn_pytable *table)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (!holds(layout, table, &rules[i]))
            return rules[i].of;
    return NULL;
}
