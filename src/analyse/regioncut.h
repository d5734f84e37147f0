/* regioncut.h: the times in which threads were in regions of some name: what a filter's region
 * keeps of a recording. */
#ifndef CAIRN_REGIONCUT_H
#define CAIRN_REGIONCUT_H

#include "tally.h"

/* Fills `windows`, `regions` and `regions_whole` of a tally that has its filter, span and `kept`.
 * Regions of one thread that overlap are one time. Slow ones are the longest tenth of those that
 * have a length, one at least; the middle ones leave out a quarter at either end. -CAIRN_ENOTFOUND
 * when there is none of that name: `err` says which there are. -CAIRN_ENOMEM, -CAIRN_ELIMIT: as
 * cairn_region_list_make(), and `err` is left alone. */
int cairn_region_cut(struct cairn_tally *tally, struct cairn_err *err);

#endif
