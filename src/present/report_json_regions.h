/* report_json_regions.h: the regions and marks of a program, in `report --json`. */
#ifndef CAIRN_REPORT_JSON_REGIONS_H
#define CAIRN_REPORT_JSON_REGIONS_H

#include "json_out.h"
#include "tally.h"

/* `regions`, `slow_regions` and `marks`, null where no program wrote any. 0 or a negative code. */
int cairn_report_json_regions(struct cairn_json *json, const struct cairn_tally *tally,
                              struct cairn_err *err);

/* `regions`, `marks` and `regions_lost` of the quality section. */
void cairn_report_json_region_quality(struct cairn_json *json, const struct cairn_model *model);

#endif
