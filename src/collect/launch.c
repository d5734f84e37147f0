#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "io.h"
#include "procfs.h"

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGCHLD};
#define HANDLED_COUNT (sizeof(handled) / sizeof(handled[0]))

/* Written by the handler alone. Signals are process-wide, hence so is this. */
static volatile sig_atomic_t came[HANDLED_COUNT];
static volatile sig_atomic_t for_us_alone[HANDLED_COUNT]; /* sent by a process, not a terminal */
static volatile sig_atomic_t anything;

static struct sigaction old_actions[HANDLED_COUNT];
static unsigned interrupts; /* Ctrl-C so far, of this launch */

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < HANDLED_COUNT; i++)
        if (handled[i] == number) {
            came[i] = came[i] + 1;
            if (info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE)
                for_us_alone[i] = 1;
        }
    anything = 1;
}

/* What we were told to ignore (nohup, a background job of a simple shell) stays so, but for what
 * alone ends a recording of nobody of ours: `kill -INT` is how a script does. */
static bool stays_ignored(const struct sigaction *old, int number, bool attached)
{
    return old->sa_handler == SIG_IGN && number != SIGCHLD && !(attached && number == SIGINT);
}

/* 0, or an errno: without SIGCHLD nobody would tell when the program is over. */
static int take_signals(bool attached)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    int sys = 0;

    sigfillset(&action.sa_mask);
    anything = 0;
    interrupts = 0;
    for (size_t i = 0; i < HANDLED_COUNT; i++) {
        came[i] = for_us_alone[i] = 0;
        sigaction(handled[i], NULL, &old_actions[i]);
        if (!stays_ignored(&old_actions[i], handled[i], attached) &&
            sigaction(handled[i], &action, NULL) < 0)
            sys = errno;
    }
    return sys;
}

static void give_signals_back(void)
{
    for (size_t i = 0; i < HANDLED_COUNT; i++)
        sigaction(handled[i], &old_actions[i], NULL);
}

struct program {
    char *const *argv;
    char *const *env;
    const struct cairn_owner *owner; /* NULL: ourselves */
};

/* In the child: waits to be let go, then becomes the program. Async-signal-safe calls only. */
static void become_program(const struct program *program, int hold_fd, int failure_fd)
{
    char byte;
    int sys = 0;

    give_signals_back();
    while (read(hold_fd, &byte, 1) < 0 && errno == EINTR)
        ;
    if (program->owner)
        sys = -cairn_owner_become(program->owner);
    if (sys == 0) {
        execvpe(program->argv[0], program->argv, program->env);
        sys = errno;
    }
    (void)!write(failure_fd, &sys, sizeof(sys));
    _exit(127);
}

static int start_program(struct cairn_launch *launch, const struct program *program,
                         struct cairn_err *err)
{
    int hold[2], failure[2];
    pid_t pid;

    if (pipe2(hold, O_CLOEXEC) < 0)
        return cairn_err_set(err, -CAIRN_EIO, errno, "run", "cannot make a pipe");
    if (pipe2(failure, O_CLOEXEC) < 0) {
        int sys = errno;

        cairn_io_close(&hold[0]);
        cairn_io_close(&hold[1]);
        return cairn_err_set(err, -CAIRN_EIO, sys, "run", "cannot make a pipe");
    }
    pid = fork();
    if (pid == 0) {
        close(hold[1]);
        close(failure[0]);
        become_program(program, hold[0], failure[1]);
    }
    cairn_io_close(&hold[0]);
    cairn_io_close(&failure[1]);
    if (pid < 0) {
        int sys = errno;

        cairn_io_close(&hold[1]);
        cairn_io_close(&failure[0]);
        return cairn_err_set(err, -CAIRN_EIO, sys, "run", "cannot start a process");
    }
    launch->pid = pid;
    launch->hold_fd = hold[1];
    launch->failure_fd = failure[0];
    return 0;
}

static int start_as(struct cairn_launch *launch, char *const *argv, const struct cairn_owner *owner,
                    struct cairn_err *err)
{
    struct program program = {.argv = argv, .env = environ, .owner = owner};
    char **env = NULL;
    int code;

    if (owner) {
        program.env = env = cairn_owner_environment(owner, environ);
        if (!env)
            return cairn_err_set(err, -CAIRN_ENOMEM, 0, "run", "cannot start a process");
    }
    code = start_program(launch, &program, err);
    free(env);
    return code;
}

int cairn_launch_open(struct cairn_launch *launch, char *const *argv,
                      const struct cairn_owner *owner, struct cairn_err *err)
{
    int code = 0, sys;

    memset(launch, 0, sizeof(*launch));
    launch->hold_fd = launch->failure_fd = -1;
    sys = take_signals(!argv);
    launch->has_signals = true;
    if (sys != 0)
        return cairn_err_set(err, -CAIRN_EIO, sys, "run", "cannot take signals");
    if (argv)
        code = start_as(launch, argv, owner, err);
    return code;
}

