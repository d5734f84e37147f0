/* guested.h: foreign bytes read the whole way into a model, for unit tests and fuzzers. */
#ifndef CAIRN_GUESTED_H
#define CAIRN_GUESTED_H

#include "formats.h"
#include "tally.h"

typedef int guested_reader(struct cairn_feed *feed, struct cairn_guest *guest,
                           struct cairn_err *err);

/* What the reader, or with NULL the door, makes of the bytes; 0 and a model to free, or what
 * reading them failed with. A recording that cannot be loaded, or has lost something, ends the
 * program. `each_ns`: as cairn_import_options.interval_ns. */
int guested_load(guested_reader *reader, struct cairn_span bytes, uint64_t each_ns,
                 struct cairn_model **ret_model, struct cairn_err *err);

/* Reads the bytes, and whatever they made into the rows of a report: for fuzzers. Returns 0. */
int guested_fuzz(guested_reader *reader, const uint8_t *data, size_t size_bytes);

#endif
