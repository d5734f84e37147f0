#include "cursor.h"

#include <inttypes.h>
#include <string.h>

#include "err.h"

static const uint8_t no_bytes[1];

static size_t left_bytes(const struct cairn_cursor *cur)
{
    return (size_t)(cur->end - cur->next);
}

int cairn_span_compare(struct cairn_span a, struct cairn_span b)
{
    size_t common_bytes = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    int order = common_bytes > 0 ? memcmp(a.data, b.data, common_bytes) : 0;

    return order != 0 ? order : (a.size_bytes > b.size_bytes) - (a.size_bytes < b.size_bytes);
}

void cairn_cursor_init(struct cairn_cursor *cur, struct cairn_span span)
{
    const uint8_t *start = span.data == NULL ? no_bytes : span.data;

    cur->start = start;
    cur->next = start;
    cur->end = start + (span.data == NULL ? 0 : span.size_bytes);
}

size_t cairn_cursor_left_bytes(const struct cairn_cursor *cur)
{
    return left_bytes(cur);
}

size_t cairn_cursor_offset_bytes(const struct cairn_cursor *cur)
{
    return (size_t)(cur->next - cur->start);
}

/* Little-endian, whatever the machine; the compiler makes one load of it where it can. */
static int read_fixed(struct cairn_cursor *cur, unsigned width_bytes, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (cur->next == cur->end)
        return -CAIRN_EEND;
    if (left_bytes(cur) < width_bytes)
        return -CAIRN_EDAMAGED;
    for (unsigned i = 0; i < width_bytes; i++)
        value |= (uint64_t)cur->next[i] << (8 * i);
    cur->next += width_bytes;
    *ret_value = value;
    return 0;
}

int cairn_cursor_u8(struct cairn_cursor *cur, uint8_t *ret_value)
{
    uint64_t value;

    CAIRN_TRY(read_fixed(cur, 1, &value));
    *ret_value = (uint8_t)value;
    return 0;
}

int cairn_cursor_u16(struct cairn_cursor *cur, uint16_t *ret_value)
{
    uint64_t value;

    CAIRN_TRY(read_fixed(cur, 2, &value));
    *ret_value = (uint16_t)value;
    return 0;
}

int cairn_cursor_u32(struct cairn_cursor *cur, uint32_t *ret_value)
{
    uint64_t value;

    CAIRN_TRY(read_fixed(cur, 4, &value));
    *ret_value = (uint32_t)value;
    return 0;
}

int cairn_cursor_u64(struct cairn_cursor *cur, uint64_t *ret_value)
{
    return read_fixed(cur, 8, ret_value);
}

int cairn_cursor_uvarint(struct cairn_cursor *cur, uint64_t *ret_value)
{
    const uint8_t *p = cur->next;
    uint64_t value = 0;

    if (p == cur->end)
        return -CAIRN_EEND;
    for (unsigned shift = 0; shift < 64 && p < cur->end; shift += 7) {
        uint8_t byte = *p++;

        /* The tenth byte has room for one bit; the shift would drop the others unseen. */
        if (shift == 63 && byte > 1)
            return -CAIRN_EDAMAGED;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            cur->next = p;
            *ret_value = value;
            return 0;
        }
    }
    return -CAIRN_EDAMAGED;
}

int cairn_cursor_uvarint32(struct cairn_cursor *cur, uint32_t *ret_value)
{
    struct cairn_cursor ahead = *cur;
    uint64_t value;

    CAIRN_TRY(cairn_cursor_uvarint(&ahead, &value));
    if (value > UINT32_MAX)
        return -CAIRN_EDAMAGED;
    *cur = ahead;
    *ret_value = (uint32_t)value;
    return 0;
}

int cairn_cursor_svarint(struct cairn_cursor *cur, int64_t *ret_value)
{
    uint64_t value;

    CAIRN_TRY(cairn_cursor_uvarint(cur, &value));
    *ret_value = (int64_t)((value >> 1) ^ (0 - (value & 1)));
    return 0;
}

int cairn_cursor_take(struct cairn_cursor *cur, uint64_t size_bytes, struct cairn_span *ret_span)
{
    if (size_bytes > left_bytes(cur))
        return cur->next == cur->end ? -CAIRN_EEND : -CAIRN_EDAMAGED;
    *ret_span = (struct cairn_span){cur->next, (size_t)size_bytes};
    cur->next += size_bytes;
    return 0;
}

int cairn_cursor_bytes(struct cairn_cursor *cur, struct cairn_span *ret_span)
{
    struct cairn_cursor ahead = *cur;
    uint64_t size_bytes;

    CAIRN_TRY(cairn_cursor_uvarint(&ahead, &size_bytes));
    /* A length with nothing behind it is no ordinary end. */
    if (cairn_cursor_take(&ahead, size_bytes, ret_span) < 0)
        return -CAIRN_EDAMAGED;
    *cur = ahead;
    return 0;
}

int cairn_cursor_count(struct cairn_cursor *cur, size_t min_bytes, size_t *ret_count)
{
    struct cairn_cursor ahead = *cur;
    uint64_t count;

    CAIRN_TRY(cairn_cursor_uvarint(&ahead, &count));
    /* Divided, because count * min_bytes may wrap. */
    if (count > left_bytes(&ahead) / min_bytes)
        return -CAIRN_EDAMAGED;
    *cur = ahead;
    *ret_count = (size_t)count;
    return 0;
}

int cairn_cursor_fail(const struct cairn_cursor *cur, int code, const char *what,
                      struct cairn_err *err)
{
    size_t offset = cairn_cursor_offset_bytes(cur);

    if (code == -CAIRN_EEND)
        return cairn_err_set(err, code, 0, what, "%s: the bytes end at offset %zu, before it", what,
                             offset);
    return cairn_err_set(err, code, 0, what, "%s, at offset %zu of %zu bytes: %s", what, offset,
                         offset + left_bytes(cur), cairn_err_sentence(code));
}
