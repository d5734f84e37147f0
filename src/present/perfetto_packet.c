#include "perfetto_packet.h"

#include "escape.h"
#include "perfetto.pb-c.h"

#define SEQUENCE 1

int cairn_perfetto_put(struct cairn_outlet *out, Perfetto__TracePacket *packet)
{
    Perfetto__Trace trace = PERFETTO__TRACE__INIT;
    size_t size_bytes;

    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    trace.n_packet = 1;
    trace.packet = &packet;
    size_bytes = perfetto__trace__get_packed_size(&trace);
    CAIRN_TRY(cairn_buf_reserve(&out->buf, size_bytes + 1));
    perfetto__trace__pack(&trace, out->buf.data + out->buf.size_bytes);
    out->buf.size_bytes += size_bytes;
    return cairn_outlet_drain(out);
}

/* protobuf-c ends texts with a NUL, so one inside would cut it off. */
int cairn_perfetto_text(struct cairn_buf *buf, struct cairn_span raw, char **ret_text)
{
    cairn_buf_clear(buf);
    cairn_escape_utf8(buf, raw);
    CAIRN_TRY(buf->code);
    *ret_text = (char *)(uintptr_t)cairn_buf_cstr(buf);
    return buf->code;
}
