/* dis.h: a listing of instructions, as a person reads it and as JSON. 0 or a negative code. */
#ifndef CAIRN_DIS_H
#define CAIRN_DIS_H

#include "listing.h"
#include "outlet.h"

int cairn_dis_text(const struct cairn_tally *tally, const struct cairn_listing *listing,
                   unsigned width, bool colour, struct cairn_outlet *out);
int cairn_dis_json(const struct cairn_tally *tally, const struct cairn_listing *listing,
                   struct cairn_outlet *out);

#endif
