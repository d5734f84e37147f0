#include "pystr.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "err.h"
#include "text.h"

int cairn_pystr_read_each(struct cairn_remote *remote, const struct cairn_remote_part *parts,
                          size_t count, bool *ok)
{
    size_t next = 0;

    while (next < count) {
        size_t done;
        int code = cairn_remote_read(remote, parts + next, count - next, &done);

        if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
            return code;
        for (size_t i = 0; i < done; i++)
            ok[next + i] = true;
        next += done;
        if (next < count)
            ok[next++] = false;
    }
    return 0;
}

static uint64_t u64_at(const uint8_t *head, uint32_t place)
{
    uint64_t value;

    memcpy(&value, head + place, sizeof(value));
    return value;
}

/* Longer than any that a target has room for: what says so is no str any more. */
#define LENGTH_MAX ((uint64_t)1 << 32)

/* Whether a str of so many characters is taken; sets how much of it is read. */
static bool take_length(struct cairn_pystr *str, uint64_t length)
{
    str->whole_bytes = 0;
    str->size_bytes = length * str->char_bytes;
    if (length <= CAIRN_PYSTR_MAX_BYTES / str->char_bytes)
        return true;
    if (str->kind != CAIRN_PYSTR_CUT || length > LENGTH_MAX)
        return false;
    str->whole_bytes = str->size_bytes;
    if (str->size_bytes > CAIRN_PYSTR_CUT_BYTES)
        str->size_bytes = CAIRN_PYSTR_CUT_BYTES;
    return true;
}

/* Judges the head; sets where the characters are. */
static bool take_head(const struct cairn_pylayout *l, const struct cairn_pytable *table,
                      struct cairn_pystr *str)
{
    uint64_t length;
    uint32_t state, kind;

    if (str->kind == CAIRN_PYSTR_BYTES) {
        str->data = str->address + l->bytes_data;
        str->size_bytes = u64_at(str->head, l->object_count);
        return str->size_bytes <= CAIRN_PYSTR_BYTES_MAX_BYTES;
    }
    memcpy(&state, str->head + l->unicode_state, sizeof(state));
    length = u64_at(str->head, l->unicode_length);
    kind = state >> table->kind_bit & 7;
    if (!(state >> table->compact_bit & 1) || (kind != 1 && kind != 2 && kind != 4))
        return false;
    str->char_bytes = (uint8_t)kind;
    if (!take_length(str, length))
        return false;
    str->data = str->address +
                (state >> table->ascii_bit & 1 ? l->unicode_ascii_data : l->unicode_compact_data);
    return true;
}

bool cairn_pystr_in(const struct cairn_pylayout *l, const struct cairn_pytable *table,
                    const uint8_t *copy, size_t copy_bytes, struct cairn_span *ret_text)
{
    struct cairn_pystr str = {.kind = CAIRN_PYSTR_STR};

    if (l->unicode_state + sizeof(uint32_t) > sizeof(str.head) ||
        l->unicode_length + sizeof(uint64_t) > sizeof(str.head) || copy_bytes < sizeof(str.head) ||
        copy_bytes < l->unicode_ascii_data)
        return false;
    memcpy(str.head, copy, sizeof(str.head));
    if (!take_head(l, table, &str) || str.data != l->unicode_ascii_data ||
        str.size_bytes > copy_bytes - l->unicode_ascii_data)
        return false;
    *ret_text = (struct cairn_span){copy + str.data, (size_t)str.size_bytes};
    return true;
}

bool cairn_pystr_is_interned(const struct cairn_pylayout *l, const struct cairn_pytable *table,
                             const uint8_t *copy)
{
    uint32_t state;

    memcpy(&state, copy + l->unicode_state, sizeof(state));
    return (state & ((1u << table->kind_bit) - 1)) != 0;
}

/* A long str ends with a character that is 0, as every str does: a length that was read torn, or of
 * what is no str any more, hardly ever leads to one. */
static int check_ends(struct cairn_remote *remote, struct cairn_pystr *strs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t end = 0;
        int code;

        if (!strs[i].ok || !strs[i].whole_bytes)
            continue;
        code =
            cairn_remote_get(remote, strs[i].data + strs[i].whole_bytes, &end, strs[i].char_bytes);
        if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
            return code;
        strs[i].ok = code == 0 && end == 0;
    }
    return 0;
}

static int read_heads(struct cairn_remote *remote, const struct cairn_pylayout *l,
                      const struct cairn_pytable *table, struct cairn_pystr *strs, size_t count,
                      struct cairn_remote_part *parts, bool *ok)
{
    size_t head_bytes = l->unicode_state + sizeof(uint32_t);

