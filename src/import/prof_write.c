/* prof_write.c: the oldest forms of marshal that every CPython from 3.8 on reads: no references, no
 * short forms. */
#include <string.h>

#include "prof.h"

static void put_int(struct cairn_buf *out, int64_t whole)
{
    uint64_t left = whole < 0 ? 0 - (uint64_t)whole : (uint64_t)whole;
    uint32_t count = 0;

    if (whole >= INT32_MIN && whole <= INT32_MAX) {
        cairn_buf_u8(out, 'i');
        cairn_buf_u32(out, (uint32_t)(int32_t)whole);
        return;
    }
    for (uint64_t rest = left; rest > 0; rest >>= 15)
        count++;
    cairn_buf_u8(out, 'l');
    cairn_buf_u32(out, whole < 0 ? 0 - count : count);
    for (; left > 0; left >>= 15)
        cairn_buf_u16(out, left & 0x7fff);
}

static void put_float(struct cairn_buf *out, double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    cairn_buf_u8(out, 'g');
    cairn_buf_u64(out, bits);
}

static void put_text(struct cairn_buf *out, struct cairn_span text)
{
    cairn_buf_u8(out, 'u');
    cairn_buf_u32(out, (uint32_t)text.size_bytes);
    cairn_buf_add(out, text.data, text.size_bytes);
}

static void put_tuple(struct cairn_buf *out, uint32_t size)
{
    cairn_buf_u8(out, '(');
    cairn_buf_u32(out, size);
}

static void put_key(struct cairn_buf *out, const struct cairn_prof *prof, uint32_t key)
{
    put_tuple(out, 3);
    put_text(out, cairn_prof_file(prof, key));
    put_int(out, prof->keys.items[key].line);
    put_text(out, cairn_prof_name(prof, key));
}

static void put_callers(struct cairn_buf *out, const struct cairn_prof *prof, uint32_t first)
{
    cairn_buf_u8(out, '{');
    for (uint32_t i = first; i != CAIRN_PROF_NONE; i = prof->callers.items[i].next) {
        const struct cairn_prof_caller *caller = &prof->callers.items[i];

        put_key(out, prof, caller->key);
        if (!caller->numbers.plain)
            put_tuple(out, 4);
        put_int(out, caller->numbers.calls);
        if (caller->numbers.plain)
            continue;
        put_int(out, caller->numbers.primitive);
        put_float(out, caller->numbers.self_s);
        put_float(out, caller->numbers.total_s);
    }
    cairn_buf_u8(out, '0');
}

int cairn_prof_write(const struct cairn_prof *prof, struct cairn_buf *out)
{
    cairn_buf_u8(out, '{');
    for (size_t i = 0; i < prof->rows.count; i++) {
        const struct cairn_prof_row *row = &prof->rows.items[i];

        put_key(out, prof, row->key);
        put_tuple(out, 5);
        put_int(out, row->numbers.primitive);
        put_int(out, row->numbers.calls);
        put_float(out, row->numbers.self_s);
        put_float(out, row->numbers.total_s);
        put_callers(out, prof, row->first);
    }
    return cairn_buf_u8(out, '0');
}
