/* report_json_lines.h: of `report --json` the lines that were counted one by one. */
#ifndef CAIRN_REPORT_JSON_LINES_H
#define CAIRN_REPORT_JSON_LINES_H

#include "json_out.h"
#include "tally.h"

/* The key `lines` and its array. 0 or a negative code with `err` filled. */
int cairn_report_json_lines(struct cairn_json *json, const struct cairn_tally *tally,
                            struct cairn_err *err);

#endif
