/* text.h: numbers as people write and read them, UTF-8 as terminals show it, words as shells do.
 *
 * One syntax for times (250us, 10ms, 3s, 2m, 1h; a plain number is seconds), sizes (64k, 10m, 2g,
 * powers of 1024, optional B/iB) and rates (100hz, 1khz, 10khz, max, a plain number is Hz).
 * Parsers take the whole string: 0, or -CAIRN_EUSAGE with *ret_ untouched.
 */
#ifndef CAIRN_TEXT_H
#define CAIRN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

int cairn_text_parse_time(const char *text, uint64_t *ret_ns);
int cairn_text_parse_size(const char *text, uint64_t *ret_bytes);
int cairn_text_parse_rate(const char *text, uint64_t *ret_interval_ns); /* 0 ns means "max" */
int cairn_text_parse_u64(const char *text, uint64_t *ret_value);        /* decimal, 0x… */

/* "1.37 s", "412 ms", "8.1 us", "312 MiB": three significant digits, one unit. */
void cairn_text_time(struct cairn_buf *out, uint64_t ns);
void cairn_text_size(struct cairn_buf *out, uint64_t bytes);
/* A time, or, where `each_ns` is not 0, how many there are of what is kept as so many ns each:
 * "1.37 M". */
void cairn_text_amount(struct cairn_buf *out, uint64_t ns, uint64_t each_ns);
void cairn_text_count(struct cairn_buf *out, uint64_t count); /* 1,366 */

/* A word of a shell's command line: in quotes unless it is plain. Its bytes are not escaped: what
 * goes to a terminal is escaped after that. */
void cairn_text_shell_word(struct cairn_buf *out, struct cairn_span word);

/* Decodes one character; an invalid byte gives U+FFFD and a length of 1. `size_bytes` > 0. */
size_t cairn_text_utf8_next(const uint8_t *data, size_t size_bytes, uint32_t *ret_char);
void cairn_text_utf8_add(struct cairn_buf *out, uint32_t character);

/* Columns a character takes on a terminal: 0 (combining, control), 1 or 2. */
int cairn_text_width(uint32_t character);

/* Columns the whole string takes. */
size_t cairn_text_columns(struct cairn_span text);

/* Takes the first line off `rest`, without its end; false: nothing is left. */
bool cairn_text_line(struct cairn_span *rest, struct cairn_span *ret_line);

/* Levenshtein distance, for "did you mean"; strings above 64 bytes count as far away. */
unsigned cairn_text_distance(const char *a, const char *b);

/* Of a hexadecimal digit: 0 to 15; of anything else: -1. */
int cairn_hex_value(char c);

#endif
