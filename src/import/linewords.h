/* linewords.h: the words of a line, for readers of what tools print. All is borrowed from the line.
 * Threads: any; nothing is kept.
 */
#ifndef CAIRN_LINEWORDS_H
#define CAIRN_LINEWORDS_H

#include <stdbool.h>

#include "cursor.h"

bool cairn_words_begin(struct cairn_span text, const char *head);

/* Takes blanks off both ends. */
struct cairn_span cairn_words_trim(struct cairn_span text);

/* Takes the next word, and the blanks in front of it, off the text; empty: there is none. */
struct cairn_span cairn_words_take(struct cairn_span *text);

/* A line that is empty, or of blanks alone. */
bool cairn_words_none(struct cairn_span text);

/* Digits, with a point in them or without; false: it is none, or below 0. */
bool cairn_words_decimal(struct cairn_span word, double *ret_value);

/* Takes "+0x1f" off the end of a name: how far into the function it is. */
struct cairn_span cairn_words_without_offset(struct cairn_span name);

#endif
