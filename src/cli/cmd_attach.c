/* cmd_attach.c: `cairn attach PID`: samples a process that runs already, then reports. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "counting.h"
#include "handshake.h"
#include "pidword.h"
#include "procfs.h"
#include "record.h"
#include "say.h"

static void on_began(void *ctx)
{
    cairn_handshake_answer(ctx);
}

int cairn_cmd_attach(struct cairn_call *call)
{
    struct cairn_record record = {.report = {.fd = -1}};
    struct cairn_counting counting = {.owner = NULL};
    struct cairn_proc_stat stat = {.comm = "process"};
    struct cairn_err err = {0};
    int code, status = 0;
    pid_t pid;

    cairn_buf_init(&record.path, 0);
    code = cairn_pid_read(call->words.items[0], &pid, &err);
    if (code == 0 && call->settings.handshake)
        code = cairn_handshake_begin(&err);
    if (code == 0) {
        (void)cairn_proc_stat(pid, 0, &stat); /* a name to call it by; the session judges it */
        code = cairn_record_open(&record, &call->settings, stat.comm, &err);
    }
    if (code == 0)
        code = cairn_counting_open(&counting, &call->settings, pid, &record.options, &err);
    if (code == 0) {
        record.options.pid = pid;
        if (call->settings.handshake) {
            record.options.began = on_began;
            record.options.began_ctx = (void *)(uintptr_t)record.options.path;
        }
        code = cairn_record_run(&record, &err);
        if (code < 0) {
            cairn_pid_advise("attach", pid, &err);
            status = cairn_say_err(&err);
            if (record.result.saw_python)
                (void)cairn_record_report(&record, &err); /* what failed first was said */
            code = 0;
        } else {
            code = cairn_record_report(&record, &err);
        }
    }
    if (code < 0)
        status = cairn_say_err(&err);
    cairn_record_close(&record);
    cairn_counting_close(&counting);
    return status;
}
