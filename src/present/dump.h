/* dump.h: what every thread does at this moment, of a recording that holds a moment.
 *
 * Each thread's latest sample, innermost frame first. 0, or a negative code with `err` filled
 * (NULL allowed).
 */
#ifndef CAIRN_DUMP_H
#define CAIRN_DUMP_H

#include "model.h"
#include "outlet.h"

int cairn_dump_text(const struct cairn_model *model, bool colour, struct cairn_outlet *out,
                    struct cairn_err *err);
int cairn_dump_json(const struct cairn_model *model, struct cairn_outlet *out,
                    struct cairn_err *err);

#endif
