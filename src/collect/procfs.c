#include "procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "io.h"
#include "text.h"

#define TEXT_MAX 4096
#define ENDS_FLAG 0x4u      /* PF_EXITING of the kernel's include/linux/sched.h */
#define PIDS_MAX (1u << 22) /* the kernel's own limit of pids */

static int code_of(int sys)
{
    if (sys == 0)
        return 0;
    if (sys == -ESRCH || sys == -ENOENT)
        return -CAIRN_EGONE;
    if (sys == -EACCES || sys == -EPERM)
        return -CAIRN_EPERM;
    return sys == -ENOMEM ? -CAIRN_ENOMEM : -CAIRN_EIO;
}

/* Reads a small file whole into `text`, NUL behind it; its length, or a negative code. */
static ssize_t read_text(const char *path, char *text, size_t size)
{
    int fd = cairn_io_open(path, O_RDONLY, 0);
    ssize_t got;

    if (fd < 0)
        return code_of(fd);
    got = cairn_io_read(fd, text, size - 1);
    cairn_io_close(&fd);
    if (got < 0)
        return code_of((int)got);
    text[got] = '\0';
    return got;
}

/* Whether the kernel gave that number back. */
static bool is_free(pid_t tid)
{
    return syscall(SYS_tkill, tid, 0) < 0 && errno == ESRCH; /* signal 0 is not sent */
}

/* -CAIRN_EGONE: nobody has that number any more. Who looks it up by its path all the same clears
 * away what the kernel keeps of it, beside whoever waited for it, and spins until that one has done
 * its part: for 30 to 220 ms where it had lost its processor, to us at that. */
static int task_path(char *path, size_t size, pid_t pid, pid_t tid, const char *name)
{
    if (is_free(tid ? tid : pid))
        return -CAIRN_EGONE;
    if (tid)
        snprintf(path, size, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    else
        snprintf(path, size, "/proc/%d/%s", (int)pid, name);
    return 0;
}

int cairn_proc_stat(pid_t pid, pid_t tid, struct cairn_proc_stat *ret_stat)
{
    struct cairn_proc_stat stat = {0};
    char path[64], text[TEXT_MAX], *open, *close;
    unsigned long long start_ticks, start_stack, arg_start;
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    unsigned flags;
    int ppid;
    long threads;
    ssize_t got;

    CAIRN_TRY(task_path(path, sizeof(path), pid, tid, "stat"));
    got = read_text(path, text, sizeof(text));
    if (got < 0)
        return (int)got;
    /* The name may hold anything, brackets and spaces too: it ends at the last bracket. */
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close || close < open || got == 0)
        return got == 0 ? -CAIRN_EGONE : -CAIRN_EDAMAGED;
    if (sscanf(close + 1,
               " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu"
               " %*u %*d %*u %*u %*u %llu %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d %*u %*u %*u"
               " %*u %*d %*u %*u %*u %llu",
               &stat.state, &ppid, &flags, &threads, &start_ticks, &start_stack, &stat.processor,
               &arg_start) != 8)
        return -CAIRN_EDAMAGED;
    stat.ppid = ppid;
    /* The first thread waits as a zombie for the others: where one of them calls exec, till that is
     * done. */
    stat.is_over = stat.state == 'X' || (stat.state == 'Z' && threads <= 1);
    stat.is_ending = (flags & ENDS_FLAG) || stat.state == 'X' || stat.state == 'Z';
    stat.start_ns = start_ticks * (1000000000ull / (uint64_t)(ticks_per_s > 0 ? ticks_per_s : 100));
    /* In the middle of an exec it is where the arguments are, until it is put below them. */
    stat.start_stack = start_stack == arg_start ? 0 : start_stack;
    snprintf(stat.comm, sizeof(stat.comm), "%.*s", (int)(close - open - 1), open + 1);
    *ret_stat = stat;
    return 0;
}

static int add_pid(struct cairn_pids *pids, pid_t pid)
{
    CAIRN_TRY(cairn_vec_reserve(pids, pids->count + 1, PIDS_MAX));
    pids->items[pids->count++] = pid;
    return 0;
}

static int compare_pids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

    return (left > right) - (left < right);
}

int cairn_proc_threads(pid_t pid, struct cairn_pids *ret_tids)
{
    char path[64];
    struct dirent *entry;
    DIR *dir;
    int code = 0;

    ret_tids->count = 0;
    CAIRN_TRY(task_path(path, sizeof(path), pid, 0, "task"));
    dir = opendir(path);
    if (!dir)
        return code_of(-errno);
    while (code >= 0) {
        errno = 0;
        entry = readdir(dir);
        if (!entry) {
            code = code_of(-errno);
            break;
        }
        if (isdigit((unsigned char)entry->d_name[0]))
            code = add_pid(ret_tids, (pid_t)strtol(entry->d_name, NULL, 10));
    }
    closedir(dir);
    if (code >= 0 && ret_tids->count > 1)
        qsort(ret_tids->items, ret_tids->count, sizeof(pid_t), compare_pids);
    return code;
}

