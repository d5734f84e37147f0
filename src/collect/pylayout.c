#include "pylayout.h"

#include <stdio.h>
#include <string.h>

#include "err.h"
#include "pydistances.h"

#define COOKIE "xdebugpy"
#define COOKIE_BYTES 8

enum group {
    GROUP_runtime,
    GROUP_interp,
    GROUP_thread,
    GROUP_threadimpl,
    GROUP_excitem,
    GROUP_gil,
    GROUP_gc,
    GROUP_cframe,
    GROUP_chunk,
    GROUP_frame,
    GROUP_code,
    GROUP_object,
    GROUP_type,
    GROUP_heaptype,
    GROUP_bytes,
    GROUP_unicode,
    GROUP_dict,
    GROUP_set,
    GROUP_weakref,
    GROUP_gen,
    GROUP_keys,
    GROUP_values,
    GROUP_long,
    GROUP_COUNT
};

/* Above this a structure does not fit where the reader puts it, or is nonsense. */
static const uint32_t max_bytes[GROUP_COUNT] = {
    [GROUP_runtime] = 16 << 20,
    [GROUP_interp] = 16 << 20,
    [GROUP_thread] = 64 << 10,
    [GROUP_threadimpl] = 64 << 10,
    [GROUP_excitem] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_gil] = 4 << 10,
    [GROUP_gc] = 64 << 10,
    [GROUP_cframe] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_chunk] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_frame] = CAIRN_PYLAYOUT_FRAME_BYTES,
    [GROUP_code] = CAIRN_PYLAYOUT_CODE_BYTES,
    [GROUP_object] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_type] = CAIRN_PYLAYOUT_TYPE_BYTES,
    [GROUP_heaptype] = 2 * CAIRN_PYLAYOUT_TYPE_BYTES,
    [GROUP_bytes] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_unicode] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_dict] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_set] = 4 << 10,
    [GROUP_weakref] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_gen] = 4 << 10,
    [GROUP_keys] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_values] = CAIRN_PYLAYOUT_OBJECT_BYTES,
    [GROUP_long] = CAIRN_PYLAYOUT_OBJECT_BYTES,
};

static const struct field {
    const char *name;
    enum group group;
    uint32_t width, place; /* `place`: offset in struct cairn_pylayout */
} fields[] = {
#define X(group, field, width)                                                                     \
    {#field, GROUP_##group, width, offsetof(struct cairn_pylayout, field)},
#include "pylayout.def"
#undef X
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static uint32_t value_of(const struct cairn_pylayout *layout, const struct field *field)
{
    uint32_t value;

    memcpy(&value, (const uint8_t *)layout + field->place, sizeof(value));
    return value;
}

static void set_value(struct cairn_pylayout *layout, const struct field *field, uint32_t value)
{
    memcpy((uint8_t *)layout + field->place, &value, sizeof(value));
}

const struct cairn_pytable *cairn_pytable_find(int minor)
{
    for (size_t i = 0; i < cairn_pytable_count; i++) {
        if (cairn_pytables[i].minor == minor)
            return &cairn_pytables[i];
    }
    return NULL;
}

/* The thread state is read up to the last field of it that counts, not whole. */
static uint32_t room_of(const struct field *field, uint32_t size_bytes)
{
    if (field->group == GROUP_thread && size_bytes > CAIRN_PYLAYOUT_THREAD_BYTES)
        return CAIRN_PYLAYOUT_THREAD_BYTES;
    return size_bytes;
}

/* A flexible end starts where the fixed part may end: what lies there is not read as part of it. */
static bool is_end(const struct field *field)
{
    static const size_t ends[] = {
        offsetof(struct cairn_pylayout, code_instructions),
        offsetof(struct cairn_pylayout, bytes_data),
        offsetof(struct cairn_pylayout, unicode_ascii_data),
        offsetof(struct cairn_pylayout, unicode_compact_data),
        offsetof(struct cairn_pylayout, keys_indices),
    };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (ends[i] == field->place)
            return true;
    return false;
}

static const struct field *first_misfit(const struct cairn_pylayout *layout)
{
    uint32_t size_bytes = 0;

    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *field = &fields[i];
        uint32_t value = value_of(layout, field);

        if (field->width == 0) {
            size_bytes = value;
            if (value == CAIRN_PYLAYOUT_NONE)
                size_bytes = 0;
            else if (value > max_bytes[field->group])
                return field;
        } else if (value != CAIRN_PYLAYOUT_NONE) {
            uint32_t room = room_of(field, size_bytes);
            uint32_t width = is_end(field) ? 0 : field->width;

            if (value > room || width > room - value)
                return field;
            if (value % field->width != 0)
                return field;
        }
    }
    return NULL;
}

static bool has_all(const uint32_t *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!cairn_pylayout_has(places[i]))
            return false;
    }
    return true;
}

