/* cmd_run.c: `cairn run …`: runs a program as if Cairn were not there, then reports; `cairn trace`
 * is `cairn run --exact`, `cairn lines` is `cairn run --lines`, and
 * `cairn count` both, the lines without their times. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counting.h"
#include "pidword.h"
#include "record.h"
#include "say.h"
#include "target.h"

#define STATUS_FIRST 121 /* from here to 127 a shell or Cairn might have spoken */
#define STATUS_LAST 127
#define STATUS_SIGNAL 128

#define HYBRID "hybrid"

/* The program's exit status as a shell shows it. When it is not 0 one line says so, and `tail`. */
static int tell_end(const struct cairn_launch *launch, const char *tail)
{
    int status, wait_status = launch->status;

    if (launch->wait_sys) {
        cairn_say("how the program ended cannot be known: %s; %s", strerror(launch->wait_sys),
                  tail);
        return cairn_err_status(-CAIRN_EIO);
    }
    if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        const char *name = sigabbrev_np(number);

        cairn_say("the program was ended by signal %d (%s%s); %s", number,
                  name != NULL ? "SIG" : "", name != NULL ? name : strsignal(number), tail);
        return STATUS_SIGNAL + number;
    }
    status = WEXITSTATUS(wait_status);
    if (status >= STATUS_FIRST && status <= STATUS_LAST)
        cairn_say("exit status %d is the program's own, not Cairn's; %s", status, tail);
    else if (status != 0)
        cairn_say("the program ended with exit status %d; %s", status, tail);
    return status;
}

/* Says how the program ended, before the report. With `failed` it was said why there is none. */
static int tell_outcome(const struct cairn_record *record, bool failed)
{
    const struct cairn_session_result *result = &record->result;
    const char *tail = "the profile covers everything until then";
    int status = 0;

    if (result->saw_python && failed)
        tail = "the profile ends before that";
    else if (!result->saw_python)
        tail = failed ? "there is no profile of it" : "no Python was seen in it";
    if (result->launch.exited)
        status = tell_end(&result->launch, tail);
    if (status == 0 && !failed && !result->saw_python && record->report.fd >= 0)
        cairn_say("no Python was seen in `%.300s`: none ran, or not for long enough",
                  record->options.run_as_shown);
    return status;
}

/* The recording ended first: what it tells has been told, now the program is waited for. */
static int outlive(struct cairn_record *record)
{
    struct cairn_session_result *result = &record->result;

    if (result->interrupted || cairn_session_wait(result) || !result->launch.exited)
        return STATUS_SIGNAL + SIGINT;
    return tell_end(&result->launch, "the profile covers what --for allowed");
}

/* After the session: says how it went and reports; returns the exit status of Cairn. `refused`:
 * that nothing may be read was said before. */
static int finish(struct cairn_record *record, int code, bool refused, const struct cairn_err *err)
{
    struct cairn_err report_err = {0};
    int status, own = 0;

    /* No time has passed: the program never began. */
    if (code < 0 && record->result.wall_ns == 0)
        return cairn_say_err(err);
    if (code == -CAIRN_EPERM && refused)
        own = cairn_err_status(code);
    else if (code < 0)
        own = cairn_say_err(err);
    status = tell_outcome(record, code < 0);
    if (record->result.saw_python && cairn_record_report(record, &report_err) < 0)
        own = own != 0 ? own : cairn_say_err(&report_err);
    if (!record->result.launch.exited && record->result.launch.pid > 0)
        status = outlive(record);
    /* A program that failed is the news that a script waits for. */
    return status != 0 ? status : own;
}

static int check_settings(struct cairn_settings *settings, struct cairn_err *err)
{
    settings->exact |= settings->timeline != CAIRN_CHOICE_NONE;
    if (settings->timeline_bytes != 0 && settings->timeline == CAIRN_CHOICE_NONE) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "run", "--timeline-size is room for no timeline");
        cairn_err_add(err, "Give --timeline with it.");
        return -CAIRN_EUSAGE;
    }
    if (settings->text_hook && !settings->exact) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "run",
                      "--text-hook has nothing to hurry: it is about counting calls");
        cairn_err_add(err, "Give --exact with it, or use `cairn trace` or `cairn count`.");
        return -CAIRN_EUSAGE;
    }
    if (settings->exact || settings->counted.wanted || settings->opcodes)
        return 0;
    if (settings->max_overhead_ppm != 0) {
        cairn_err_set(err, -CAIRN_EUSAGE, 0, "run",
                      "--max-overhead has nothing to let go: it is about counting");
        cairn_err_add(err, "Give --exact, --lines or --opcodes with it.");
        return -CAIRN_EUSAGE;
    }
    if (settings->toggle_signal == 0)
        return 0;
    cairn_err_set(err, -CAIRN_EUSAGE, 0, "run", "--toggle-signal has nothing to switch on and off");
    cairn_err_add(err, "Give --exact, --lines or --opcodes with it.");
    return -CAIRN_EUSAGE;
}

/* `--lines=hybrid` is no place, but how lines are counted. */
static void take_hybrid(struct cairn_settings *settings)
{
    struct cairn_places *places = &settings->counted;
    size_t kept = 0;

    for (size_t i = 0; i < places->count; i++) {
        if (strcmp(places->items[i], HYBRID) == 0)
            settings->hybrid = true;
        else
            places->items[kept++] = places->items[i];
    }
    places->count = kept;
}

static int run(struct cairn_call *call)
{
    struct cairn_record record = {.report = {.fd = -1}};
    struct cairn_counting counting = {.owner = NULL};
    struct cairn_target target;
    struct cairn_err err = {0};
    bool refused;
    int code, status;

    code = check_settings(&call->settings, &err);
    if (code == 0)
        code = cairn_target_resolve(&call->words, call->settings.python, &target, &err);
    if (code == 0)
        code = cairn_record_open(&record, &call->settings, cairn_buf_cstr(&target.name), &err);
    if (code == 0)
        code = cairn_counting_open(&counting, &call->settings, getpid(), &record.options, &err);
    if (code == 0) {
        record.options.argv = target.argv;
        record.options.run_as_shown = cairn_buf_cstr(&target.shown);
        if (record.options.owner != NULL)
            cairn_say("the program runs as %s, who called sudo; --as-root runs it as root",
                      record.owner.name);
        refused = cairn_pid_try_reading(&err) < 0;
        if (refused)
            (void)cairn_say_err(&err);
        code = cairn_record_run(&record, &err);
        cairn_counting_say(&counting);
        status = finish(&record, code, refused, &err);
    } else {
        status = cairn_say_err(&err);
    }
    cairn_record_close(&record);
    cairn_counting_close(&counting);
    cairn_target_release(&target);
    return status;
}

int cairn_cmd_run(struct cairn_call *call)
{
    struct cairn_settings *settings = &call->settings;

    take_hybrid(settings);
    if (settings->count) {
        settings->hybrid |= !settings->counted.wanted; /* --lines with it wants their times */
        settings->exact = settings->counted.wanted = true;
    }
    return run(call);
}

int cairn_cmd_trace(struct cairn_call *call)
{
    call->settings.exact = true;
    return cairn_cmd_run(call);
}

int cairn_cmd_lines(struct cairn_call *call)
{
    call->settings.counted.wanted = true;
    return run(call);
}

int cairn_cmd_count(struct cairn_call *call)
{
    call->settings.exact = call->settings.hybrid = true;
    return cairn_cmd_lines(call);
}