int cairn_launch_release(struct cairn_launch *launch, struct cairn_err *err)
{
    int sys = 0;
    ssize_t got;

    cairn_io_close(&launch->hold_fd);
    got = cairn_io_read(launch->failure_fd, &sys, sizeof(sys)); /* ends at the exec */
    cairn_io_close(&launch->failure_fd);
    if (got != (ssize_t)sizeof(sys))
        return 0;
    while (wait4(launch->pid, &launch->status, 0, &launch->usage) < 0 && errno == EINTR)
        ;
    launch->exited = true;
    if (sys == ENOENT)
        return cairn_err_set(err, -CAIRN_ENOTFOUND, sys, "run", "cannot run the program");
    if (sys == EACCES || sys == ENOEXEC || sys == EISDIR)
        return cairn_err_set(err, -CAIRN_ENOTEXEC, sys, "run", "cannot run the program");
    return cairn_err_set(err, -CAIRN_EIO, sys, "run", "cannot run the program");
}

/* Collects the state of our child. When it stopped (by itself or by the terminal), so do we: the
 * shell that started us sees one job. */
static void look_at_child(struct cairn_launch *launch)
{
    struct cairn_proc_stat stat;
    siginfo_t info = {0};
    int status;
    pid_t got;

    /* Once it is waited for, its book is closed. */
    if (waitid(P_PID, (id_t)launch->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == launch->pid) {
        if (cairn_proc_cpu_ns(launch->pid, &launch->cpu_ns) < 0)
            launch->cpu_ns = 0;
        if (launch->ends)
            launch->ends(launch->ends_ctx);
    }
    do
        got = wait4(launch->pid, &status, WNOHANG | WUNTRACED, &launch->usage);
    while (got < 0 && errno == EINTR);
    if (got < 0) { /* no signal would ever tell more */
        launch->exited = true;
        launch->wait_sys = errno;
    }
    if (got != launch->pid)
        return;
    if (!WIFSTOPPED(status)) {
        launch->exited = true;
        launch->status = status;
        return;
    }
    /* The terminal may have stopped and continued us both before we came to ask. */
    if (cairn_proc_stat(launch->pid, 0, &stat) < 0 || stat.state != 'T')
        return;
    kill(getpid(), SIGSTOP);
    /* Here somebody continued us; the program may have been continued with us, or not. */
    kill(launch->pid, SIGCONT);
}

static void pass_on(struct cairn_launch *launch, int number)
{
    if (launch->pid && !launch->exited)
        kill(launch->pid, number);
}

static void deal_with(struct cairn_launch *launch, size_t i, unsigned times, bool alone)
{
    switch (handled[i]) {
    case SIGCHLD:
        break; /* looked at below */
    case SIGINT:
        interrupts += times;
        if (alone)
            pass_on(launch, SIGINT);
        break;
    case SIGQUIT: /* of the terminal: the program's business */
        if (alone)
            pass_on(launch, SIGQUIT);
        break;
    default:
        /* Attached, there is nobody of ours to pass it on to: it means "end". */
        if (!launch->pid && (handled[i] == SIGTERM || handled[i] == SIGHUP))
            interrupts += times;
        pass_on(launch, handled[i]);
    }
}

bool cairn_launch_poll(struct cairn_launch *launch, bool *ret_interrupted)
{
    if (anything) {
        anything = 0;
        for (size_t i = 0; i < HANDLED_COUNT; i++) {
            sigset_t one, old;
            unsigned times;
            bool alone;

            sigemptyset(&one);
            sigaddset(&one, handled[i]);
            sigprocmask(SIG_BLOCK, &one, &old);
            times = (unsigned)came[i];
            alone = for_us_alone[i];
            came[i] = for_us_alone[i] = 0;
            sigprocmask(SIG_SETMASK, &old, NULL);
            if (times)
                deal_with(launch, i, times, alone);
        }
        if (launch->pid && !launch->exited)
            look_at_child(launch);
    }
    *ret_interrupted = interrupts >= (launch->pid ? 2u : 1u);
    return *ret_interrupted || launch->exited;
}

bool cairn_launch_wait(struct cairn_launch *launch)
{
    bool interrupted = false;
    sigset_t all, old;

    if (!launch->pid)
        return false;
    /* Blocked between the look and the wait, so that no signal falls in between. */
    sigfillset(&all);
    for (;;) {
        sigprocmask(SIG_BLOCK, &all, &old);
        if (!anything) {
            look_at_child(launch);
            if (!launch->exited)
                sigsuspend(&old);
        }
        sigprocmask(SIG_SETMASK, &old, NULL);
        if (cairn_launch_poll(launch, &interrupted))
            return interrupted;
    }
}

void cairn_launch_abandon(struct cairn_launch *launch)
{
    if (launch->hold_fd < 0)
        return;
    kill(launch->pid, SIGKILL);
    while (wait4(launch->pid, &launch->status, 0, &launch->usage) < 0 && errno == EINTR)
        ;
    launch->exited = true;
    cairn_io_close(&launch->hold_fd);
    cairn_io_close(&launch->failure_fd);
}

void cairn_launch_close(struct cairn_launch *launch)
{
    if (launch->has_signals)
        give_signals_back();
    launch->has_signals = false;
}
