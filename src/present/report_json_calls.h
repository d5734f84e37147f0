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

#endif
