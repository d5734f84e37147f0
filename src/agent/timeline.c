#include "timeline.h"

#include <string.h>
#include <sys/mman.h>

#include "err.h"
#include "exact_parts.h"
#include "ticks.h"

#define PAGE_BYTES sizeof(struct cairn_event_page)
#define GROWTH_PAGES ((size_t)256)

_Static_assert(PAGE_BYTES == 4096, "what is lost at a time is a page");

static int begin(struct cairn_timeline *timeline, const struct cairn_spool *tree)
{
    timeline->begun = timeline->oldest = 0;
    timeline->number = 0;
    timeline->full = false;
    timeline->base = (uintptr_t)tree->head;
    return tree->head == NULL ? -CAIRN_EIO
                              : cairn_spool_beside(&timeline->spool, &cairn_spool_events, tree);
}

int cairn_timeline_open(struct cairn_timeline *timeline, const struct cairn_spool *tree,
                        size_t max_bytes, bool ring)
{
    timeline->max_bytes = max_bytes;
    timeline->ring = ring;
    return begin(timeline, tree);
}

void cairn_timeline_again(struct cairn_timeline *timeline, const struct cairn_spool *tree)
{
    if (timeline->spool.head != NULL)
        munmap(timeline->spool.head, CAIRN_SPOOL_REGION_BYTES);
    timeline->spool.head = NULL;
    (void)begin(timeline, tree);
}

/* Pages lie behind the head, which takes one. */
static struct cairn_event_page *page_at(const struct cairn_timeline *timeline, size_t index)
{
    return (struct cairn_event_page *)(void *)timeline->spool.head + 1 + index;
}

static struct cairn_event_page *new_page(struct cairn_timeline *timeline)
{
    size_t room = timeline->spool.head->used_bytes / PAGE_BYTES - 1;
    size_t most = timeline->full ? room : timeline->max_bytes / PAGE_BYTES;
    size_t more = most - room < GROWTH_PAGES ? most - room : GROWTH_PAGES;

    if (timeline->begun == room &&
        (room >= most || cairn_spool_grow(&timeline->spool, more * PAGE_BYTES) == NULL)) {
        timeline->full = true; /* nobody tries again */
        return NULL;
    }
    return page_at(timeline, timeline->begun++);
}

/* Of a ring: the page that was begun before all others. Whoever goes on in it needs another. */
static struct cairn_event_page *old_page(struct cairn_timeline *timeline)
{
    struct cairn_event_page *page;
    struct cairn_exact_thread *holder;

    if (timeline->begun == 0)
        return NULL;
    page = page_at(timeline, timeline->oldest);
    holder = (struct cairn_exact_thread *)(uintptr_t)page->thread;
    timeline->oldest = (timeline->oldest + 1) % timeline->begun;
    if (holder->event_end == page->events + CAIRN_EVENTS_A_PAGE)
        holder->event = holder->event_end = NULL;
    for (size_t i = 0; i < CAIRN_EVENTS_A_PAGE && page->events[i].start != 0; i++)
        timeline->spool.head->gone++;
    page->number = 0;
    memset(page->events, 0, sizeof(page->events));
    return page;
}

struct cairn_event *cairn_timeline_turn(struct cairn_timeline *timeline,
                                        const struct cairn_exact_thread *thread,
                                        struct cairn_event **ret_end)
{
    struct cairn_event_page *page = NULL;

    if (timeline->spool.head != NULL) {
        page = new_page(timeline);
        if (page == NULL && timeline->ring)
            page = old_page(timeline);
        if (page == NULL)
            timeline->spool.head->lost++;
    }
    if (page == NULL)
        return NULL;
    page->thread = thread;
    page->number = ++timeline->number;
    *ret_end = page->events + CAIRN_EVENTS_A_PAGE;
    return page->events;
}

double cairn_timeline_measure(struct cairn_timeline *timeline)
{
    enum { PAGES = 4, EVENTS = PAGES * CAIRN_EVENTS_A_PAGE };
    struct cairn_exact_thread nobody = {.owner = 0};
    /* Not with the file's growth, which is for many more pages. */
    struct cairn_event *end = NULL, *event = cairn_timeline_turn(timeline, &nobody, &end);
    int64_t before = cairn_ticks_now(), ticks, i = 0;

    for (; event != NULL && i < EVENTS; i++) {
        cairn_event_begin(event, 0, i + 1);
        cairn_event_end(event, 0, i + 1, 1);
        if (++event == end)
            event = cairn_timeline_turn(timeline, &nobody, &end);
    }
    ticks = cairn_ticks_now() - before;
    if (timeline->spool.head == NULL)
        return 0;
    memset(page_at(timeline, 0), 0, timeline->begun * PAGE_BYTES);
    timeline->begun = timeline->oldest = 0;
    timeline->number = 0;
    timeline->spool.head->gone = timeline->spool.head->lost = 0;
    return i == 0 ? 0 : (double)ticks / (double)i;
}
