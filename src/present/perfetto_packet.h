/* perfetto_packet.h: what every packet of a Perfetto trace has in common.
 *
 * Traces that stand one behind the other read as one, so a trace is written packet by packet. All
 * are of one sequence: a number that was told once (an interned name, frame, stack) holds from then
 * on.
 * Threads: one at a time for each outlet.
 */
#ifndef CAIRN_PERFETTO_PACKET_H
#define CAIRN_PERFETTO_PACKET_H

#include "outlet.h"

struct Perfetto__TracePacket; /* perfetto.pb-c.h, which is made by the build */

#define CAIRN_PERFETTO_CLEARED 1 /* sequence_flags: what was interned before is forgotten */
#define CAIRN_PERFETTO_NEEDED 2  /* what was interned before is used */
#define CAIRN_PERFETTO_TEXT_MAX_BYTES ((size_t)1 << 30)

/* 0, -CAIRN_ENOMEM, or what the outlet says. */
int cairn_perfetto_put(struct cairn_outlet *out, struct Perfetto__TracePacket *packet);

/* `raw` as the text of a message, in a buffer that holds it until the next one. */
int cairn_perfetto_text(struct cairn_buf *buf, struct cairn_span raw, char **ret_text);

#endif
