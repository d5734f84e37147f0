/* cmd_view.c: `cairn view [FILE …]`: the page of `cairn html`, from a server of its own. */
#include <unistd.h>

#include "serving.h"

/* The link, alone, for scripts. */
static void tell(const struct cairn_serving *serving, const struct cairn_server *server,
                 struct cairn_buf *out)
{
    (void)serving;
    cairn_server_link(server, NULL, false, out);
    cairn_buf_u8(out, '\n');
}

int cairn_cmd_view(struct cairn_call *call)
{
    const char *address = call->settings.address;
    const struct cairn_serving serving = {
        .address = address ? address : "127.0.0.1",
        .port = (uint16_t)call->settings.port,
        .fd = STDOUT_FILENO,
        .tell = tell,
    };

    return cairn_serve(&serving, call);
}
