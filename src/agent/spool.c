#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "err.h"
#include "exact_parts.h"
#include "lines_parts.h"
#include "regions.h"
#include "timeline.h"

#define PAGE ((size_t)4096)
#define MOST_NAMES 64 /* of processes that had one number */

const struct cairn_spool_kind cairn_spool_calls = {
    ".calls", {sizeof(struct cairn_exact_thread), sizeof(struct cairn_exact_node)}};
const struct cairn_spool_kind cairn_spool_lines = {
    ".lines", {sizeof(struct cairn_lines_block), sizeof(struct cairn_line_sum)}};
const struct cairn_spool_kind cairn_spool_events = {
    ".events", {sizeof(struct cairn_event_page), sizeof(struct cairn_event)}};
const struct cairn_spool_kind cairn_spool_regions = {
    ".regions", {sizeof(struct cairn_region_page), sizeof(struct cairn_region_event)}};

static size_t to_pages(size_t size_bytes)
{
    return (size_bytes + PAGE - 1) & ~(PAGE - 1);
}

uint64_t cairn_spool_start_ns(const char *path)
{
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    char text[1024], *at, state;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return 0;
    got = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    at = strrchr(text, ')'); /* the name before it may hold anything */
    state = at != NULL && at[1] != '\0' ? at[2] : 'X';
    for (int field = 3; at != NULL && field <= 22; field++) {
        at = strchr(at + 1, ' ');
        /* The first thread waits as a zombie for the others. */
        if (field == 20 && at != NULL && state == 'Z' && strtol(at + 1, NULL, 10) <= 1)
            return 0;
    }
    if (at == NULL || state == 'X')
        return 0;
    return strtoull(at + 1, NULL, 10) *
           (1000000000ull / (uint64_t)(ticks_per_s > 0 ? ticks_per_s : 100));
}

/* Whether a file may be as large as the region: else the kernel answers with a signal. */
static bool may_be_large(void)
{
    struct rlimit most;

    return getrlimit(RLIMIT_FSIZE, &most) < 0 || most.rlim_cur >= CAIRN_SPOOL_REGION_BYTES;
}

/* A signal may come meanwhile, and a file system may ask for that to be told. */
static int allocate(int fd, size_t from, size_t size_bytes)
{
    int code;

    do {
        code = posix_fallocate(fd, (off_t)from, (off_t)size_bytes);
    } while (code == EINTR);
    return code;
}

