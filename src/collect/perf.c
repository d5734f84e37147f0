#include "perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "err.h"
#include "io.h"
#include "procfs.h"

#define RING_PAGES 2 /* of data, a power of two: room for some hundred records a tick */
#define WATCH_FDS_MAX 4096
#define WATCH_FDS_PERCENT 50 /* of what may be open: the threads' own files need some, too */

static int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu)
{
    int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd >= 0)
        return fd;
    if (errno == EACCES || errno == EPERM)
        return -CAIRN_EPERM;
    if (errno == ESRCH)
        return -CAIRN_EGONE;
    if (errno == EMFILE || errno == ENFILE)
        return -CAIRN_ELIMIT;
    return errno == ENODEV ? -CAIRN_ENOTFOUND : -CAIRN_EUNSUPPORTED;
}

int cairn_perf_clock_open(struct cairn_perf_clock *clock, pid_t tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_TASK_CLOCK,
    };
    int fd = perf_open(&attr, tid, -1);
    void *page;

    if (fd == -CAIRN_EPERM) { /* an unprivileged user may be allowed the user half of the attribute;
                                 a task clock counts kernel time all the same */
        attr.exclude_kernel = 1;
        attr.exclude_hv = 1;
        fd = perf_open(&attr, tid, -1);
    }
    if (fd < 0)
        return fd;
    fd = cairn_io_keep(fd, 100);
    if (fd < 0)
        return -CAIRN_ELIMIT;
    page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        cairn_io_close(&fd);
        return -CAIRN_ELIMIT; /* RLIMIT_MEMLOCK */
    }
    clock->fd = fd;
    clock->page = page;
    clock->seen = 0;
    return 0;
}

void cairn_perf_clock_close(struct cairn_perf_clock *clock)
{
    if (!clock->page)
        return;
    munmap((void *)(uintptr_t)clock->page, (size_t)sysconf(_SC_PAGESIZE));
    clock->page = NULL;
    cairn_io_close(&clock->fd);
}

bool cairn_perf_clock_peek(const struct cairn_perf_clock *clock)
{
    return clock->page->lock != clock->seen;
}

bool cairn_perf_clock_moved(struct cairn_perf_clock *clock)
{
    uint32_t now = clock->page->lock;
    bool moved = now != clock->seen;

    clock->seen = now;
    return moved;
}

int cairn_perf_clock_read(const struct cairn_perf_clock *clock, uint64_t *ret_cpu_ns)
{
    uint64_t value;

    if (cairn_io_read(clock->fd, &value, sizeof(value)) != (ssize_t)sizeof(value))
        return -CAIRN_EIO;
    *ret_cpu_ns = value;
    return 0;
}

struct ring {
    struct perf_event_mmap_page *page; /* NULL: no such processor */
    int fd;
    bool has_next;
    struct cairn_perf_event next; /* read, and not told of yet */
};

struct cairn_perf_watch {
    bool counts; /* each event says how many of its records found no room */
    uint64_t told_lost;
    size_t cpu_count, fd_count;
    struct ring *rings; /* one a processor */
    int *fds;           /* further events, whose records go to the ring of their processor */
};

static size_t ring_bytes(void)
{
    return RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t ring_map_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE) + ring_bytes();
}

/* Opens the record event of one thread on one processor: the first on a processor brings the
 * ring, later ones write into it. */
static int watch_thread_on(struct cairn_perf_watch *watch, pid_t tid, size_t cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .task = 1,
        .comm = 1,
        .comm_exec = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .read_format = watch->counts ? PERF_FORMAT_LOST : 0,
    };
    struct ring *ring = &watch->rings[cpu];
    int fd = perf_open(&attr, tid, (int)cpu);
    void *page;

    if (fd == -CAIRN_EUNSUPPORTED && watch->counts) { /* a kernel that does not count them */
        watch->counts = false;
        attr.read_format = 0;
        fd = perf_open(&attr, tid, (int)cpu);
    }
    if (fd < 0)
        return fd == -CAIRN_ENOTFOUND ? 0 : fd;
    fd = cairn_io_keep(fd, WATCH_FDS_PERCENT);
    if (fd < 0)
        return -CAIRN_ELIMIT;
    if (ring->page) {
        if (watch->fd_count == WATCH_FDS_MAX ||
            ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
            cairn_io_close(&fd);
            return -CAIRN_ELIMIT;
        }
        watch->fds[watch->fd_count++] = fd;
        return 0;
    }
    page = mmap(NULL, ring_map_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        cairn_io_close(&fd);
        return -CAIRN_ELIMIT;
    }
    ring->page = page;
    ring->fd = fd;
    return 0;
}

