#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"
#include "perf.h"
#include "procfs.h"
#include "pyread.h"
#include "remote.h"
#include "rng.h"

#define ROUND_MS 5000            /* for one round of the child */
#define PATIENCE_NS 500000000ull /* for the child to fall asleep, on a machine that is busy */

/* The child writes its own value here; ours stays as it was. */
static volatile uint64_t token;

struct child {
    pid_t pid;
    int line; /* a byte there is an order, a byte back says that it was carried out */
};

/* In the child: at each order a change of the token and a grandchild; ends with the orders. */
static void live(int line)
{
    char byte;

    while (cairn_io_read(line, &byte, 1) == 1) {
        pid_t pid;

        token = ~token;
        pid = fork();
        if (pid == 0)
            _exit(0);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (send(line, &byte, 1, MSG_NOSIGNAL) != 1)
            break;
    }
    _exit(0);
}

static int child_start(struct child *child)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -CAIRN_EIO;
    token = cairn_rng_seed();
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        live(ends[1]);
    }
    cairn_io_close(&ends[1]);
    child->line = ends[0];
    if (child->pid > 0)
        return 0;
    cairn_io_close(&child->line);
    return -CAIRN_EIO;
}

/* Has the child do its round; 0 when it is done, -CAIRN_EIO when it is not in time. */
static int child_order(const struct child *child)
{
    struct pollfd answer = {.fd = child->line, .events = POLLIN};
    char byte = '.';

    /* MSG_NOSIGNAL: whoever forbids it to fork may have ended it. */
    if (send(child->line, &byte, 1, MSG_NOSIGNAL) != 1 || poll(&answer, 1, ROUND_MS) != 1 ||
        cairn_io_read(child->line, &byte, 1) != 1)
        return -CAIRN_EIO;
    return 0;
}

