#include "handshake.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buf.h"
#include "io.h"

#define LINE_MAX_BYTES 64
#define ANSWER_MAX_BYTES (1 << 16)

/* A program may block or ignore what is to end us. */
static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGKILL && number != SIGSTOP)
            (void)signal(number, SIG_DFL); /* refused for the two that the C library keeps */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int await_go(void)
{
    char byte = '\0';

    for (size_t i = 0; i < LINE_MAX_BYTES && byte != '\n'; i++)
        if (cairn_io_read(STDIN_FILENO, &byte, 1) != 1)
            return -CAIRN_EGONE;
    return byte == '\n' ? 0 : -CAIRN_EGONE;
}

static void on_word(int number)
{
    (void)number;
}

int cairn_handshake_begin(struct cairn_err *err)
{
    int code;

    reset_signals();
    /* What is said, and then that it is closed, are two signals: the second may come when those of
     * the session have been given back. */
    (void)signal(SIGTERM, on_word);
    /* Not there before Linux 5.9: then what the program left inheritable stays open. */
    (void)syscall(SYS_close_range, STDERR_FILENO + 1, UINT32_MAX, 0);
    code = await_go();
    return code < 0 ? cairn_err_set(err, code, 0, "attach", "the program did not say \"go\"") : 0;
}

void cairn_handshake_answer(const char *path)
{
    struct pollfd other = {.fd = STDIN_FILENO, .events = POLLIN};
    struct cairn_buf line;

    /* Armed before the answer: what is said to it cannot come too early to be heard. */
    if (fcntl(STDIN_FILENO, F_SETSIG, SIGTERM) < 0 || fcntl(STDIN_FILENO, F_SETOWN, getpid()) < 0 ||
        fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_ASYNC) < 0 ||
        poll(&other, 1, 0) != 0)
        (void)raise(SIGTERM);
    cairn_buf_init(&line, ANSWER_MAX_BYTES);
    cairn_buf_printf(&line, "sampling %s\n", path);
    (void)cairn_io_write(STDOUT_FILENO, line.data, line.size_bytes); /* it may be gone: see above */
    cairn_buf_release(&line);
}
