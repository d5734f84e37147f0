#include "waits.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"
#include "io.h"
#include "netsockets.h"
#include "procfs.h"
#include "pyread.h"
#include "remote.h"
#include "writer.h"

#define SOCKETS_MAX 65536u
#define SOCKETS_SPARE 64u
#define SOCKET_BYTES_MAX ((size_t)8 << 20)
#define OBJECTS_MAX 4096u      /* that name an object, of one process: then calls alone */
#define TABLES_NS 100000000ull /* the kernel's tables of sockets are long */
#define RENAME_NS 50000000ull  /* how long the name of a descriptor is believed */
#define KEEP_NS 100000000ull   /* who is asked more rarely need not keep a descriptor */
#define OWN_STACK_BYTES 65536u /* a futex so near above the stack pointer is on that stack */
#define TEXT_BYTES 512
#define FDS_MAX 64 /* of a process whose epoll is asked for: its list keeps the target waiting */
#define EPOLL_BYTES 4096
#define PAGE_BYTES 4096u /* at least */
/* From this hexversion on there is a parking lot (3.13 moved its locks there within the minor). */
#define PARKING_SINCE 0x030d0000u
#define LOCK_BITS 3u /* _Py_LOCKED, _Py_HAS_PARKED: Include/cpython/lock.h */
#define LOCK_AWAITED 2u

enum argument { NONE, FD, FUTEX, POLL, EPOLL, PID, PATH };

static const struct call {
    long number;
    const char *name;
    enum argument argument;
} calls[] = {
#define X(name, argument) {SYS_##name, #name, argument},
#include "syscalls.def"
#undef X
};

void cairn_wait_init(struct cairn_wait *wait)
{
    *wait = (struct cairn_wait){.fd = -1};
}

void cairn_wait_release(struct cairn_wait *wait)
{
    cairn_io_close(&wait->fd);
}

int cairn_waits_init(struct cairn_waits *waits)
{
    *waits = (struct cairn_waits){0};
    cairn_map_init(&waits->sockets, SOCKETS_MAX);
    return cairn_intern_init(&waits->texts, SOCKET_BYTES_MAX);
}

void cairn_waits_release(struct cairn_waits *waits)
{
    cairn_map_release(&waits->sockets);
    cairn_intern_release(&waits->texts);
}

/* --- What is waited for --- */

static void on_socket(void *ctx, uint64_t inode, const char *text)
{
    struct cairn_waits *waits = ctx;
    uint32_t id;

    /* What finds no room is a socket without addresses. */
    if (cairn_intern_str(&waits->texts, text, &id) == 0)
        cairn_map_put(&waits->sockets, inode, 0, id);
}

/* What is known of sockets that are over goes before it is more than what is known of the others:
 * who ends one tells nobody, and its number may come again. */
static void read_tables(struct cairn_waits *waits, pid_t pid)
{
    bool anew = waits->sockets.count >= waits->sockets_most;

    if (anew) {
        cairn_map_clear(&waits->sockets);
        cairn_intern_release(&waits->texts);
        (void)cairn_intern_init(&waits->texts, SOCKET_BYTES_MAX); /* fails: without addresses */
    }
    cairn_netsockets_each(pid, on_socket, waits);
    if (anew)
        waits->sockets_most = 2 * waits->sockets.count + SOCKETS_SPARE;
    if (waits->sockets_most > SOCKETS_MAX)
        waits->sockets_most = SOCKETS_MAX;
}

/* "socket", and its addresses where the kernel's tables have them: they are read again when one is
 * met that was not in them, but not all the time. */
static void socket_text(struct cairn_waits *waits, pid_t pid, uint64_t inode, uint64_t now_ns,
                        struct cairn_buf *out)
{
    struct cairn_span text;
    uint64_t id;

    if (!cairn_map_get(&waits->sockets, inode, 0, &id) &&
        (!waits->sockets_ns || now_ns - waits->sockets_ns >= TABLES_NS)) {
        waits->sockets_ns = now_ns;
        read_tables(waits, pid);
        if (!cairn_map_get(&waits->sockets, inode, 0, &id))
            cairn_map_put(&waits->sockets, inode, 0, 0); /* of a kind that has no address */
    }
    cairn_buf_add_str(out, " socket");
    if (cairn_map_get(&waits->sockets, inode, 0, &id) && id) {
        text = cairn_intern_get(&waits->texts, (uint32_t)id);
        cairn_buf_u8(out, ' ');
        cairn_buf_add(out, text.data, text.size_bytes);
    }
}

