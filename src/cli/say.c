#include "say.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "io.h"

#define SAID_MAX_BYTES 8192

/* Words out of file names and argv must not steer a terminal; the newlines are ours. */
static void put(const char *text)
{
    struct cairn_buf out;

    cairn_buf_init(&out, SAID_MAX_BYTES);
    cairn_buf_add_str(&out, "cairn: ");
    for (;;) {
        size_t size_bytes = strcspn(text, "\n");

        cairn_escape_terminal(&out, (struct cairn_span){(const uint8_t *)text, size_bytes});
        if (text[size_bytes] == '\0')
            break;
        cairn_buf_add_str(&out, "\n       ");
        text += size_bytes + 1;
    }
    cairn_buf_u8(&out, '\n');
    /* Nobody is left to tell when stderr is gone. */
    (void)cairn_io_write(STDERR_FILENO, out.data, out.size_bytes);
    cairn_buf_release(&out);
}

void cairn_say(const char *fmt, ...)
{
    struct cairn_buf text;
    va_list args;

    cairn_buf_init(&text, SAID_MAX_BYTES);
    va_start(args, fmt);
    cairn_buf_vprintf(&text, fmt, args);
    va_end(args);
    put(text.code == 0 ? cairn_buf_cstr(&text) : "out of memory");
    cairn_buf_release(&text);
}

int cairn_say_err(const struct cairn_err *err)
{
    put(err->text[0] != '\0' ? err->text : cairn_err_sentence(err->code));
    return cairn_err_status(err->code);
}

int cairn_say_out(struct cairn_buf *out)
{
    struct cairn_err err;
    int code = out->code;

    if (code == 0) {
        signal(SIGPIPE, SIG_IGN); /* a reader that goes away is a quiet end */
        code = cairn_io_write(STDOUT_FILENO, out->data, out->size_bytes);
        if (code == 0 || code == -EPIPE)
            return 0;
        cairn_err_set(&err, -CAIRN_EIO, -code, "stdout", "cannot write stdout");
    } else {
        cairn_err_set(&err, code, 0, "stdout", "the text could not be made");
    }
    return cairn_say_err(&err);
}