#define HAS_ALL(places) has_all(places, sizeof(places) / sizeof((places)[0]))

/* A layout without one of these cannot be walked. */
static bool has_needed(const struct cairn_pylayout *l)
{
    const uint32_t needed[] = {
        l->runtime_interpreters_head,
        l->interp_next,
        l->interp_threads_head,
        l->thread_next,
        l->thread_interp,
        l->thread_ident,
        l->frame_previous,
        l->frame_code,
        l->code_filename,
        l->code_name,
        l->code_linetable,
        l->code_first_line,
        l->object_type,
        l->object_count,
        l->type_name,
        l->bytes_data,
        l->unicode_state,
        l->unicode_length,
        l->unicode_ascii_data,
        l->unicode_compact_data,
    };
    const uint32_t objects[] = {l->thread_current_frame, l->thread_trace, l->thread_profile,
                                l->frame_last,           l->frame_state,  l->frame_generator,
                                l->code_bytes,           l->code_names};
    const uint32_t others[] = {l->thread_native_id, l->thread_chunk,     l->chunk_previous,
                               l->chunk_data,       l->frame_instr,      l->frame_owner,
                               l->code_qualname,    l->code_instructions};

    if (!HAS_ALL(needed))
        return false;
    if (cairn_pylayout_has(l->frame_last))
        return HAS_ALL(objects);
    return HAS_ALL(others) &&
           (cairn_pylayout_has(l->thread_current_frame) ||
            (cairn_pylayout_has(l->thread_cframe) && cairn_pylayout_has(l->cframe_current_frame)));
}

static int verify(const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                  const char *version, struct cairn_err *err)
{
    const struct field *misfit = first_misfit(layout);
    const char *apart = cairn_pydistances_misfit(layout, table);

    if (misfit)
        return cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "layout",
                             "Python %s tells a layout that cannot be: %s is %u", version,
                             misfit->name, value_of(layout, misfit));
    if (apart)
        return cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "layout",
                             "Python %s has a layout that cannot be, of %s", version, apart);
    if (!has_needed(layout))
        return cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "layout",
                             "Python %s does not tell all of its layout", version);
    return 0;
}

int cairn_pylayout_from_table(const struct cairn_pytable *table, struct cairn_pylayout *ret_layout,
                              struct cairn_err *err)
{
    char version[32];

    snprintf(version, sizeof(version), "3.%d", table->minor);
    CAIRN_TRY(verify(table->layout, table, version, err));
    *ret_layout = *table->layout;
    return 0;
}

static uint64_t u64_at(struct cairn_span bytes, uint32_t place)
{
    uint64_t value;

    memcpy(&value, bytes.data + place, sizeof(value));
    return value;
}

