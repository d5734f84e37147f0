/* pyregex.h: regular expressions as Python's re reads them, searched for in names.
 *
 * The pattern is put into PCRE2's words: what Python refuses is refused, what the two mean by
 * different signs is translated. What is left of differences stands in docs/compat.md. Who filters
 * may write what grep has besides: \< and \>, where a word begins and ends, and [[:alpha:]].
 * Owner: the caller, until cairn_pyregex_free(). Threads: one at a time.
 */
#ifndef CAIRN_PYREGEX_H
#define CAIRN_PYREGEX_H

#include <stdbool.h>

#include "cursor.h"

struct cairn_pyregex;

enum cairn_pyregex_signs { CAIRN_PYREGEX_PYTHON, CAIRN_PYREGEX_AND_GREP };

/* 0; -CAIRN_EUSAGE when Python would not take it; -CAIRN_ENOMEM, -CAIRN_ELIMIT. */
int cairn_pyregex_make(struct cairn_span pattern, enum cairn_pyregex_signs signs,
                       struct cairn_pyregex **ret_regex);
void cairn_pyregex_free(struct cairn_pyregex *regex);

/* Whether some part of `text` matches; -CAIRN_ELIMIT when that takes too long to find out, or
 * -CAIRN_ENOMEM. */
int cairn_pyregex_search(const struct cairn_pyregex *regex, struct cairn_span text,
                         bool *ret_found);

#endif