bool cairn_proc_has_thread(pid_t pid, pid_t tid)
{
    /* Signal 0 is not sent; who may not send one learns that there is somebody. */
    return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM;
}

static int add_children_of(pid_t pid, pid_t tid, struct cairn_pids *pids)
{
    struct cairn_buf text;
    char path[64], *word, *end;
    int code;

    CAIRN_TRY(task_path(path, sizeof(path), pid, tid, "children"));
    cairn_buf_init(&text, 1u << 20);
    code = cairn_io_read_file(AT_FDCWD, path, &text);
    if (code < 0) {
        cairn_buf_release(&text);
        return code_of(code);
    }
    word = (char *)cairn_buf_cstr(&text);
    for (; word && *word && code >= 0; word = end) {
        long child = strtol(word, &end, 10);

        if (end == word)
            break;
        code = add_pid(pids, (pid_t)child);
    }
    cairn_buf_release(&text);
    return code < 0 ? code : 0;
}

int cairn_proc_children(pid_t pid, struct cairn_pids *ret_pids)
{
    struct cairn_pids tids = {0};
    int code = cairn_proc_threads(pid, &tids);

    ret_pids->count = 0;
    for (size_t i = 0; i < tids.count && code >= 0; i++) {
        code = add_children_of(pid, tids.items[i], ret_pids);
        if (code == -CAIRN_EGONE) /* that thread ended meanwhile */
            code = 0;
    }
    cairn_vec_release(&tids);
    return code;
}

/* The value behind "NAME:" in a status file; NULL when it is not there. */
static const char *status_field(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ':')
            return line + length + 1;
    }
    return NULL;
}

/* -CAIRN_EEND: the file has no such field. */
static int status_number(pid_t pid, pid_t tid, const char *name, uint64_t *ret_number)
{
    char path[64], text[TEXT_MAX];
    const char *field;
    ssize_t got;

    CAIRN_TRY(task_path(path, sizeof(path), pid, tid, "status"));
    got = read_text(path, text, sizeof(text));
    if (got < 0)
        return (int)got;
    field = status_field(text, name);
    if (!field)
        return -CAIRN_EEND;
    *ret_number = strtoull(field, NULL, 10);
    return 0;
}

int cairn_proc_ns_tid_parse(const char *text, pid_t own, pid_t *ret_ns_tid)
{
    const char *field = status_field(text, "NSpid");
    long value = own; /* a kernel without pid namespaces */
    char *end;

    /* One number a namespace, outermost first. */
    for (; field && *field != '\n'; field = end) {
        value = strtol(field, &end, 10);
        if (end == field)
            return -CAIRN_EDAMAGED;
    }
    if (value <= 0) /* its number is gone already, the rest of it in a moment */
        return value < 0 ? -CAIRN_EDAMAGED : -CAIRN_EGONE;
    *ret_ns_tid = (pid_t)value;
    return 0;
}

int cairn_proc_ns_tid(pid_t pid, pid_t tid, pid_t *ret_ns_tid)
{
    char path[64], text[TEXT_MAX];
    ssize_t got;

    CAIRN_TRY(task_path(path, sizeof(path), pid, tid, "status"));
    got = read_text(path, text, sizeof(text));
    return got < 0 ? (int)got : cairn_proc_ns_tid_parse(text, tid ? tid : pid, ret_ns_tid);
}

int cairn_proc_cmdline_parse(const char *text, size_t size_bytes, struct cairn_buf *out)
{
    size_t word_bytes;

    while (size_bytes > 0 && text[size_bytes - 1] == '\0') /* a shorter title leaves many */
        size_bytes--;
    if (strnlen(text, size_bytes) == size_bytes)
        return cairn_buf_add(out, text, size_bytes);
    for (size_t at = 0; at < size_bytes; at += word_bytes + 1) {
        word_bytes = strnlen(text + at, size_bytes - at);
        if (at > 0)
            cairn_buf_u8(out, ' ');
        cairn_text_shell_word(out, (struct cairn_span){(const uint8_t *)text + at, word_bytes});
    }
    return out->code;
}

int cairn_proc_cmdline(pid_t pid, struct cairn_buf *out)
{
    char path[64], text[TEXT_MAX];
    ssize_t got;

    CAIRN_TRY(task_path(path, sizeof(path), pid, 0, "cmdline"));
    got = read_text(path, text, sizeof(text));
    return got < 0 ? (int)got : cairn_proc_cmdline_parse(text, (size_t)got, out);
}