static void file_text(struct cairn_waits *waits, pid_t pid, int fd, uint64_t now_ns,
                      struct cairn_buf *out)
{
    char path[64], link[TEXT_BYTES];
    ssize_t got;
    uint64_t inode;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    got = readlink(path, link, sizeof(link) - 1);
    if (got <= 0)
        return;
    link[got] = '\0';
    if (sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1)
        socket_text(waits, pid, inode, now_ns, out);
    else if (!strncmp(link, "pipe:[", 6))
        cairn_buf_add_str(out, " pipe");
    else if (!strncmp(link, "anon_inode:", 11))
        cairn_buf_printf(out, " %s", link + 11);
    else
        cairn_buf_printf(out, " %s", link);
}

/* The one descriptor that is polled; of several it is not known which it will be. */
static int polled_fd(pid_t pid, const uint64_t args[2])
{
    struct cairn_remote remote;
    int32_t fd;

    if (args[1] != 1)
        return -1;
    cairn_remote_live(&remote, pid);
    return cairn_remote_get(&remote, args[0], &fd, sizeof(fd)) == 0 ? fd : -1;
}

static bool has_few_fds(pid_t pid)
{
    char path[64];
    size_t count = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    if (!dir)
        return false;
    while (count <= FDS_MAX && readdir(dir))
        count++;
    closedir(dir);
    return count <= FDS_MAX;
}

/* What only wakes a loop that waits for something else: a pipe, a counter, a pair of sockets. */
static bool is_waker(const struct cairn_buf *text)
{
    static const char *const wakers[] = {" pipe", " [eventfd]", " [signalfd]", " socket unix"};

    for (size_t i = 0; i < sizeof(wakers) / sizeof(wakers[0]); i++)
        if (text->size_bytes == strlen(wakers[i]) &&
            !memcmp(text->data, wakers[i], text->size_bytes))
            return true;
    return false;
}

/* The one thing that an epoll waits for, beside what wakes it; of several it is not known which. */
static void epoll_text(struct cairn_waits *waits, pid_t pid, int epoll, uint64_t now_ns,
                       struct cairn_buf *out)
{
    char path[64], told[EPOLL_BYTES];
    struct cairn_buf text, only;
    unsigned others = 0;
    ssize_t got;
    int fd;

    if (!has_few_fds(pid))
        return;
    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, epoll);
    fd = cairn_io_open(path, O_RDONLY, 0);
    got = fd < 0 ? fd : cairn_io_pread_once(fd, told, sizeof(told) - 1);
    cairn_io_close(&fd);
    if (got <= 0 || got == sizeof(told) - 1) /* cut off */
        return;
    told[got] = '\0';
    cairn_buf_init(&text, 2 * TEXT_BYTES);
    cairn_buf_init(&only, 2 * TEXT_BYTES);
    for (const char *at = strstr(told, "tfd:"); at && others < 2; at = strstr(at + 1, "tfd:")) {
        cairn_buf_clear(&text);
        file_text(waits, pid, atoi(at + strlen("tfd:")), now_ns, &text);
        if (text.size_bytes && is_waker(&text))
            continue;
        others++;
        cairn_buf_add(&only, text.data, text.size_bytes);
    }
    if (others == 1)
        cairn_buf_add(out, only.data, only.size_bytes);
    cairn_buf_release(&text);
    cairn_buf_release(&only);
}

/* A path of the target's, as it gave it; one that goes on in another page is left out. */
static void path_text(pid_t pid, uint64_t address, struct cairn_buf *out)
{
    size_t size_bytes = PAGE_BYTES - address % PAGE_BYTES;
    struct cairn_remote remote;
    char path[TEXT_BYTES];

    if (size_bytes > sizeof(path))
        size_bytes = sizeof(path);
    cairn_remote_live(&remote, pid);
    if (cairn_remote_get(&remote, address, path, size_bytes) == 0 &&
        memchr(path, '\0', size_bytes) && *path)
        cairn_buf_printf(out, " %s", path);
}

/* On its own stack: so near above the stack pointer. */
static bool is_own(const struct cairn_proc_syscall *now)
{
    return now->args[0] - now->stack < OWN_STACK_BYTES;
}

/* The address of the lock in whose queue a thread sleeps on a word of its own; 0: not known. That
 * word is the semaphore in CPython's parking lot (Python/parking_lot.c, struct wait_entry), and
 * before it stands the address that is waited for: a byte, of which only the two lowest bits are
 * used, and the second says that somebody waits. */
static uint64_t parked_on(const struct cairn_waiter *waiter, uint64_t semaphore)
{
    struct cairn_remote remote;
    uint32_t hexversion;
    uint64_t lock;
    uint8_t bits;

    if (!waiter->py)
        return 0;
    cairn_pyread_runtime(waiter->py, &hexversion);
    cairn_remote_live(&remote, waiter->pid);
    if (hexversion < PARKING_SINCE ||
        cairn_remote_get(&remote, semaphore - sizeof(lock), &lock, sizeof(lock)) < 0 ||
        cairn_remote_get(&remote, lock, &bits, sizeof(bits)) < 0)
        return 0;
    return (bits & ~LOCK_BITS) == 0 && (bits & LOCK_AWAITED) ? lock : 0;
}

