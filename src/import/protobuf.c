#include "protobuf.h"

#include "err.h"

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static int read_field(struct cairn_cursor *cur, struct cairn_protobuf_field *field)
{
    uint64_t key;
    uint32_t half;

    CAIRN_TRY(cairn_cursor_uvarint(cur, &key));
    *field = (struct cairn_protobuf_field){.number = key >> 3};
    switch (key & 7) {
    case VARINT:
        return cairn_cursor_uvarint(cur, &field->value);
    case FIXED64:
        return cairn_cursor_u64(cur, &field->value);
    case FIXED32:
        CAIRN_TRY(cairn_cursor_u32(cur, &half));
        field->value = half;
        return 0;
    case BYTES:
        field->is_bytes = true;
        CAIRN_TRY(cairn_cursor_uvarint(cur, &field->value));
        return cairn_cursor_take(cur, field->value, &field->bytes);
    default:
        return -CAIRN_EDAMAGED;
    }
}

int cairn_protobuf_next(struct cairn_cursor *cur, struct cairn_protobuf_field *ret_field)
{
    if (cairn_cursor_left_bytes(cur) == 0)
        return 0;
    return read_field(cur, ret_field) < 0 ? -CAIRN_EDAMAGED : 1;
}
