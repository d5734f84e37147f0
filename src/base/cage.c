#include "cage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cagefilter.h"
#include "io.h"
#include "text.h"

#define NOBODY 65534 /* who has nothing, by number: asking for a name would load code */
#define LINES_MAX 3
#define TOLD_EVERY_MS 100
#define PPM 1000000u
#define NOT_KNOWN (-1) /* how it ended: somebody else took the status */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* What both see. The child may write anything into it, so it is copied first, when the child is
 * over. */
struct page {
    struct cairn_cage_held held;
    int is_done; /* the rest is the work's answer */
    int code, sys;
    char text[sizeof(((struct cairn_err *)NULL)->text)];
};

/* What would not work: 0, or CAIRN_CAGE_*. */
static int watched_by(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    if (IS_SANITIZED)
        return CAIRN_CAGE_SANITIZED;
    /* Whoever sets this variable starts Cairn, and is trusted. */
    return preloaded && strstr(preloaded, "/vgpreload_") ? CAIRN_CAGE_VALGRIND : 0;
}

static void close_between(unsigned first, unsigned last)
{
    DIR *folder;
    struct dirent *entry;

    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    /* Before Linux 5.9. */
    folder = opendir("/proc/self/fd");
    while (folder && (entry = readdir(folder)) != NULL) {
        uint64_t fd;

        if (cairn_text_parse_u64(entry->d_name, &fd) == 0 && fd >= first && fd <= last &&
            fd != (uint64_t)dirfd(folder))
            close((int)fd);
    }
    if (folder)
        closedir(folder);
}

/* A sanitizer says on stderr what it found. */
static void close_others(const struct cairn_cage *cage)
{
    unsigned next = 0;

    while (next <= INT32_MAX) {
        unsigned kept = (unsigned)INT32_MAX + 1;

        for (size_t i = 0; i < cage->file_count; i++)
            if (cage->files[i] >= (int)next && (unsigned)cage->files[i] < kept)
                kept = (unsigned)cage->files[i];
        if (IS_SANITIZED && next <= STDERR_FILENO && kept > STDERR_FILENO)
            kept = STDERR_FILENO;
        close_between(next, kept - 1);
        next = kept + 1;
    }
}

static int become_nobody(void)
{
    uid_t real, effective, saved;
    int why = 0;

    if (getresuid(&real, &effective, &saved) < 0)
        return errno;
    if (real != 0 && effective != 0 && saved != 0)
        return 0;
    if (effective != 0 && seteuid(0) < 0)
        return errno;
    if (setgroups(0, NULL) < 0)
        why = errno;
    if (setresgid(NOBODY, NOBODY, NOBODY) < 0)
        why = errno;
    if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
        why = errno;
    return why;
}

static int drop_rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{.effective = 0}};
    int why = become_nobody();

    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* not there before 4.3 */
    if (syscall(SYS_capset, &head, none) < 0)
        why = errno;
    return why;
}

static int limit(int resource, uint64_t most)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return errno;
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? errno : 0;
}

/* What the process has mapped; a limit of it counts all. */
static uint64_t mapped_bytes(void)
{
    char text[64];
    int fd = cairn_io_open("/proc/self/statm", O_RDONLY, 0);
    ssize_t got = fd < 0 ? -1 : cairn_io_pread_once(fd, text, sizeof(text) - 1);

    cairn_io_close(&fd);
    if (got <= 0)
        return (uint64_t)64 << 20;
    text[got] = '\0';
    return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int set_limits(const struct cairn_cage *cage, uint64_t has_bytes, int watched)
{
    int why = limit(RLIMIT_CORE, 0);

    /* None of these two, whatever the filter says. */
    why = why ? why : limit(RLIMIT_NOFILE, 0);
    why = why ? why : limit(RLIMIT_NPROC, 0);
    if (watched)
        return why ? why : watched;
    if (cage->memory_bytes)
        why = why ? why : limit(RLIMIT_AS, has_bytes + cage->memory_bytes);
    if (cage->write_bytes)
        why = why ? why : limit(RLIMIT_FSIZE, cage->write_bytes);
    if (cage->cpu_s && !why) {
        struct rlimit time = {.rlim_cur = cage->cpu_s, .rlim_max = cage->cpu_s + 1};

        /* The first of both is a signal of its own, which tells why. */
        if (limit(RLIMIT_CPU, time.rlim_max) == 0)
            why = setrlimit(RLIMIT_CPU, &time) < 0 && errno != EINVAL ? errno : 0;
    }
    return why;
}

/* What was meant for the parent: a handler would run what the parent does. A file that is too large
 * is an error to tell. */
static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};

    for (int i = 1; i < NSIG; i++)
        sigaction(i, &plain, NULL);
    plain.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &plain, NULL);
    sigaction(SIGPIPE, &plain, NULL);
}

static void enter(const struct cairn_cage *cage, uint64_t has_bytes, struct cairn_cage_held *held)
{
    int watched = watched_by();

    reset_signals();
    close_others(cage);
    held->user = drop_rights();
    held->fixed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? errno : 0;
    held->limits = set_limits(cage, has_bytes, watched);
}

