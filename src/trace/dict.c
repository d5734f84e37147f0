/* The dictionary half of decode.h. */
#include "decode.h"

#include "err.h"

void cairn_dict_init(struct cairn_dict *dict, struct cairn_span section)
{
    *dict = (struct cairn_dict){0};
    cairn_cursor_init(&dict->cur, section);
}

/* Inside an entry the end of the bytes is never the ordinary end. */
static int inside(int code)
{
    return code == -CAIRN_EEND ? -CAIRN_EDAMAGED : code;
}

/* The id of the next entry, which the caller reads behind it. */
static int next_id(struct cairn_dict *dict, uint32_t *ret_id)
{
    if (dict->run_left == 0) {
        struct cairn_cursor ahead = dict->cur;
        uint64_t first;
        size_t count;
        int code = cairn_cursor_uvarint(&ahead, &first);

        if (code < 0)
            return code;
        if (cairn_cursor_count(&ahead, 1, &count) < 0 || count == 0)
            return -CAIRN_EDAMAGED;
        if (first == 0 || first > UINT32_MAX || count - 1 > UINT32_MAX - first)
            return -CAIRN_EDAMAGED;
        dict->cur = ahead;
        dict->next_id = first;
        dict->run_left = count;
    }
    *ret_id = (uint32_t)dict->next_id++;
    dict->run_left--;
    return 0;
}

int cairn_dict_string(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_span *ret_bytes)
{
    CAIRN_TRY(next_id(dict, ret_id));
    CAIRN_TRY(inside(cairn_cursor_bytes(&dict->cur, ret_bytes)));
    return ret_bytes->size_bytes > CAIRN_STRING_MAX_BYTES ? -CAIRN_EDAMAGED : 0;
}

int cairn_dict_code(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_code_def *ret_def)
{
    CAIRN_TRY(next_id(dict, ret_id));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->name)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->qualname)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->file)));
    return inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->first_line));
}

int cairn_dict_linetable(struct cairn_dict *dict, struct cairn_linetable_def *ret_def)
{
    CAIRN_TRY(cairn_cursor_uvarint32(&dict->cur, &ret_def->code));
    CAIRN_TRY(inside(cairn_cursor_u8(&dict->cur, &ret_def->kind)));
    CAIRN_TRY(inside(cairn_cursor_bytes(&dict->cur, &ret_def->bytes)));
    if (ret_def->code == 0 || ret_def->kind > CAIRN_LINES_LOCATION)
        return -CAIRN_EDAMAGED;
    return 0;
}

int cairn_dict_module(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_module_def *ret_def)
{
    CAIRN_TRY(next_id(dict, ret_id));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->path)));
    CAIRN_TRY(inside(cairn_cursor_bytes(&dict->cur, &ret_def->build_id)));
    return ret_def->build_id.size_bytes > CAIRN_BUILD_ID_MAX_BYTES ? -CAIRN_EDAMAGED : 0;
}

int cairn_dict_location(struct cairn_dict *dict, uint32_t *ret_id,
                        struct cairn_location_def *ret_def)
{
    CAIRN_TRY(next_id(dict, ret_id));
    CAIRN_TRY(inside(cairn_cursor_u8(&dict->cur, &ret_def->kind)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->ref)));
    switch (ret_def->kind) {
    case CAIRN_LOC_PYTHON:
    case CAIRN_LOC_NATIVE:
        CAIRN_TRY(inside(cairn_cursor_svarint(&dict->cur, &ret_def->offset)));
        return ret_def->ref == 0 ? -CAIRN_EDAMAGED : 0;
    case CAIRN_LOC_LABEL:
        ret_def->offset = 0;
        return 0;
    default:
        return -CAIRN_EDAMAGED;
    }
}

int cairn_dict_stack(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_stack_def *ret_def)
{
    uint32_t up, id;
    int64_t step, location;

    CAIRN_TRY(next_id(dict, &id));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &up)));
    CAIRN_TRY(inside(cairn_cursor_svarint(&dict->cur, &step)));
    /* A parent comes before its child: no chain can be a ring. */
    if (up == 0 || up > id)
        return -CAIRN_EDAMAGED;
    if (__builtin_add_overflow(step, (int64_t)dict->last_location, &location) || location < 1 ||
        location > (int64_t)UINT32_MAX)
        return -CAIRN_EDAMAGED;
    dict->last_location = (uint32_t)location;
    *ret_id = id;
    *ret_def = (struct cairn_stack_def){.parent = id - up, .location = (uint32_t)location};
    return 0;
}

int cairn_dict_track(struct cairn_dict *dict, uint32_t *ret_id, struct cairn_track_def *ret_def)
{
    CAIRN_TRY(next_id(dict, ret_id));
    CAIRN_TRY(inside(cairn_cursor_u8(&dict->cur, &ret_def->kind)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->parent)));
    CAIRN_TRY(inside(cairn_cursor_uvarint(&dict->cur, &ret_def->number)));
    CAIRN_TRY(inside(cairn_cursor_uvarint(&dict->cur, &ret_def->start_ns)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->boot_id)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->name)));
    CAIRN_TRY(inside(cairn_cursor_uvarint32(&dict->cur, &ret_def->detail)));
    CAIRN_TRY(inside(cairn_cursor_u8(&dict->cur, &ret_def->birth)));
    if (ret_def->kind < CAIRN_TRACK_PROCESS || ret_def->kind > CAIRN_TRACK_GPU_STREAM)
        return -CAIRN_EDAMAGED;
    /* Made before it: parents are no ring either. */
    return ret_def->parent >= *ret_id ? -CAIRN_EDAMAGED : 0;
}

int cairn_dict_env(struct cairn_dict *dict, struct cairn_span *ret_key,
                   struct cairn_span *ret_value)
{
    CAIRN_TRY(cairn_cursor_bytes(&dict->cur, ret_key));
    return inside(cairn_cursor_bytes(&dict->cur, ret_value));
}

int cairn_dict_counter(struct cairn_dict *dict, struct cairn_span *ret_name, uint64_t *ret_value)
{
    CAIRN_TRY(cairn_cursor_bytes(&dict->cur, ret_name));
    return inside(cairn_cursor_uvarint(&dict->cur, ret_value));
}