int cairn_proc_exe(pid_t pid, struct cairn_buf *out)
{
    char path[64], text[TEXT_MAX];
    ssize_t got;

    CAIRN_TRY(task_path(path, sizeof(path), pid, 0, "exe"));
    got = readlink(path, text, sizeof(text));
    if (got < 0)
        return code_of(-errno);
    return cairn_buf_add(out, text, (size_t)got);
}

int cairn_proc_mapped_bytes(pid_t pid, uint64_t *ret_bytes)
{
    char path[64], text[TEXT_MAX];
    unsigned long long pages;
    ssize_t got;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    got = read_text(path, text, sizeof(text));
    if (got < 0)
        return (int)got;
    if (sscanf(text, "%llu", &pages) != 1)
        return -CAIRN_EDAMAGED;
    *ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

int cairn_proc_peak_bytes(pid_t pid, uint64_t *ret_bytes)
{
    CAIRN_TRY(status_number(pid, 0, "VmHWM", ret_bytes));
    *ret_bytes *= 1024;
    return 0;
}

static int open_task_file(pid_t pid, pid_t tid, const char *name)
{
    char path[64];
    int fd;

    CAIRN_TRY(task_path(path, sizeof(path), pid, tid, name));
    fd = cairn_io_open(path, O_RDONLY, 0);
    return fd < 0 ? code_of(fd) : fd;
}

int cairn_proc_schedstat_open(pid_t pid, pid_t tid)
{
    return open_task_file(pid, tid, "schedstat");
}

int cairn_proc_wchan_open(pid_t pid, pid_t tid)
{
    return open_task_file(pid, tid, "wchan");
}

int cairn_proc_wchan_read(int fd, bool *ret_runs)
{
    char text[2]; /* "0", or where it waits: the first bytes do */
    ssize_t got = cairn_io_pread_once(fd, text, sizeof(text));

    if (got <= 0)
        return got < 0 ? code_of((int)got) : -CAIRN_EGONE;
    *ret_runs = got == 1 && text[0] == '0';
    return 0;
}

int cairn_proc_syscall_open(pid_t pid, pid_t tid)
{
    return open_task_file(pid, tid, "syscall");
}

int cairn_proc_syscall_parse(const char *text, struct cairn_proc_syscall *ret_call)
{
    struct cairn_proc_syscall call = {.runs = !strncmp(text, "running", 7)};
    int code = 0;

    if (!call.runs && sscanf(text, "%" SCNd64, &call.number) != 1)
        code = -CAIRN_EDAMAGED;
    else if (!call.runs && call.number < 0 && sscanf(text, "%*d %" SCNx64, &call.stack) != 1)
        code = -CAIRN_EDAMAGED;
    else if (!call.runs && call.number >= 0 &&
             sscanf(text, "%*d %" SCNx64 " %" SCNx64 " %*x %*x %*x %*x %" SCNx64, &call.args[0],
                    &call.args[1], &call.stack) != 3)
        code = -CAIRN_EDAMAGED;
    if (code == 0)
        *ret_call = call;
    return code;
}

int cairn_proc_syscall_read(int fd, struct cairn_proc_syscall *ret_call)
{
    char text[256];
    ssize_t got = cairn_io_pread_once(fd, text, sizeof(text) - 1);

    if (got <= 0)
        return got < 0 ? code_of((int)got) : -CAIRN_EGONE;
    text[got] = '\0';
    return cairn_proc_syscall_parse(text, ret_call);
}

int cairn_proc_waits(pid_t pid, pid_t tid, uint64_t *ret_count)
{
    return status_number(pid, tid, "voluntary_ctxt_switches", ret_count);
}

static bool parse_book(const char *text, struct cairn_proc_schedstat *ret_book)
{
    char *end;

    ret_book->cpu_ns = strtoull(text, &end, 10);
    if (*end != ' ')
        return false;
    ret_book->runq_ns = strtoull(end, &end, 10);
    ret_book->turns = strtoull(end, NULL, 10);
    return *end == ' ';
}

int cairn_proc_schedstat_read(int fd, struct cairn_proc_schedstat *ret_book)
{
    struct cairn_proc_schedstat book;
    char text[96];
    ssize_t got = cairn_io_pread_once(fd, text, sizeof(text) - 1);

    if (got <= 0)
        return got < 0 ? code_of((int)got) : -CAIRN_EGONE;
    text[got] = '\0';
    if (!parse_book(text, &book))
        return -CAIRN_EDAMAGED;
    *ret_book = book;
    return 0;
}

int cairn_proc_cpu_ns(pid_t pid, uint64_t *ret_cpu_ns)
{
    int code = cairn_clock_cpu_of(pid, ret_cpu_ns);

    return code == -EINVAL ? -CAIRN_EGONE : code < 0 ? code_of(code) : 0;
}
