/* report_json.h: the report for scripts: one JSON object, its keys listed in docs/json.md. */
#ifndef CAIRN_REPORT_JSON_H
#define CAIRN_REPORT_JSON_H

#include "report_text.h"

/* Raised when a key changes its meaning or goes away; new keys leave it as it is. */
#define CAIRN_JSON_SCHEMA 1

/* Options as for the text; `by` -1 means by function, `limit` 0 all rows; width, colour and next
 * do not matter. 0, or a negative code with `err` filled (NULL allowed). */
int cairn_report_json(const struct cairn_tally *tally, const struct cairn_report_options *options,
                      struct cairn_outlet *out, struct cairn_err *err);

#endif
