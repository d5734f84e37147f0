/* writer_encode.h: how the writer's entries, ticks and tables become the bytes of a section. Part
 * of the writer; nobody else includes it. All append to `writer->body`, whose `code` tells. */
#ifndef CAIRN_WRITER_ENCODE_H
#define CAIRN_WRITER_ENCODE_H

#include "writer_parts.h"

void cairn_encode_writer(struct cairn_writer *writer);
void cairn_encode_entry(struct cairn_writer *writer, enum cairn_part part, uint32_t id);
void cairn_encode_linetable(struct cairn_writer *writer, const struct cairn_linetable_def *def);
void cairn_encode_clock(struct cairn_writer *writer, const struct cairn_clock_def *clock);
void cairn_encode_counters(struct cairn_writer *writer); /* those that changed */
void cairn_encode_ticks(struct cairn_writer *writer);
/* 0 or a code. Rows leave in groups of one track each; inside a group they keep their order. */
int cairn_encode_table(struct cairn_writer *writer, const struct cairn_writer_table *table);

#endif
