/* buf.h: a byte buffer that grows up to a ceiling named at birth.
 *
 * Holds always: size_bytes <= cap_bytes <= max_bytes; `data` is NULL exactly when cap_bytes is 0.
 * An append that fails changes nothing and sets `code`, which stays until clear or release, and
 * until then nothing more is appended: a writer may append many times and look at `code` once, and
 * what is there is a prefix of what was meant.
 * Owner: the buffer owns its bytes until cairn_buf_detach().
 * Threads: one at a time.
 */
#ifndef CAIRN_BUF_H
#define CAIRN_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"

struct cairn_buf {
    uint8_t *data;
    size_t size_bytes, cap_bytes, max_bytes;
    int code; /* first failure since init or clear: 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT */
};

void cairn_buf_init(struct cairn_buf *buf, size_t max_bytes);
void cairn_buf_release(struct cairn_buf *buf); /* frees; usable again as after init */
void cairn_buf_clear(struct cairn_buf *buf);   /* empties, keeps the memory, forgets `code` */

/* Room for `more_bytes` behind what is there. All of these return 0 or what `code` became. */
int cairn_buf_reserve(struct cairn_buf *buf, size_t more_bytes);
int cairn_buf_add(struct cairn_buf *buf, const void *data, size_t size_bytes);
int cairn_buf_add_str(struct cairn_buf *buf, const char *str);
int cairn_buf_u8(struct cairn_buf *buf, uint8_t value);
int cairn_buf_u16(struct cairn_buf *buf, uint16_t value); /* little-endian */
int cairn_buf_u32(struct cairn_buf *buf, uint32_t value);
int cairn_buf_u64(struct cairn_buf *buf, uint64_t value);
int cairn_buf_uvarint(struct cairn_buf *buf, uint64_t value);
int cairn_buf_svarint(struct cairn_buf *buf, int64_t value);        /* zigzag */
int cairn_buf_bytes(struct cairn_buf *buf, struct cairn_span span); /* uvarint length, bytes */
int cairn_buf_printf(struct cairn_buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int cairn_buf_vprintf(struct cairn_buf *buf, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

/* NUL behind the last byte, not counted in size. Borrowed; never NULL. */
const char *cairn_buf_cstr(struct cairn_buf *buf);

struct cairn_span cairn_buf_span(const struct cairn_buf *buf);

/* Hands the bytes over; free() them. The buffer is empty afterwards. */
uint8_t *cairn_buf_detach(struct cairn_buf *buf, size_t *ret_size_bytes);

#endif