/* Fills what the target tells. False: a value that is none. */
static bool take_told(struct cairn_span runtime, const struct cairn_pytable *table,
                      struct cairn_pylayout *layout)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        uint32_t place = value_of(table->told, &fields[i]);
        uint64_t value = CAIRN_PYLAYOUT_NONE;

        if (place != CAIRN_PYLAYOUT_NONE) {
            value = u64_at(runtime, place);
            if (value >= CAIRN_PYLAYOUT_NONE)
                return false;
        }
        set_value(layout, &fields[i], (uint32_t)value);
    }
    return true;
}

/* Whether the target tells of this structure what the table says; it may have grown at its end. */
static bool agrees(const struct cairn_pytable *table, const struct cairn_pylayout *layout,
                   enum group group)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        uint32_t told = value_of(layout, &fields[i]);
        uint32_t known = value_of(table->layout, &fields[i]);

        if (fields[i].group != group || value_of(table->told, &fields[i]) == CAIRN_PYLAYOUT_NONE)
            continue;
        if (fields[i].width == 0 ? told < known : told != known)
            return false;
    }
    return true;
}

static void take_rest(const struct cairn_pytable *table, struct cairn_pylayout *layout)
{
    bool agreed[GROUP_COUNT];

    for (int group = 0; group < GROUP_COUNT; group++)
        agreed[group] = agrees(table, layout, (enum group)group);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (value_of(table->told, &fields[i]) == CAIRN_PYLAYOUT_NONE && agreed[fields[i].group])
            set_value(layout, &fields[i], value_of(table->layout, &fields[i]));
    }
}

int cairn_pylayout_told(struct cairn_span runtime, uint32_t hexversion,
                        const struct cairn_pytable *table, struct cairn_pylayout *ret_layout,
                        struct cairn_err *err)
{
    struct cairn_pylayout layout;
    char version[32];

    cairn_pylayout_version_text(hexversion, version);
    if (runtime.size_bytes < table->told_size || !take_told(runtime, table, &layout))
        return cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "layout",
                             "Python %s tells a layout that cannot be", version);
    take_rest(table, &layout);
    CAIRN_TRY(verify(&layout, table, version, err));
    *ret_layout = layout;
    return 0;
}

int cairn_pylayout_from_target(struct cairn_span runtime, uint32_t *ret_hexversion,
                               const struct cairn_pytable **ret_table,
                               struct cairn_pylayout *ret_layout, struct cairn_err *err)
{
    const struct cairn_pytable *table;
    char version[32];
    uint64_t hex;

    if (runtime.size_bytes < COOKIE_BYTES + sizeof(hex) ||
        memcmp(runtime.data, COOKIE, COOKIE_BYTES) != 0)
        return -CAIRN_ENOTPYTHON;
    hex = u64_at(runtime, COOKIE_BYTES);
    *ret_hexversion = (uint32_t)hex;
    cairn_pylayout_version_text((uint32_t)hex, version);
    table = cairn_pytable_find((int)(hex >> 16 & 0xff));
    if (hex >> 24 != 3 || !table || !table->told || runtime.size_bytes < table->told_size)
        return cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "layout",
                             "Python %s is not one this Cairn knows", version);
    if (u64_at(runtime, table->told_free_threaded) != 0)
        return cairn_err_set(err, -CAIRN_EUNSUPPORTED, 0, "layout",
                             "Python %s is a free-threaded build, which is not supported yet",
                             version);
    *ret_table = table;
    return cairn_pylayout_told(runtime, *ret_hexversion, table, ret_layout, err);
}

void cairn_pylayout_version_text(uint32_t hexversion, char ret_text[32])
{
    static const char *const levels[16] = {[0xa] = "a", [0xb] = "b", [0xc] = "rc"};
    const char *level = levels[hexversion >> 4 & 0xf];
    int used = snprintf(ret_text, 32, "%u.%u.%u", hexversion >> 24, hexversion >> 16 & 0xff,
                        hexversion >> 8 & 0xff);

    if (level)
        snprintf(ret_text + used, 32 - (size_t)used, "%s%u", level, hexversion & 0xf);
}
