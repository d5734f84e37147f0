/* cursor.h: reads numbers and spans out of bytes that nobody vouches for.
 *
 * Holds always: start <= next <= end, none of them NULL. A read that fails moves nothing and
 * leaves its ret_ argument alone, so the caller can still say where it happened.
 * Owner: the caller keeps the cursor and the bytes; every span handed out borrows the bytes,
 * const, for as long as those live. There is nothing to release.
 * The bytes are a private copy: what the target or another process can still write is copied
 * before it is read here, or the value checked would not be the value used.
 * Threads: one per cursor; the bytes, being const, may be shared.
 */
#ifndef CAIRN_CURSOR_H
#define CAIRN_CURSOR_H

#include <stddef.h>
#include <stdint.h>

struct cairn_err;

struct cairn_span {
    const uint8_t *data;
    size_t size_bytes;
};

/* By bytes, so by code points where they are UTF-8; what is longer comes later. As memcmp(). */
int cairn_span_compare(struct cairn_span a, struct cairn_span b);

struct cairn_cursor {
    const uint8_t *start, *next, *end;
};

/* Starts at the first byte of `span`. {NULL, 0} is a valid, empty span. */
void cairn_cursor_init(struct cairn_cursor *cur, struct cairn_span span);

/* How many bytes are left, and how many were read. */
size_t cairn_cursor_left_bytes(const struct cairn_cursor *cur);
size_t cairn_cursor_offset_bytes(const struct cairn_cursor *cur);

/* Every read returns 0; -CAIRN_EEND when no byte is left, which may be the ordinary end; or
 * -CAIRN_EDAMAGED when some are left but they cannot be what was asked for. */

/* Fixed width, little-endian. */
int cairn_cursor_u8(struct cairn_cursor *cur, uint8_t *ret_value);
int cairn_cursor_u16(struct cairn_cursor *cur, uint16_t *ret_value);
int cairn_cursor_u32(struct cairn_cursor *cur, uint32_t *ret_value);
int cairn_cursor_u64(struct cairn_cursor *cur, uint64_t *ret_value);

/* Unsigned LEB128, padded or not. Above 64 bits or ten bytes it is damaged, never cut short. */
int cairn_cursor_uvarint(struct cairn_cursor *cur, uint64_t *ret_value);

/* The same, and damaged when above UINT32_MAX. */
int cairn_cursor_uvarint32(struct cairn_cursor *cur, uint32_t *ret_value);

/* Signed: zigzag (0, -1, 1, -2 are 0, 1, 2, 3) over the unsigned form. */
int cairn_cursor_svarint(struct cairn_cursor *cur, int64_t *ret_value);

/* Borrows the next `size_bytes` bytes. */
int cairn_cursor_take(struct cairn_cursor *cur, uint64_t size_bytes, struct cairn_span *ret_span);

/* Borrows a span that stands behind its own uvarint length. */
int cairn_cursor_bytes(struct cairn_cursor *cur, struct cairn_span *ret_span);

/* Reads how many items follow, each of `min_bytes` (at least 1) or more. The answer is never
 * more than fit into what is left, hence safe to allocate by. */
int cairn_cursor_count(struct cairn_cursor *cur, size_t min_bytes, size_t *ret_count);

/* For the boundary: fills `err` (NULL is allowed) with why and at which byte reading `what`, a
 * static string, failed with `code`. Returns `code`. */
int cairn_cursor_fail(const struct cairn_cursor *cur, int code, const char *what,
                      struct cairn_err *err);

#endif
