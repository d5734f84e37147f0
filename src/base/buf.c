#include "buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "err.h"

#define FIRST_CAP_BYTES 64

void cairn_buf_init(struct cairn_buf *buf, size_t max_bytes)
{
    /* One byte more than the room is allocated, for the NUL, and must not wrap. */
    *buf = (struct cairn_buf){.max_bytes = max_bytes < SIZE_MAX ? max_bytes : SIZE_MAX - 1};
}

void cairn_buf_release(struct cairn_buf *buf)
{
    free(buf->data);
    cairn_buf_init(buf, buf->max_bytes);
}

void cairn_buf_clear(struct cairn_buf *buf)
{
    buf->size_bytes = 0;
    buf->code = 0;
}

static int grow(struct cairn_buf *buf, size_t need_bytes)
{
    size_t room = buf->cap_bytes > buf->max_bytes / 2 ? buf->max_bytes : buf->cap_bytes * 2;
    uint8_t *grown;

    if (room < FIRST_CAP_BYTES)
        room = FIRST_CAP_BYTES < buf->max_bytes ? FIRST_CAP_BYTES : buf->max_bytes;
    if (room < need_bytes)
        room = need_bytes;
    grown = cairn_realloc(buf->data, room + 1);
    if (grown == NULL)
        return buf->code = -CAIRN_ENOMEM;
    buf->data = grown;
    buf->cap_bytes = room;
    return 0;
}

int cairn_buf_reserve(struct cairn_buf *buf, size_t more_bytes)
{
    /* Nothing goes behind a failed append: what is there stays a prefix of what was meant. */
    if (buf->code < 0)
        return buf->code;
    if (more_bytes <= buf->cap_bytes - buf->size_bytes)
        return 0;
    if (more_bytes > buf->max_bytes - buf->size_bytes)
        return buf->code = -CAIRN_ELIMIT;
    return grow(buf, buf->size_bytes + more_bytes);
}

int cairn_buf_add(struct cairn_buf *buf, const void *data, size_t size_bytes)
{
    CAIRN_TRY(cairn_buf_reserve(buf, size_bytes));
    if (size_bytes > 0)
        memcpy(buf->data + buf->size_bytes, data, size_bytes);
    buf->size_bytes += size_bytes;
    return 0;
}

int cairn_buf_add_str(struct cairn_buf *buf, const char *str)
{
    return cairn_buf_add(buf, str, strlen(str));
}

static int add_fixed(struct cairn_buf *buf, uint64_t value, unsigned width_bytes)
{
    CAIRN_TRY(cairn_buf_reserve(buf, width_bytes));
    for (unsigned i = 0; i < width_bytes; i++)
        buf->data[buf->size_bytes++] = (uint8_t)(value >> (8 * i));
    return 0;
}

int cairn_buf_u8(struct cairn_buf *buf, uint8_t value)
{
    return add_fixed(buf, value, 1);
}

int cairn_buf_u16(struct cairn_buf *buf, uint16_t value)
{
    return add_fixed(buf, value, 2);
}

int cairn_buf_u32(struct cairn_buf *buf, uint32_t value)
{
    return add_fixed(buf, value, 4);
}

int cairn_buf_u64(struct cairn_buf *buf, uint64_t value)
{
    return add_fixed(buf, value, 8);
}

int cairn_buf_uvarint(struct cairn_buf *buf, uint64_t value)
{
    uint8_t bytes[10];
    size_t used = 0;

    while (value >= 0x80) {
        bytes[used++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[used++] = (uint8_t)value;
    return cairn_buf_add(buf, bytes, used);
}

int cairn_buf_svarint(struct cairn_buf *buf, int64_t value)
{
    return cairn_buf_uvarint(buf, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

int cairn_buf_bytes(struct cairn_buf *buf, struct cairn_span span)
{
    size_t before_bytes = buf->size_bytes;

    CAIRN_TRY(cairn_buf_uvarint(buf, span.size_bytes));
    if (cairn_buf_add(buf, span.data, span.size_bytes) < 0)
        buf->size_bytes = before_bytes;
    return buf->code;
}

int cairn_buf_vprintf(struct cairn_buf *buf, const char *fmt, va_list args)
{
    va_list again;
    int needed;

    if (buf->code < 0)
        return buf->code;
    va_copy(again, args);
    needed = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (needed < 0)
        return buf->code = errno == ENOMEM ? -CAIRN_ENOMEM : -CAIRN_ELIMIT;
    CAIRN_TRY(cairn_buf_reserve(buf, (size_t)needed));
    if (needed > 0)
        vsnprintf((char *)buf->data + buf->size_bytes, (size_t)needed + 1, fmt, args);
    buf->size_bytes += (size_t)needed;
    return 0;
}

int cairn_buf_printf(struct cairn_buf *buf, const char *fmt, ...)
{
    va_list args;
    int code;

    va_start(args, fmt);
    code = cairn_buf_vprintf(buf, fmt, args);
    va_end(args);
    return code;
}

const char *cairn_buf_cstr(struct cairn_buf *buf)
{
    if (buf->data == NULL)
        return "";
    buf->data[buf->size_bytes] = '\0';
    return (const char *)buf->data;
}

struct cairn_span cairn_buf_span(const struct cairn_buf *buf)
{
    return (struct cairn_span){buf->data, buf->size_bytes};
}

uint8_t *cairn_buf_detach(struct cairn_buf *buf, size_t *ret_size_bytes)
{
    uint8_t *data = buf->data;

    *ret_size_bytes = buf->size_bytes;
    buf->data = NULL;
    buf->size_bytes = 0;
    buf->cap_bytes = 0;
    return data;
}