/* In the child. */
static void live(const struct cairn_cage *cage, pid_t parent, uint64_t has_bytes, struct page *page)
{
    struct cairn_err err = {0};
    int code;

    enter(cage, has_bytes, &page->held);
    /* Behind the change of user, which takes it away. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    page->held.filter = watched_by();
    if (!page->held.filter)
        page->held.filter = cairn_cagefilter_install();
    code = cage->work(cage->context, &err);
    page->code = code;
    page->sys = err.sys;
    memcpy(page->text, err.text, sizeof(page->text));
    page->is_done = 1;
    _exit(0);
}

/* Until the child is over. Before Linux 5.3 nothing is told. */
static void watch(const struct cairn_cage *cage, pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd over = {.fd = fd, .events = POLLIN};

    if (fd < 0)
        return;
    while (poll(&over, 1, TOLD_EVERY_MS) == 0) {
        uint32_t ppm = atomic_load_explicit(cage->share_ppm, memory_order_relaxed);

        /* It is done when the child is over, whatever it says. */
        cairn_progress_tell(cage->progress,
                            ppm < PPM ? ppm / (double)PPM : (PPM - 1) / (double)PPM);
    }
    cairn_io_close(&fd);
}

static int await(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return NOT_KNOWN;
    return status;
}

/* At most LINES_MAX lines of it, with an end. */
static void judge_text(char *text, size_t size_bytes)
{
    size_t lines = 1;

    text[size_bytes - 1] = '\0';
    for (char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        if (lines++ == LINES_MAX) {
            *at = '\0';
            break;
        }
}

static int tell_answer(const struct cairn_cage *cage, struct page *page, struct cairn_err *err)
{
    if (page->code == -CAIRN_ENOMEM && cage->memory_bytes)
        return cairn_err_set(err, -CAIRN_EFOREIGN, 0, "cage",
                             "%.300s takes more memory to read than the %" PRIu64
                             " MB that a file may take",
                             cage->what, cage->memory_bytes >> 20);
    if (page->code < 0 && page->sys == EFBIG && cage->write_bytes)
        return cairn_err_set(err, -CAIRN_EFOREIGN, 0, "cage",
                             "%.300s makes a recording of more than %" PRIu64 " MB", cage->what,
                             cage->write_bytes >> 20);
    if (page->code > 0 || page->code <= -CAIRN_ERROR_COUNT)
        return cairn_err_set(err, -CAIRN_EDAMAGED, 0, "cage",
                             "%.300s cannot be read: no such answer can be", cage->what);
    if (page->code < 0 && err) {
        judge_text(page->text, sizeof(page->text));
        *err = (struct cairn_err){.code = page->code, .sys = page->sys, .where = "cage"};
        memcpy(err->text, page->text, sizeof(err->text));
    }
    return page->code;
}

static int tell_end(const struct cairn_cage *cage, int status, struct cairn_err *err)
{
    int signal = status != NOT_KNOWN && WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (signal == SIGXCPU) {
        cairn_err_set(err, -CAIRN_EFOREIGN, 0, "cage", "%.300s takes too long to read", cage->what);
        cairn_err_add(err, "It was given up after %u s of processor time.", cage->cpu_s);
        return -CAIRN_EFOREIGN;
    }
    cairn_err_set(err, -CAIRN_EDAMAGED, 0, "cage", "%.300s cannot be read", cage->what);
    if (signal == SIGSYS)
        cairn_err_add(err, "What reads it asked the system for what it never needs, and was ended: "
                           "the file may be made to do harm.");
    else if (signal == SIGKILL || signal == SIGTERM)
        cairn_err_add(err, "What reads it was killed, by somebody or because memory is short.");
    else
        cairn_err_add(err, "What reads it crashed%s%s: please report that.", signal ? ": " : "",
                      signal ? strsignal(signal) : "");
    return -CAIRN_EDAMAGED;
}

static int run(const struct cairn_cage *cage, struct page *shared, struct cairn_cage_held *ret_held,
               struct cairn_err *err)
{
    struct sigaction old, plain = {.sa_handler = SIG_DFL};
    uint64_t has_bytes = mapped_bytes();
    pid_t self = getpid(), pid;
    struct page page;
    int status;

    /* Who ignores it, or has it from who started us, gets no status. */
    sigaction(SIGCHLD, &plain, &old);
    pid = fork();
    if (pid == 0)
        live(cage, self, has_bytes, shared);
    status = pid < 0 ? errno : 0;
    if (pid > 0 && cage->progress && cage->share_ppm)
        watch(cage, pid);
    if (pid > 0)
        status = await(pid);
    sigaction(SIGCHLD, &old, NULL);
    if (pid < 0)
        return cairn_err_set(err, -CAIRN_EIO, status, "cage", "no process to read %.300s in",
                             cage->what);
    page = *shared;
    if (ret_held)
        *ret_held = page.held;
    if (page.is_done && (status == NOT_KNOWN || status == 0))
        return tell_answer(cage, &page, err);
    return tell_end(cage, status, err);
}

int cairn_cage_run(const struct cairn_cage *cage, struct cairn_cage_held *ret_held,
                   struct cairn_err *err)
{
    struct page *page =
        mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int code;

    if (page == MAP_FAILED)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "cage", "cannot read %.300s", cage->what);
    code = run(cage, page, ret_held, err);
    munmap(page, sizeof(*page));
    return code;
}

static int do_nothing(void *context, struct cairn_err *err)
{
    (void)context, (void)err;
    return 0;
}

int cairn_cage_try(struct cairn_cage_held *ret_held, struct cairn_err *err)
{
    struct cairn_cage cage = {
        .what = "nothing", .memory_bytes = (uint64_t)64 << 20, .work = do_nothing};

    return cairn_cage_run(&cage, ret_held, err);
}

const char *cairn_cage_why(int why, char *buf, size_t size_bytes)
{
    switch (why) {
    case 0:
        return "";
    case CAIRN_CAGE_SANITIZED:
        return "this build is checked by a sanitizer, which needs more";
    case CAIRN_CAGE_VALGRIND:
        return "valgrind needs more";
    case ENOSYS:
        return "this kernel does not have it";
    default:
        return strerror_r(why, buf, size_bytes);
    }
}