static void child_end(struct child *child)
{
    cairn_io_close(&child->line);
    kill(child->pid, SIGKILL); /* it may stand still */
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int try_read(const struct child *child)
{
    struct cairn_remote remote;
    uint64_t value = 0;

    cairn_remote_live(&remote, child->pid);
    CAIRN_TRY(cairn_remote_get(&remote, (uint64_t)(uintptr_t)&token, &value, sizeof(value)));
    return value == ~token ? 0 : -CAIRN_EUNSUPPORTED;
}

/* Asks until the child sleeps, which it is about to: wchan that cannot tell says that it runs. */
static int try_wchan(pid_t pid)
{
    uint64_t end_ns = cairn_clock_mono_ns() + PATIENCE_NS;
    int fd = cairn_proc_wchan_open(pid, pid);
    bool runs = true;
    int code = fd < 0 ? fd : 0;

    while (code == 0 && runs && cairn_clock_mono_ns() < end_ns) {
        code = cairn_proc_wchan_read(fd, &runs);
        if (code == 0 && runs)
            (void)poll(NULL, 0, 1);
    }
    cairn_io_close(&fd);
    if (code == 0 && runs)
        code = -CAIRN_EUNSUPPORTED;
    return code;
}

static int try_schedstat(pid_t pid)
{
    struct cairn_proc_schedstat book = {0};
    int fd = cairn_proc_schedstat_open(pid, pid);
    int code = fd < 0 ? fd : cairn_proc_schedstat_read(fd, &book);

    cairn_io_close(&fd);
    /* A kernel without this book has the file all the same, full of zeros. */
    if (code == 0 && book.cpu_ns == 0)
        code = -CAIRN_EUNSUPPORTED;
    return code;
}

/* The child's grandchild must have been seen to come. */
static int check_records(struct cairn_perf_watch *watch, pid_t parent)
{
    struct cairn_perf_event event;
    bool seen = false;

    while (cairn_perf_watch_next(watch, &event))
        seen |= event.kind == CAIRN_PERF_FORK && event.ppid == parent && event.pid != parent;
    return seen ? 0 : -CAIRN_EUNSUPPORTED;
}

/* What perf says is held against a round of the child. */
static int try_perf(const struct child *child, struct cairn_probes *ret)
{
    struct cairn_perf_clock clock = {0};
    struct cairn_perf_watch *watch = NULL;
    int clock_code = cairn_perf_clock_open(&clock, child->pid);
    int watch_code = cairn_perf_watch_open(child->pid, &watch);
    int code;

    if (clock_code == 0)
        (void)cairn_perf_clock_moved(&clock);
    code = child_order(child);
    if (clock_code == 0 && !cairn_perf_clock_moved(&clock))
        clock_code = -CAIRN_EUNSUPPORTED;
    if (watch_code == 0)
        watch_code = check_records(watch, child->pid);
    cairn_perf_clock_close(&clock);
    cairn_perf_watch_free(watch);
    ret->codes[CAIRN_PROBE_CLOCK] = clock_code;
    ret->codes[CAIRN_PROBE_RECORDS] = watch_code;
    return code;
}

int cairn_probe_child(struct cairn_probes *ret_probes, struct cairn_err *err)
{
    struct child child;
    int code = child_start(&child);

    if (code == 0) {
        /* Asleep first: then the page of its clock moves when it wakes up. */
        ret_probes->codes[CAIRN_PROBE_WCHAN] = try_wchan(child.pid);
        code = try_perf(&child, ret_probes);
        ret_probes->codes[CAIRN_PROBE_READ] = try_read(&child);
        ret_probes->codes[CAIRN_PROBE_SCHEDSTAT] = try_schedstat(child.pid);
        child_end(&child);
    }
    if (code < 0)
        return cairn_err_set(err, code, 0, "probe", "no process could be made to try things on");
    return 0;
}

int cairn_probe_read_child(void)
{
    struct child child;
    int code;

    CAIRN_TRY(child_start(&child));
    code = child_order(&child);
    if (code == 0)
        code = try_read(&child);
    child_end(&child);
    return code;
}

static void look_for_python(pid_t pid, struct cairn_probed_python *ret)
{
    struct cairn_remote remote;
    struct cairn_pyread *read = NULL;

    memset(ret, 0, sizeof(*ret));
    cairn_remote_live(&remote, pid);
    ret->code = cairn_pyread_open(pid, &remote, NULL, NULL, &read, &ret->why);
    if (ret->code == 0) {
        snprintf(ret->version, sizeof(ret->version), "%s", cairn_pyread_version(read));
        snprintf(ret->layout, sizeof(ret->layout), "%s", cairn_pyread_layout(read));
    }
    cairn_pyread_free(read);
}

void cairn_probe_process(pid_t pid, struct cairn_probes *ret_probes,
                         struct cairn_probed_python *ret_python)
{
    struct cairn_perf_clock clock = {0};
    struct cairn_perf_watch *watch = NULL;
    int *codes = ret_probes->codes;
    bool runs;
    int fd;

    look_for_python(pid, ret_python);
    /* Whatever else it found, looking for a Python began with reading memory. */
    if (ret_python->code == -CAIRN_EGONE ||
        (ret_python->code == -CAIRN_EPERM && strcmp(ret_python->why.where, CAIRN_PYREAD_FILE) != 0))
        codes[CAIRN_PROBE_READ] = ret_python->code;
    else
        codes[CAIRN_PROBE_READ] = 0;
    codes[CAIRN_PROBE_CLOCK] = cairn_perf_clock_open(&clock, pid);
    cairn_perf_clock_close(&clock);
    codes[CAIRN_PROBE_RECORDS] = cairn_perf_watch_open(pid, &watch);
    cairn_perf_watch_free(watch);
    codes[CAIRN_PROBE_SCHEDSTAT] = try_schedstat(pid);
    fd = cairn_proc_wchan_open(pid, pid);
    codes[CAIRN_PROBE_WCHAN] = fd < 0 ? fd : cairn_proc_wchan_read(fd, &runs);
    cairn_io_close(&fd);
}