static int make(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* A new file that nobody else has; its name is in `path`. */
static int make_file(struct cairn_spool *spool)
{
    for (int i = 0; i < MOST_NAMES; i++) {
        int fd;

        if (snprintf(spool->path, sizeof(spool->path), "%s/%d.%d%s", spool->folder, (int)getpid(),
                     i, spool->kind->suffix) >= (int)sizeof(spool->path))
            return -CAIRN_ELIMIT;
        fd = make(spool->path);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* `place`: of a file that was mapped before, whose pages these take; NULL: anywhere. */
static int map_file(struct cairn_spool *spool, int fd, void *place)
{
    struct cairn_spool_head *head = MAP_FAILED;

    if (fd < 0)
        return -CAIRN_EIO;
    if (ftruncate(fd, (off_t)CAIRN_SPOOL_REGION_BYTES) == 0 && allocate(fd, 0, PAGE) == 0)
        head = mmap(place, CAIRN_SPOOL_REGION_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE | (place == NULL ? 0 : MAP_FIXED), fd, 0);
    close(fd);
    if (head == MAP_FAILED) {
        unlink(spool->path);
        return -CAIRN_EIO;
    }
    *head = (struct cairn_spool_head){
        .struct_bytes = {spool->kind->struct_bytes[0], spool->kind->struct_bytes[1]},
        .base = (uint64_t)(uintptr_t)head,
        .used_bytes = PAGE,
        .pid = (uint64_t)getpid(),
        .start_ns = cairn_spool_start_ns("/proc/self/stat"),
        .forked = spool->inherited,
    };
    head->magic = CAIRN_SPOOL_MAGIC;
    spool->head = head;
    return 0;
}

static int open_at(struct cairn_spool *spool, const struct cairn_spool_kind *kind,
                   const char *folder, void *place)
{
    size_t length = strlen(folder);
    int saved = errno, code;

    spool->kind = kind;
    spool->head = NULL;
    if (length >= sizeof(spool->folder))
        return -CAIRN_ELIMIT;
    memcpy(spool->folder, folder, length + 1);
    code = map_file(spool, may_be_large() ? make_file(spool) : -1, place);
    errno = saved;
    return code;
}

int cairn_spool_open(struct cairn_spool *spool, const struct cairn_spool_kind *kind,
                     const char *folder)
{
    return open_at(spool, kind, folder, NULL);
}

int cairn_spool_reopen(struct cairn_spool *spool, const char *folder)
{
    struct cairn_spool_head *head = spool->head;
    int code = open_at(spool, spool->kind, folder, head);

    if (code < 0)
        spool->head = head;
    return code;
}

bool cairn_spool_name(const char *first, const struct cairn_spool_kind *first_kind,
                      const struct cairn_spool_kind *kind, char path[CAIRN_SPOOL_PATH_BYTES])
{
    size_t length = strlen(first), end = strlen(first_kind->suffix);

    return length > end && snprintf(path, CAIRN_SPOOL_PATH_BYTES, "%.*s%s", (int)(length - end),
                                    first, kind->suffix) < CAIRN_SPOOL_PATH_BYTES;
}

int cairn_spool_beside(struct cairn_spool *spool, const struct cairn_spool_kind *kind,
                       const struct cairn_spool *first)
{
    int saved = errno, code = -CAIRN_EIO;

    spool->kind = kind;
    spool->head = NULL;
    if (may_be_large() && cairn_spool_name(first->path, first->kind, kind, spool->path))
        code = map_file(spool, make(spool->path), NULL);
    errno = saved;
    return code;
}

int cairn_spool_again(struct cairn_spool *spool)
{
    int saved = errno, code;

    cairn_spool_let_go(spool); /* of a grandparent, where its child counted nothing */
    spool->parent = spool->head;
    spool->head = NULL;
    spool->inherited = true;
    code = map_file(spool, may_be_large() ? make_file(spool) : -1, NULL);
    if (code == 0 && spool->parent != NULL) {
        spool->head->costs = spool->parent->costs;
        spool->head->text = spool->parent->text;
        memcpy(spool->head->text_why, spool->parent->text_why, sizeof(spool->head->text_why));
    }
    errno = saved;
    return code;
}

void cairn_spool_let_go(struct cairn_spool *spool)
{
    int saved = errno;

    if (spool->parent != NULL)
        munmap(spool->parent, CAIRN_SPOOL_REGION_BYTES);
    spool->parent = NULL;
    errno = saved;
}

void *cairn_spool_grow(void *context, size_t size_bytes)
{
    struct cairn_spool *spool = context;
    size_t need = to_pages(size_bytes), from;
    int saved = errno, fd, code;

    if (spool->head == NULL || spool->head->used_bytes + need > CAIRN_SPOOL_REGION_BYTES) {
        spool->refused = ENOSPC;
        return NULL;
    }
    from = spool->head->used_bytes;
    fd = open(spool->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    code = fd < 0 ? errno : allocate(fd, from, need);
    if (fd >= 0)
        close(fd);
    errno = saved;
    if (code != 0) {
        spool->refused = code;
        return NULL;
    }
    spool->head->used_bytes += need;
    return (char *)spool->head + from;
}

void cairn_spool_shrink(void *context, void *block, size_t size_bytes)
{
    int saved = errno;

    (void)context;
    (void)madvise(block, to_pages(size_bytes), MADV_REMOVE); /* what it held was moved on */
    errno = saved;
}

/* Room for a name whose texts take so many bytes; NULL: none. */
static struct cairn_exact_name *name_alloc(struct cairn_exact *exact,
                                           struct cairn_exact_thread *thread, size_t text_bytes)
{
    size_t size_bytes = sizeof(struct cairn_exact_name) + text_bytes;

    if (text_bytes > UINT16_MAX)
        return NULL;
    return size_bytes > CAIRN_POOL_MOST_BYTES
               ? cairn_budget_map(&exact->budget, size_bytes)
               : cairn_pool_alloc(&thread->pool, &exact->budget, size_bytes);
}

const struct cairn_exact_name *cairn_exact_name_make(struct cairn_exact *exact,
                                                     struct cairn_exact_thread *thread,
                                                     void *learnt)
{
    struct cairn_exact_words words = {.first_line = 0};
    struct cairn_exact_name *name;
    char *to;

    exact->describe(exact->host.context, learnt, &words);
    name = name_alloc(exact, thread,
                      words.name.size_bytes + words.qualname.size_bytes + words.file.size_bytes);
    if (name == NULL)
        return NULL;
    name->first_line = words.first_line;
    name->name_bytes = (uint32_t)words.name.size_bytes;
    name->qualname_bytes = (uint32_t)words.qualname.size_bytes;
    name->file_bytes = (uint32_t)words.file.size_bytes;
    to = mempcpy(name->text, words.name.data, words.name.size_bytes);
    if (words.qualname.size_bytes > 0)
        to = mempcpy(to, words.qualname.data, words.qualname.size_bytes);
    memcpy(to, words.file.data, words.file.size_bytes);
    return name;
}

const struct cairn_exact_name *cairn_exact_name_copy(struct cairn_exact *exact,
                                                     struct cairn_exact_thread *thread,
                                                     const struct cairn_exact_name *name)
{
    size_t text_bytes = (size_t)name->name_bytes + name->qualname_bytes + name->file_bytes;
    struct cairn_exact_name *copy = name_alloc(exact, thread, text_bytes);

    if (copy != NULL)
        memcpy(copy, name, sizeof(*name) + text_bytes);
    return copy;
}
