/* pyregex.h: regular expressions as Python's re reads them, searched for in names.
 *
 * The pattern is put into PCRE2's words: what Python refuses is refused, what the two mean by
 * different signs is translated. What is left of differences stands in docs/compat.md.
 * Owner: the caller, until cairn_pyregex_free(). Threads: one at a time.
 */
#ifndef CAIRN_PYREGEX_H
#define CAIRN_PYREGEX_H

#include <stdbool.h>

#include "cursor.h"

struct cairn_pyregex;

/* 0; -CAIRN_EUSAGE when Python would not take it; -CAIRN_ENOMEM, -CAIRN_ELIMIT. */
int cairn_pyregex_make(struct cairn_span pattern, struct cairn_pyregex **ret_regex);
void cairn_pyregex_free(struct cairn_pyregex *regex);

/* Whether some part of `text` matches; -CAIRN_ELIMIT when that takes too long to find out, or
 * -CAIRN_ENOMEM. */
int cairn_pyregex_search(const struct cairn_pyregex *regex, struct cairn_span text,
                         bool *ret_found);

#endif
