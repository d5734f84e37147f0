#include "pyarrival.h"

#include "err.h"
#include "pysites.h"
#include "pyunits.h"

uint32_t cairn_pyarrival_bytes(const struct cairn_pylayout *l)
{
    /* What is flexible behind the fixed part is the instructions themselves. */
    return l->code_size < CAIRN_PYLAYOUT_CODE_BYTES ? l->code_size : CAIRN_PYLAYOUT_CODE_BYTES;
}

/* Memory that was freed looks like the object that was there, but for its first word: where its
 * references were counted stands 0, or the address of the next free block. A count is not 0, and
 * above its 32 bits 16 are (from 3.14 on flags follow). */
bool cairn_pyarrival_counts(const struct cairn_pylayout *l, const uint8_t *copy)
{
    uint64_t word;

    memcpy(&word, copy + l->object_type - 8, sizeof(word));
    return (uint32_t)word != 0 && (word >> 32 & 0xffff) == 0;
}

bool cairn_pyarrival_is_counted(const struct cairn_pylayout *l, const struct cairn_pyarrival *from)
{
    return cairn_pyarrival_counts(l, from->bytes);
}

/* The type of all code objects is the one whose name is "code"; asked once. */
bool cairn_pyarrival_is_code_type(struct cairn_pycodes *codes, uint64_t type)
{
    uint64_t name;
    char text[5];

    if (codes->type)
        return type == codes->type;
    if (!type || cairn_remote_get(codes->remote, type + codes->layout->type_name, &name, 8) < 0 ||
        cairn_remote_get(codes->remote, name, text, sizeof(text)) < 0 ||
        memcmp(text, "code", sizeof(text)) != 0)
        return false;
    codes->type = type;
    return true;
}

void cairn_pyarrival_fingerprint(const struct cairn_pylayout *l, const struct cairn_pyarrival *from,
                                 uint64_t ret_parts[CAIRN_PYCODE_PARTS])
{
    ret_parts[CAIRN_PYPART_NAME] = cairn_pyarrival_u64(from, l->code_name);
    ret_parts[CAIRN_PYPART_QUALNAME] =
        cairn_pylayout_has(l->code_qualname) ? cairn_pyarrival_u64(from, l->code_qualname) : 0;
    ret_parts[CAIRN_PYPART_FILE] = cairn_pyarrival_u64(from, l->code_filename);
    ret_parts[CAIRN_PYPART_LINETABLE] = cairn_pyarrival_u64(from, l->code_linetable);
    ret_parts[CAIRN_PYPART_LINE] = cairn_pyarrival_u32(from, l->code_first_line);
    /* Until 3.10 the instructions are an object of their own, later as many units behind it. */
    ret_parts[CAIRN_PYPART_CODE] =
        cairn_pylayout_has(l->code_bytes) ? cairn_pyarrival_u64(from, l->code_bytes) : 0;
    ret_parts[CAIRN_PYPART_UNITS] =
        cairn_pylayout_has(l->code_bytes) ? 0 : cairn_pyarrival_u32(from, l->object_count);
}

bool cairn_pyarrival_is_same(const struct cairn_pylayout *l, const struct cairn_pyarrival *a,
                             const struct cairn_pyarrival *b)
{
    uint64_t parts[2][CAIRN_PYCODE_PARTS];

    cairn_pyarrival_fingerprint(l, a, parts[0]);
    cairn_pyarrival_fingerprint(l, b, parts[1]);
    return memcmp(parts[0], parts[1], sizeof(parts[0])) == 0;
}

int cairn_pyarrival_intern(struct cairn_pycodes *codes, const struct cairn_pystr *str,
                           struct cairn_span *ret)
{
    uint32_t id;

    CAIRN_TRY(cairn_intern_add(&codes->strings, str->text, &id));
    *ret = cairn_intern_get(&codes->strings, id);
    return 0;
}

void cairn_pyarrival_extent(const struct cairn_pylayout *l, const struct cairn_pyarrival *from,
                            struct cairn_pycode_entry *entry)
{
    if (cairn_pylayout_has(l->code_instructions))
        entry->start = from->address + l->code_instructions;
    /* Until 3.10 they are an object of their own. */
    entry->unit_count =
        cairn_pylayout_has(l->code_bytes) ? UINT32_MAX : cairn_pyarrival_u32(from, l->object_count);
    if (cairn_pylayout_has(l->code_frame_words))
        entry->frame_bytes = cairn_pyarrival_u32(from, l->code_frame_words) * 8;
    else if (cairn_pylayout_has(l->code_locals) && cairn_pylayout_has(l->code_stack))
        entry->frame_bytes =
            (cairn_pyarrival_u32(from, l->code_locals) + cairn_pyarrival_u32(from, l->code_stack)) *
                8 +
            l->frame_size;
    if (entry->frame_bytes > l->frame_size)
        entry->stack_slots = (entry->frame_bytes - l->frame_size) / 8;
    if (cairn_pylayout_has(l->code_locals) &&
        cairn_pyarrival_u32(from, l->code_locals) < entry->stack_slots)
        entry->local_slots = cairn_pyarrival_u32(from, l->code_locals);
    if (cairn_pylayout_has(l->code_first_traceable))
        entry->first_unit = cairn_pyarrival_u32(from, l->code_first_traceable);
}

/* Where code of versions until 3.10 calls what by name. */
static int take_sites(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                      struct cairn_span text, struct cairn_pycode_entry *entry)
{
    size_t calls = 0;

    for (uint32_t i = 0; i < entry->unit_count; i++)
        calls += (entry->units[i] & CAIRN_PYUNIT_CALL) != 0;
    if (!calls)
        return 0;
    entry->sites = cairn_arena_alloc(&codes->arena, calls * sizeof(*entry->sites));
    if (!entry->sites)
        return -CAIRN_ENOMEM;
    entry->site_count = (uint32_t)cairn_pysites_find(text, entry->sites, calls);
    entry->names_at = cairn_pyarrival_u64(from, codes->layout->code_names);
    return 0;
}

int cairn_pyarrival_instructions(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                                 struct cairn_pycode_entry *entry)
{
    const struct cairn_pylayout *l = codes->layout;
    struct cairn_span text = from->strs[CAIRN_PYPART_LINE].text;

    cairn_pyarrival_extent(l, from, entry);
    entry->unit_count = (uint32_t)(text.size_bytes / 2);
    if (cairn_pylayout_has(l->code_first_traceable))
        entry->hidden = entry->first_unit >= entry->unit_count;
    if (!from->strs[CAIRN_PYPART_LINE].ok)
        return 0;
    entry->units = cairn_arena_alloc(&codes->arena, entry->unit_count + 1);
    if (!entry->units)
        return -CAIRN_ENOMEM;
    cairn_pyunits_mark(codes->table, text, entry->units, entry->unit_count);
    if (!cairn_pylayout_has(l->code_bytes))
        return 0;
    entry->yields = cairn_pyunits_yield(text);
    CAIRN_TRY(cairn_pyarrival_intern(codes, &from->strs[CAIRN_PYPART_LINE], &entry->text));
    return take_sites(codes, from, text, entry);
}