static int watch_threads(struct cairn_perf_watch *watch, pid_t pid)
{
    struct cairn_pids tids = {0};
    int code = cairn_proc_threads(pid, &tids);

    for (size_t i = 0; i < tids.count && code >= 0; i++)
        for (size_t cpu = 0; cpu < watch->cpu_count && code >= 0; cpu++) {
            code = watch_thread_on(watch, tids.items[i], cpu);
            if (code == -CAIRN_EGONE) /* that thread ended meanwhile */
                code = 0;
        }
    cairn_vec_release(&tids);
    return code;
}

int cairn_perf_watch_open(pid_t pid, struct cairn_perf_watch **ret_watch)
{
    struct cairn_perf_watch *watch = cairn_calloc(1, sizeof(*watch));
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int code = -CAIRN_ENOMEM;

    if (watch) {
        watch->counts = true;
        watch->cpu_count = cpus > 0 ? (size_t)cpus : 1;
        watch->rings = cairn_calloc(watch->cpu_count, sizeof(*watch->rings));
        watch->fds = cairn_calloc(WATCH_FDS_MAX, sizeof(*watch->fds));
        if (watch->rings && watch->fds)
            code = watch_threads(watch, pid);
    }
    if (code < 0) {
        cairn_perf_watch_free(watch);
        return code;
    }
    *ret_watch = watch;
    return 0;
}

void cairn_perf_watch_free(struct cairn_perf_watch *watch)
{
    if (!watch)
        return;
    for (size_t i = 0; i < watch->fd_count; i++)
        cairn_io_close(&watch->fds[i]);
    for (size_t cpu = 0; watch->rings && cpu < watch->cpu_count; cpu++)
        if (watch->rings[cpu].page) {
            munmap(watch->rings[cpu].page, ring_map_bytes());
            cairn_io_close(&watch->rings[cpu].fd);
        }
    free(watch->rings);
    free(watch->fds);
    free(watch);
}

/* Copies `size` bytes at position `at` out of the ring, which wraps. */
static void ring_copy(const struct ring *ring, uint64_t at, void *data, size_t size)
{
    const uint8_t *base = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
    size_t start = at & (ring_bytes() - 1), first = ring_bytes() - start;

    if (first > size)
        first = size;
    memcpy(data, base + start, first);
    memcpy((uint8_t *)data + first, base, size - first);
}

/* What stands in a record of fork or exit, behind the header. */
struct task_record {
    uint32_t pid, ppid, tid, ptid;
    uint64_t time_ns;
};

/* The name in a record of a new one: behind the numbers, as long as it is, filled up with zeros. */
static void copy_name(const struct ring *ring, uint64_t at, const struct perf_event_header *header,
                      char name[static 16])
{
    size_t start = sizeof(*header) + 2 * sizeof(uint32_t);
    size_t room = header->size > start ? header->size - start : 0;

    ring_copy(ring, at + start, name, room < 15 ? room : 15);
    name[15] = 0;
}

/* Turns a record into an event; false for kinds nobody asked for. */
static bool event_of(const struct ring *ring, uint64_t at, const struct perf_event_header *header,
                     struct cairn_perf_event *ret_event)
{
    struct cairn_perf_event event = {0};
    struct task_record task;
    uint32_t ids[2];
    uint64_t lost[2]; /* {id of the event, how many} */

    switch (header->type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        ring_copy(ring, at + sizeof(*header), &task, sizeof(task));
        event.kind = header->type == PERF_RECORD_FORK ? CAIRN_PERF_FORK : CAIRN_PERF_EXIT;
        event.pid = (pid_t)task.pid;
        event.tid = (pid_t)task.tid;
        event.ppid = (pid_t)task.ppid;
        event.time_ns = task.time_ns;
        break;
    case PERF_RECORD_COMM:
        ring_copy(ring, at + sizeof(*header), ids, sizeof(ids));
        event.kind = CAIRN_PERF_EXEC;
        if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC)) {
            event.kind = CAIRN_PERF_NAME;
            copy_name(ring, at, header, event.name);
        }
        event.pid = (pid_t)ids[0];
        event.tid = (pid_t)ids[1];
        /* sample_id_all ends the record: {pid, tid, time}. */
        ring_copy(ring, at + header->size - sizeof(event.time_ns), &event.time_ns,
                  sizeof(event.time_ns));
        break;
    case PERF_RECORD_LOST:
        ring_copy(ring, at + sizeof(*header), lost, sizeof(lost));
        event.kind = CAIRN_PERF_LOST;
        event.lost = lost[1];
        break;
    default:
        return false;
    }
    *ret_event = event;
    return true;
}