static void object_text(struct cairn_waits *waits, const struct cairn_waiter *waiter,
                        const struct call *call, const struct cairn_proc_syscall *now,
                        uint64_t now_ns, struct cairn_buf *out)
{
    uint64_t lock;
    int fd = -1;

    switch (call->argument) {
    case NONE:
        break;
    case FD:
        fd = (int)now->args[0];
        break;
    case POLL:
        fd = polled_fd(waiter->pid, now->args);
        break;
    case EPOLL:
        epoll_text(waits, waiter->pid, (int)now->args[0], now_ns, out);
        break;
    case PATH:
        path_text(waiter->pid, now->args[1], out);
        break;
    case FUTEX:
        lock = is_own(now) ? parked_on(waiter, now->args[0]) : now->args[0];
        if (waiter->py && cairn_pyread_in_gil(waiter->py, now->args[0]))
            cairn_buf_add_str(out, " GIL");
        else if (lock)
            cairn_buf_printf(out, " lock 0x%" PRIx64, lock);
        break;
    case PID:
        if ((int32_t)now->args[0] > 0)
            cairn_buf_printf(out, " process %d", (int)now->args[0]);
        break;
    }
    if (fd >= 0)
        file_text(waits, waiter->pid, fd, now_ns, out);
}

static const struct call *call_of(int64_t number)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

void cairn_waits_describe(struct cairn_waits *waits, const struct cairn_waiter *waiter,
                          const struct cairn_proc_syscall *now, uint64_t now_ns,
                          struct cairn_buf *out)
{
    const struct call *call = call_of(now->number);

    if (now->number < 0)
        cairn_buf_add_str(out, "page fault");
    else if (!call)
        cairn_buf_printf(out, "syscall %" PRId64, now->number);
    else
        cairn_buf_add_str(out, call->name);
    if (call && waits->on_count < OBJECTS_MAX)
        object_text(waits, waiter, call, now, now_ns, out);
}

static int write_text(struct cairn_waits *waits, struct cairn_wait *wait,
                      const struct cairn_waiter *waiter, const struct cairn_proc_syscall *now,
                      uint64_t now_ns)
{
    struct cairn_buf text;
    int code;

    cairn_buf_init(&text, 2 * TEXT_BYTES);
    cairn_waits_describe(waits, waiter, now, now_ns, &text);
    code = cairn_writer_string(waiter->writer, cairn_buf_span(&text), &wait->on);
    cairn_buf_release(&text);
    if (code == 0 && wait->on > waits->last_on) {
        waits->last_on = wait->on;
        waits->on_count++;
    }
    return code;
}

/* Whether its arguments say that a call is about what the one before was about. A word on its own
 * stack has the same address whatever it waits for, and so may a path. */
static bool is_about_the_same(const struct cairn_wait *wait, const struct cairn_proc_syscall *now)
{
    const struct call *call = call_of(now->number);

    if (now->number != wait->number || now->args[0] != wait->args[0])
        return false;
    switch (call ? call->argument : NONE) {
    case FD:
    case EPOLL:
    case PID:
        return true; /* the rest is where it is to be written to */
    case PATH:
        return false;
    case FUTEX:
        return !is_own(now) && now->args[1] == wait->args[1];
    default:
        return now->args[1] == wait->args[1];
    }
}

int cairn_wait_look(struct cairn_waits *waits, struct cairn_wait *wait,
                    const struct cairn_waiter *waiter, uint64_t now_ns)
{
    struct cairn_proc_syscall now;
    int code;

    if (wait->seen || wait->refused)
        return 0;
    if (wait->fd < 0)
        wait->fd = cairn_proc_syscall_open(waiter->pid, waiter->tid);
    code = wait->fd < 0 ? wait->fd : cairn_proc_syscall_read(wait->fd, &now);
    if (now_ns - wait->asked_ns > KEEP_NS)
        cairn_io_close(&wait->fd);
    wait->asked_ns = now_ns;
    wait->refused = code == -CAIRN_EPERM;
    if (code < 0 || now.runs)
        return 0;
    wait->seen = true;
    wait->gil =
        now.number == SYS_futex && waiter->py && cairn_pyread_in_gil(waiter->py, now.args[0]);
    wait->unsure =
        now.number == SYS_futex && waiter->py && !wait->gil && !cairn_pyread_knows_gil(waiter->py);
    if (wait->on && is_about_the_same(wait, &now) && now_ns - wait->named_ns < RENAME_NS)
        return 0;
    wait->number = now.number;
    memcpy(wait->args, now.args, sizeof(wait->args));
    wait->named_ns = now_ns;
    return write_text(waits, wait, waiter, &now, now_ns);
}
