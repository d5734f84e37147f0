#include "regions.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "err.h"

#define PAGE_BYTES sizeof(struct cairn_region_page)
#define GROWTH_PAGES ((size_t)16)
#define MOST_BYTES ((size_t)256 << 20) /* of a process: 16 million regions */
#define NAME_MAX_BYTES ((size_t)2048)
#define NAME_UNIT 16
#define RETRY_NS 100000000

_Static_assert(PAGE_BYTES == 4096, "what is lost at a time is a page");
_Static_assert(CAIRN_SPOOL_REGION_BYTES / NAME_UNIT <= CAIRN_REGION_NAME_MASK + 1,
               "every place in the file has a number");
_Static_assert(NAME_MAX_BYTES + sizeof(struct cairn_region_name) <= CAIRN_POOL_MOST_BYTES,
               "a pool hands out the longest name");

/* Where this thread's next event goes. All 0 in one that is yet unborn. */
static __thread struct {
    const struct cairn_regions *of;
    struct cairn_region_event *next, *end;
    uint64_t tid, start_ns;
    uint32_t file;
} here __attribute__((tls_model("initial-exec")));
static uint32_t last_file; /* atomic */

/* Who holds it is told by the forks behind that process: what a thread held that the fork left
 * behind is nobody's. */
void cairn_regions_lock(uint32_t *lock)
{
    uint32_t mine = cairn_exact_forks + 1, seen = 0;

    while (
        !__atomic_compare_exchange_n(lock, &seen, mine, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        if (seen == mine) {
            seen = 0;
            sched_yield();
        }
}

void cairn_regions_unlock(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static void lock(struct cairn_regions *regions)
{
    cairn_regions_lock(&regions->lock);
}

static void unlock(struct cairn_regions *regions)
{
    cairn_regions_unlock(&regions->lock);
}

/* Under the lock. */
static void begin_file(struct cairn_regions *regions)
{
    regions->budget = (struct cairn_budget){.max_bytes = MOST_BYTES,
                                            .grow = cairn_spool_grow,
                                            .shrink = cairn_spool_shrink,
                                            .context = &regions->spool};
    regions->names = (struct cairn_pool){0};
    regions->spare = NULL;
    regions->spares = 0;
    regions->pages = 0;
    regions->full = false;
    regions->refused_ns = 0;
    regions->forks = cairn_exact_forks;
    __atomic_store_n(&regions->file, __atomic_add_fetch(&last_file, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
}

int cairn_regions_open(struct cairn_regions *regions, const char *folder)
{
    int code;

    cairn_exact_watch();
    lock(regions);
    if (regions->spool.head != NULL && regions->forks == cairn_exact_forks)
        code = cairn_spool_reopen(&regions->spool, folder);
    else
        code = cairn_spool_open(&regions->spool, &cairn_spool_regions, folder);
    if (code == 0)
        begin_file(regions);
    unlock(regions);
    return code;
}

/* The same. */
static void look_for_fork(struct cairn_regions *regions)
{
    if (regions->forks == cairn_exact_forks)
        return;
    /* Such children end by os._exit(), mostly: it is not asked whether they meant to. */
    if (cairn_spool_again(&regions->spool) == 0)
        regions->spool.head->ended = 1;
    cairn_spool_let_go(&regions->spool);
    begin_file(regions);
}

uint32_t cairn_regions_file(struct cairn_regions *regions)
{
    if (__builtin_expect(regions->forks != cairn_exact_forks, 0)) {
        lock(regions);
        look_for_fork(regions);
        unlock(regions);
    }
    return __atomic_load_n(&regions->file, __ATOMIC_ACQUIRE);
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Under the lock, as what follows: whether the file is to be asked for more room. For want of a
 * descriptor, say, it may refuse for a moment. */
static bool may_grow(const struct cairn_regions *regions)
{
    return regions->spool.head != NULL && !regions->full &&
           (regions->refused_ns == 0 || now_ns() - regions->refused_ns > RETRY_NS);
}

static void note_growth(struct cairn_regions *regions, bool grew)
{
    int why = regions->spool.refused;

    regions->refused_ns = grew ? 0 : now_ns();
    /* Nobody tries again on a full disk. What is over the budget did not come as far as the file.
     */
    regions->full = !grew && (why == 0 || why == ENOSPC || why == EDQUOT || why == EFBIG);
}

/* So much of it that no character is cut in two. */
static size_t cut(struct cairn_span text)
{
    size_t size_bytes = text.size_bytes;

    if (size_bytes <= NAME_MAX_BYTES)
        return size_bytes;
    for (size_bytes = NAME_MAX_BYTES; size_bytes > 0 && (text.data[size_bytes] & 0xc0) == 0x80;)
        size_bytes--;
    return size_bytes;
}

uint64_t cairn_regions_name(struct cairn_regions *regions, struct cairn_span text)
{
    size_t size_bytes = cut(text);
    size_t need_bytes = (sizeof(struct cairn_region_name) + size_bytes + 15) & ~(size_t)15;
    struct cairn_region_name *name = NULL;
    uint64_t number = 0;

    lock(regions);
    look_for_fork(regions);
    if (regions->names.left_bytes >= need_bytes) {
        name = cairn_pool_alloc(&regions->names, &regions->budget, need_bytes);
    } else if (may_grow(regions)) {
        regions->spool.refused = 0;
        name = cairn_pool_alloc(&regions->names, &regions->budget, need_bytes);
        note_growth(regions, name != NULL);
    }
    if (name != NULL) {
        if (size_bytes > 0)
            memcpy(name->text, text.data, size_bytes);
        name->size_bytes = (uint32_t)size_bytes;
        number = ((uintptr_t)name - (uintptr_t)regions->spool.head) / NAME_UNIT;
    }
    unlock(regions);
    return number;
}

static struct cairn_region_page *new_page(struct cairn_regions *regions)
{
    if (regions->spares == 0 && may_grow(regions)) {
        regions->spool.refused = 0;
        regions->spare = cairn_budget_map(&regions->budget, GROWTH_PAGES * PAGE_BYTES);
        regions->spares = regions->spare == NULL ? 0 : GROWTH_PAGES;
        note_growth(regions, regions->spare != NULL);
    }
    if (regions->spares == 0)
        return NULL;
    regions->spares--;
    return regions->spare++;
}

/* Gives this thread a page; false: there is none, which is counted. */
static __attribute__((noinline)) bool turn(struct cairn_regions *regions)
{
    struct cairn_region_page *page;
    int saved = errno;

    lock(regions);
    look_for_fork(regions);
    page = new_page(regions);
    if (page != NULL) {
        if (here.of != regions || here.file != regions->file) {
            here.tid = (uint64_t)syscall(SYS_gettid);
            here.start_ns = cairn_spool_start_ns("/proc/thread-self/stat");
        }
        page->tid = here.tid;
        page->start_ns = here.start_ns;
        page->number = ++regions->pages;
        page->next = regions->spool.head->root;
        regions->spool.head->root = page;
        here.next = page->events;
        here.end = page->events + CAIRN_REGIONS_A_PAGE;
    } else {
        here.next = here.end = NULL;
        if (regions->spool.head != NULL)
            regions->spool.head->lost++;
    }
    here.of = regions;
    here.file = regions->file;
    unlock(regions);
    errno = saved;
    return page != NULL;
}

/* The start comes first: without a `what` there is no event. NULL: it is not kept. */
static struct cairn_region_event *put(struct cairn_regions *regions, int64_t start, uint64_t what)
{
    struct cairn_region_event *event;

    if ((here.of != regions || here.file != cairn_regions_file(regions) || here.next == here.end) &&
        !turn(regions))
        return NULL;
    event = here.next++;
    event->start = start;
    __atomic_store_n(&event->what, what, __ATOMIC_RELEASE);
    return event;
}

static uint64_t what_of(enum cairn_region_kind kind, uint64_t name)
{
    return (uint64_t)kind << CAIRN_REGION_KIND_SHIFT | name << CAIRN_REGION_NAME_SHIFT;
}

static void lose(struct cairn_regions *regions)
{
    lock(regions);
    look_for_fork(regions);
    if (regions->spool.head != NULL)
        regions->spool.head->lost++;
    unlock(regions);
}

struct cairn_region cairn_regions_begin(struct cairn_regions *regions, uint64_t name)
{
    struct cairn_region region = {.file = cairn_regions_file(regions), .start = cairn_ticks_now()};

    if (name != 0)
        region.event =
            put(regions, region.start, what_of(CAIRN_REGION_SPAN, name) | CAIRN_REGION_OPEN);
    else
        lose(regions);
    return region;
}

void cairn_regions_mark(struct cairn_regions *regions, uint64_t name,
                        const struct cairn_region_value *values, size_t count)
{
    if (name == 0) {
        lose(regions);
        return;
    }
    /* Without the mark its values would be another's. */
    if (put(regions, cairn_ticks_now(), what_of(CAIRN_REGION_MARK, name)) == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (values[i].name != 0 &&
            put(regions, (int64_t)values[i].bits,
                what_of(CAIRN_REGION_VALUE, values[i].name) | values[i].type) == NULL)
            return;
}
