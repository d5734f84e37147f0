#include "base64_out.h"

static void put_four(struct cairn_base64 *base64)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *kept = base64->kept;
    char four[4] = {
        letters[kept[0] >> 2],
        letters[(kept[0] & 3) << 4 | kept[1] >> 4],
        letters[(kept[1] & 15) << 2 | kept[2] >> 6],
        letters[kept[2] & 63],
    };

    cairn_buf_add(&base64->out->buf, four, sizeof(four));
    base64->kept_bytes = 0;
}

int cairn_base64_add(struct cairn_base64 *base64, const void *data, size_t size_bytes)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size_bytes; i++) {
        base64->kept[base64->kept_bytes++] = bytes[i];
        if (base64->kept_bytes == 3)
            put_four(base64);
    }
    return cairn_outlet_drain(base64->out);
}

int cairn_base64_end(struct cairn_base64 *base64)
{
    struct cairn_buf *buf = &base64->out->buf;
    unsigned missing = base64->kept_bytes ? 3 - base64->kept_bytes : 0;

    if (missing > 0) {
        for (unsigned i = base64->kept_bytes; i < 3; i++)
            base64->kept[i] = 0;
        put_four(base64);
        if (buf->code == 0) {
            buf->size_bytes -= missing;
            cairn_buf_add(buf, "==", missing);
        }
    }
    return cairn_outlet_drain(base64->out);
}
