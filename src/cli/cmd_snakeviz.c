/* cmd_snakeviz.c: `cairn snakeviz [-s] [-H ADDR] [-p PORT] [-b BROWSER] FILE`: the page of a
 * profile, with snakeviz's words. */
#include <unistd.h>

#include "serving.h"

#define PORT 8080
#define MORE_PORTS 9 /* as many as snakeviz tries */

static void tell(const struct cairn_serving *serving, const struct cairn_server *server,
                 struct cairn_buf *out)
{
    cairn_buf_printf(out, "snakeviz web server started on %s:%u; enter Ctrl-C to exit\n",
                     serving->address, (unsigned)server->guard.port);
    cairn_server_link(server, cairn_serving_host(serving), false, out);
    cairn_buf_u8(out, '\n');
}

int cairn_cmd_snakeviz(struct cairn_call *call)
{
    const struct cairn_settings *settings = &call->settings;
    const struct cairn_serving serving = {
        .address = settings->address ? settings->address : "127.0.0.1",
        .port = settings->tool_port == CAIRN_CHOICE_NONE ? PORT : (uint16_t)settings->tool_port,
        .more_ports = MORE_PORTS,
        .fd = STDOUT_FILENO,
        .tell = tell,
    };

    return cairn_serve(&serving, call);
}