    if (head_bytes < l->object_count + sizeof(uint64_t))
        head_bytes = l->object_count + sizeof(uint64_t);
    if (head_bytes < l->unicode_length + sizeof(uint64_t))
        head_bytes = l->unicode_length + sizeof(uint64_t);
    if (head_bytes > sizeof(strs[0].head))
        return -CAIRN_EUNSUPPORTED;
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct cairn_remote_part){strs[i].address, strs[i].head, head_bytes};
    CAIRN_TRY(cairn_pystr_read_each(remote, parts, count, ok));
    for (size_t i = 0; i < count; i++) {
        if (strs[i].kind == CAIRN_PYSTR_RAW) {
            strs[i].data = strs[i].address;
            strs[i].size_bytes = strs[i].raw_bytes;
            strs[i].ok = strs[i].raw_bytes <= CAIRN_PYSTR_BYTES_MAX_BYTES;
        } else {
            strs[i].ok = ok[i] && take_head(l, table, &strs[i]);
        }
    }
    return check_ends(remote, strs, count);
}

static uint32_t char_at(const uint8_t *data, size_t index, uint8_t char_bytes)
{
    uint32_t value = 0;

    memcpy(&value, data + index * char_bytes, char_bytes);
    return value;
}

static bool is_ascii(const uint8_t *data, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++) {
        if (data[i] & 0x80)
            return false;
    }
    return true;
}

#define ELLIPSIS 0x2026

/* Turns the characters into UTF-8 at the end of the buffer. */
static int to_utf8(struct cairn_pystr *str, struct cairn_buf *buf)
{
    size_t start = buf->size_bytes;
    bool cut = str->whole_bytes > str->size_bytes;

    if (!cut && str->char_bytes == 1 && is_ascii(buf->data + str->place, (size_t)str->size_bytes))
        return 0;
    for (size_t i = 0; i < str->size_bytes / str->char_bytes; i++)
        cairn_text_utf8_add(buf, char_at(buf->data + str->place, i, str->char_bytes));
    if (cut)
        cairn_text_utf8_add(buf, ELLIPSIS);
    str->place = start;
    str->size_bytes = buf->size_bytes - start;
    return buf->code;
}

static int read_data(struct cairn_remote *remote, struct cairn_pystr *strs, size_t count,
                     struct cairn_remote_part *parts, bool *ok, struct cairn_buf *buf)
{
    size_t some = 0;

    for (size_t i = 0; i < count; i++) {
        if (!strs[i].ok)
            continue;
        strs[i].place = buf->size_bytes;
        CAIRN_TRY(cairn_buf_reserve(buf, (size_t)strs[i].size_bytes + 1));
        buf->size_bytes += (size_t)strs[i].size_bytes;
    }
    /* Only now does the buffer stand still. */
    for (size_t i = 0; i < count; i++) {
        if (strs[i].ok && strs[i].size_bytes)
            parts[some++] = (struct cairn_remote_part){strs[i].data, buf->data + strs[i].place,
                                                       (size_t)strs[i].size_bytes};
    }
    CAIRN_TRY(cairn_pystr_read_each(remote, parts, some, ok));
    some = 0;
    for (size_t i = 0; i < count; i++) {
        if (strs[i].ok && strs[i].size_bytes)
            strs[i].ok = ok[some++];
        if (strs[i].ok && strs[i].kind <= CAIRN_PYSTR_CUT)
            CAIRN_TRY(to_utf8(&strs[i], buf));
    }
    for (size_t i = 0; i < count; i++)
        strs[i].text = (struct cairn_span){buf->data + strs[i].place, (size_t)strs[i].size_bytes};
    return 0;
}

int cairn_pystr_read(struct cairn_remote *remote, const struct cairn_pylayout *layout,
                     const struct cairn_pytable *table, struct cairn_pystr *strs, size_t count,
                     struct cairn_buf *buf)
{
    struct cairn_remote_part *parts = cairn_calloc(count, sizeof(*parts));
    bool *ok = cairn_calloc(count, sizeof(*ok));
    int code = parts && ok ? 0 : -CAIRN_ENOMEM;

    cairn_buf_clear(buf);
    if (code == 0)
        code = cairn_buf_reserve(buf, 64); /* so that `data` is not NULL for empty strings */
    if (code == 0)
        code = read_heads(remote, layout, table, strs, count, parts, ok);
    if (code == 0)
        code = read_data(remote, strs, count, parts, ok, buf);
    free(parts);
    free(ok);
    return code;
}
