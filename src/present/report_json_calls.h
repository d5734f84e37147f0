/* report_json_calls.h: the rows of `report --json` where calls were counted one by one. */
#ifndef CAIRN_REPORT_JSON_CALLS_H
#define CAIRN_REPORT_JSON_CALLS_H

#include "json_out.h"
#include "outlet.h"
#include "table.h"

/* Writes `base_s` to `rows`; `rows` are what was sampled, by function, `limit` 0 is none. 0 or
 * a negative code. */
int cairn_report_json_calls(struct cairn_json *json, const struct cairn_tally *tally,
                            const struct cairn_rows *rows, enum cairn_sort sort, size_t limit,
                            struct cairn_outlet *out);

/* Where calls were counted, `counted`: the functions that match `of`, each with who called it and
 * whom it called; else null. 0 or a negative code with `err` filled. */
int cairn_report_json_counted(struct cairn_json *json, const struct cairn_tally *tally,
                              const char *of, struct cairn_outlet *out, struct cairn_err *err);

#endif
