#include "outlet.h"

#include <errno.h>

#include "io.h"

#define RECORD_MAX_BYTES ((size_t)4 << 30) /* of what gathers before it is written */
#define WRITE_BYTES ((size_t)256 << 10)

void cairn_outlet_init(struct cairn_outlet *out, int fd, const char *name)
{
    *out = (struct cairn_outlet){.fd = fd, .name = name};
    cairn_buf_init(&out->buf, RECORD_MAX_BYTES);
}

void cairn_outlet_release(struct cairn_outlet *out)
{
    cairn_buf_release(&out->buf);
}

static int write_out(struct cairn_outlet *out)
{
    int code;

    if (out->sys)
        return -CAIRN_EIO;
    code = cairn_io_write(out->fd, out->buf.data, out->buf.size_bytes);
    if (code < 0)
        out->sys = -code;
    cairn_buf_clear(&out->buf);
    return code < 0 ? -CAIRN_EIO : 0;
}

int cairn_outlet_drain(struct cairn_outlet *out)
{
    if (out->buf.code < 0)
        return out->buf.code;
    if (out->sys)
        return -CAIRN_EIO;
    if (out->fd < 0 || out->buf.size_bytes < WRITE_BYTES)
        return 0;
    return write_out(out);
}

int cairn_outlet_finish(struct cairn_outlet *out, int code, struct cairn_err *err)
{
    if (out->buf.code < 0 && code == 0)
        code = out->buf.code;
    if (code == 0 && out->fd >= 0 && out->buf.size_bytes > 0)
        code = write_out(out);
    if (out->fd >= 0)
        cairn_outlet_release(out);
    if (out->sys == EPIPE)
        return 0;
    if (out->sys)
        return cairn_err_set(err, -CAIRN_EIO, out->sys, "outlet", "cannot write %s", out->name);
    if (code < 0 && err && err->code == 0)
        cairn_err_set(err, code, 0, "outlet", "cannot write %s: %s", out->name,
                      cairn_err_sentence(code));
    return code;
}
