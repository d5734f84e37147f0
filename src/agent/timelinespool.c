#include "timelinespool.h"

#include <fcntl.h>
#include <stdlib.h>

#include "io.h"
#include "ticks.h"
#include "timeline.h"

#define MOST_ITEMS ((size_t)1 << 28)
#define NODE_BYTES 16

enum column { COL_TRACK, COL_TIME, COL_DUR, COL_STACK, COLS };

static const struct cairn_column_def columns[COLS] = {
    [COL_TRACK] = {"track", "id", CAIRN_ENC_RLE},
    [COL_TIME] = {"time", "ns", CAIRN_ENC_DELTA},
    [COL_DUR] = {"dur", "ns", CAIRN_ENC_UVARINT},
    [COL_STACK] = {"stack", "id", CAIRN_ENC_DELTA},
};

void cairn_timelinespool_init(struct cairn_timelinespool *times)
{
    times->fd = -1;
    cairn_map_init(&times->stacks, MOST_ITEMS);
}

void cairn_timelinespool_release(struct cairn_timelinespool *times)
{
    cairn_io_close(&times->fd);
    cairn_map_release(&times->stacks);
    cairn_vec_release(&times->pages);
}

static int by_thread_and_number(const void *left, const void *right)
{
    const struct cairn_timelinespool_page *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int list_pages(struct cairn_timelinespool *times, uint64_t used_bytes)
{
    const size_t head_bytes = offsetof(struct cairn_event_page, events);
    struct cairn_event_page page;

    times->pages.count = 0;
    for (uint64_t offset = sizeof(page); offset + sizeof(page) <= used_bytes;
         offset += sizeof(page)) {
        size_t count = times->pages.count;

        if (cairn_io_pread(times->fd, &page, head_bytes, (off_t)offset) != (ssize_t)head_bytes)
            break;
        if (page.number == 0)
            continue;
        CAIRN_TRY(cairn_vec_reserve(&times->pages, count + 1, MOST_ITEMS));
        times->pages.items[times->pages.count++] = (struct cairn_timelinespool_page){
            (uint64_t)(uintptr_t)page.thread, page.number, offset};
    }
    if (times->pages.count > 0)
        qsort(times->pages.items, times->pages.count, sizeof(*times->pages.items),
              by_thread_and_number);
    return 0;
}

int cairn_timelinespool_open(struct cairn_timelinespool *times, const struct cairn_spoolfile *calls)
{
    struct cairn_spool_head head;
    char name[CAIRN_SPOOL_PATH_BYTES];

    cairn_io_close(&times->fd);
    cairn_map_clear(&times->stacks);
    times->pages.count = 0;
    if (!cairn_spool_name(calls->name, &cairn_spool_calls, &cairn_spool_events, name))
        return 0;
    times->fd = cairn_io_openat(calls->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (times->fd < 0)
        return 0;
    if (cairn_io_pread(times->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        !cairn_spoolfile_is_ours(&head, &cairn_spool_events) || head.pid != calls->head->pid ||
        head.start_ns != calls->head->start_ns) {
        cairn_io_close(&times->fd);
        return 0;
    }
    times->base = calls->head->base;
    times->grew = calls->grew;
    times->processes++;
    times->lost += head.lost;
    times->gone += head.gone;
    return list_pages(times, head.used_bytes);
}

int cairn_timelinespool_learn(struct cairn_timelinespool *times, uint64_t node, uint32_t stack)
{
    uint64_t first;

    if (times->fd < 0 || cairn_map_get(&times->stacks, node, 0, &first))
        return 0;
    return cairn_map_put(&times->stacks, node, 0, stack);
}

static int put_row(struct cairn_timelinespool *times, const uint64_t values[COLS])
{
    int code = cairn_writer_row(times->writer, CAIRN_ROW_EVENT, columns, COLS, values);

    if (code != -CAIRN_ELIMIT)
        return code;
    CAIRN_TRY(cairn_writer_flush(times->writer, CAIRN_CHUNK_DATA, times->err));
    return cairn_writer_row(times->writer, CAIRN_ROW_EVENT, columns, COLS, values);
}

static uint64_t ticks_of(const struct cairn_event *event, int64_t last)
{
    uint64_t what = event->what & CAIRN_EVENT_OPEN;
    unsigned scale = (unsigned)(what >> CAIRN_EVENT_SCALE_SHIFT);

    if (what == CAIRN_EVENT_OPEN)
        return last > event->start ? (uint64_t)last - (uint64_t)event->start : 0;
    return (what & CAIRN_EVENT_DURATION_MAX) << scale * CAIRN_EVENT_SCALE_BITS;
}

static int put_event(struct cairn_timelinespool *times, const struct cairn_event *event,
                     uint32_t track, int64_t last)
{
    uint64_t node = times->base + (event->what >> CAIRN_EVENT_NODE_SHIFT) * NODE_BYTES, stack;
    uint64_t begin_ns = cairn_ticks_mono_ns(event->start, times->tick_ns);
    uint64_t end_ns = cairn_ticks_mono_ns((int64_t)((uint64_t)event->start + ticks_of(event, last)),
                                          times->tick_ns);

    /* Of one that lives on a call may have come after its tree was copied: it is not told. */
    if (event->start > last && times->grew)
        return 0;
    if (!cairn_map_get(&times->stacks, node, 0, &stack)) {
        times->lost += !times->grew;
        return 0;
    }
    times->kept++;
    return put_row(times, (uint64_t[COLS]){[COL_TRACK] = track,
                                           [COL_TIME] = begin_ns,
                                           [COL_DUR] = end_ns > begin_ns ? end_ns - begin_ns : 0,
                                           [COL_STACK] = stack});
}

/* A page of one that lives on may have gone to another thread since it was listed. */
static int put_page(struct cairn_timelinespool *times,
                    const struct cairn_timelinespool_page *listed, uint32_t track, int64_t last)
{
    struct cairn_event_page page;

    if (cairn_io_pread(times->fd, &page, sizeof(page), (off_t)listed->offset) !=
            (ssize_t)sizeof(page) ||
        page.number != listed->number || (uint64_t)(uintptr_t)page.thread != listed->thread)
        return 0;
    for (size_t i = 0; i < CAIRN_EVENTS_A_PAGE && page.events[i].start != 0; i++)
        CAIRN_TRY(put_event(times, &page.events[i], track, last));
    return 0;
}

int cairn_timelinespool_put(struct cairn_timelinespool *times, uint64_t thread, uint32_t track,
                            int64_t last)
{
    size_t low = 0, high = times->pages.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (times->pages.items[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == times->pages.count || times->pages.items[low].thread != thread ||
        times->pages.items[low].number == 0)
        return 0;
    /* In chunks of their own: who does not ask for them passes them over. */
    CAIRN_TRY(cairn_writer_flush(times->writer, CAIRN_CHUNK_DATA, times->err));
    for (; low < times->pages.count && times->pages.items[low].thread == thread; low++) {
        CAIRN_TRY(put_page(times, &times->pages.items[low], track, last));
        times->pages.items[low].number = 0; /* once: a list of threads may be a ring */
    }
    return cairn_writer_flush(times->writer, CAIRN_CHUNK_DATA, times->err);
}

int cairn_timelinespool_counters(const struct cairn_timelinespool *times)
{
    if (times->processes == 0)
        return 0;
    CAIRN_TRY(cairn_writer_counter(times->writer, "timeline_processes", times->processes));
    CAIRN_TRY(cairn_writer_counter(times->writer, "timeline_calls", times->kept));
    CAIRN_TRY(cairn_writer_counter(times->writer, "timeline_lost", times->lost + times->untold));
    return cairn_writer_counter(times->writer, "timeline_gone", times->gone);
}
