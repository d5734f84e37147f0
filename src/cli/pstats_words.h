/* pstats_words.h: what people type behind `stats`, `callers` and `callees`, as Python takes it. */
#ifndef CAIRN_PSTATS_WORDS_H
#define CAIRN_PSTATS_WORDS_H

#include "cursor.h"
#include "pstats.h"

/* `text` without Python's white space at both ends. */
struct cairn_span cairn_pstats_strip_spaces(struct cairn_span text);

/* The first word of *text, which is moved behind it; false: there is none. */
bool cairn_pstats_word(struct cairn_span *text, struct cairn_span *ret_word);

/* A word as int(), else as float(), else as a regular expression, borrowed. False: a float that is
 * no share of a whole. */
bool cairn_pstats_limit(struct cairn_span word, struct cairn_pstats_limit *ret_limit);

#endif