static bool ring_next(struct ring *ring, struct cairn_perf_event *ret_event)
{
    bool found = false;
    uint64_t tail = ring->page->data_tail;
    /* Pairs with the kernel's barrier before it moves data_head. */
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

    while (!found && tail < head) {
        struct perf_event_header header;

        ring_copy(ring, tail, &header, sizeof(header));
        if (header.size < sizeof(header)) { /* cannot be; do not turn in a circle */
            tail = head;
            break;
        }
        found = event_of(ring, tail, &header, ret_event);
        tail += header.size;
    }
    /* Pairs with the kernel's read of data_tail: the copies above are done. */
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
    return found;
}

/* The ring whose next event is the earliest; NULL: none has one. */
static struct ring *earliest(struct cairn_perf_watch *watch)
{
    struct ring *first = NULL;

    for (size_t cpu = 0; cpu < watch->cpu_count; cpu++) {
        struct ring *ring = &watch->rings[cpu];

        if (!ring->page)
            continue;
        ring->has_next = ring->has_next || ring_next(ring, &ring->next);
        if (ring->has_next && (!first || ring->next.time_ns < first->next.time_ns))
            first = ring;
    }
    return first;
}

bool cairn_perf_watch_next(struct cairn_perf_watch *watch, struct cairn_perf_event *ret_event)
{
    struct ring *ring = earliest(watch);

    if (!ring)
        return false;
    /* What came before it may have come into a ring that had been looked into by then. */
    ring = earliest(watch);
    ring->has_next = false;
    *ret_event = ring->next;
    watch->told_lost += ret_event->kind == CAIRN_PERF_LOST ? ret_event->lost : 0;
    return true;
}

static bool is_birth(const struct cairn_perf_event *event, pid_t tid)
{
    return event->kind == CAIRN_PERF_FORK && event->tid == tid;
}

/* Finds it among what was not read yet, and leaves that there. */
static uint64_t birth_in(const struct ring *ring, pid_t tid)
{
    /* Pairs with the kernel's barrier before it moves data_head. */
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    struct perf_event_header header;
    struct cairn_perf_event event;

    if (ring->has_next && is_birth(&ring->next, tid))
        return ring->next.time_ns;
    for (uint64_t at = ring->page->data_tail; at < head; at += header.size) {
        ring_copy(ring, at, &header, sizeof(header));
        if (header.size < sizeof(header))
            break;
        if (event_of(ring, at, &header, &event) && is_birth(&event, tid))
            return event.time_ns;
    }
    return 0;
}

uint64_t cairn_perf_watch_birth_ns(const struct cairn_perf_watch *watch, pid_t tid)
{
    uint64_t birth_ns = 0;

    for (size_t cpu = 0; cpu < watch->cpu_count && !birth_ns; cpu++)
        if (watch->rings[cpu].page)
            birth_ns = birth_in(&watch->rings[cpu], tid);
    return birth_ns;
}

/* Adds what an event says of its lost records; false when it does not say. */
static bool add_lost(int fd, uint64_t *lost)
{
    uint64_t said[2]; /* {value, how many} */

    if (cairn_io_read(fd, said, sizeof(said)) != (ssize_t)sizeof(said))
        return false;
    *lost += said[1];
    return true;
}

uint64_t cairn_perf_watch_lost(const struct cairn_perf_watch *watch)
{
    bool known = watch->counts;
    uint64_t lost = 0;

    for (size_t cpu = 0; known && cpu < watch->cpu_count; cpu++)
        if (watch->rings[cpu].page)
            known = add_lost(watch->rings[cpu].fd, &lost);
    for (size_t i = 0; known && i < watch->fd_count; i++)
        known = add_lost(watch->fds[i], &lost);
    return known && lost > watch->told_lost ? lost : watch->told_lost;
}
