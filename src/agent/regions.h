/* regions.h: what a program says of itself: regions that it named, and marks; 16 bytes each.
 *
 * One spool a process, in pages. A thread has one page at a time and puts into it what begins, in
 * that order; how long a region lasted is added when it is over, so what is open when the process
 * ends is there as well. Regions need not lie within each other: tasks take turns in a thread.
 * What the file has no room for is counted and not kept. A forked child begins a file of its own:
 * names and regions are of one file, whose number says so.
 * Threads: any. errno stays as it was. Owner: the caller has it, zeroed; as the spool it lasts as
 * long as the process.
 */
#ifndef CAIRN_REGIONS_H
#define CAIRN_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "agentmem.h"
#include "cursor.h"
#include "exact_parts.h"
#include "spool.h"
#include "ticks.h"

enum cairn_region_kind {
    CAIRN_REGION_SPAN,
    CAIRN_REGION_MARK,  /* a moment; its values stand behind it */
    CAIRN_REGION_VALUE, /* of the mark before */
};

enum cairn_region_type {                       /* of a value: what its bits are */
                         CAIRN_REGION_INTEGER, /* signed */
                         CAIRN_REGION_NUMBER,  /* a double */
                         CAIRN_REGION_TEXT,    /* a name's number */
};

struct cairn_region_event {
    int64_t start; /* ticks; of a value its bits */
    uint64_t what; /* from the top: 2 bits of kind, 26 of name, 2 of scale, 34 of duration, or in
                      their place the type of a value; 0: there is none, nor behind it */
};

#define CAIRN_REGION_KIND_SHIFT 62
#define CAIRN_REGION_NAME_SHIFT 36 /* name: offset in the file, in units of 16 bytes; not 0 */
#define CAIRN_REGION_NAME_MASK (((uint64_t)1 << 26) - 1)
#define CAIRN_REGION_SCALE_SHIFT 34
#define CAIRN_REGION_SCALE_BITS                                                                    \
    10 /* the duration is in units of 1 << scale * 10 ticks, rounded down */
#define CAIRN_REGION_DURATION_MAX (((uint64_t)1 << CAIRN_REGION_SCALE_SHIFT) - 1)
#define CAIRN_REGION_OPEN (((uint64_t)1 << CAIRN_REGION_NAME_SHIFT) - 1) /* it is not over */

#define CAIRN_REGIONS_A_PAGE 254

struct cairn_region_page {
    struct cairn_region_page *next; /* one that was begun before */
    uint64_t tid, start_ns;         /* of its thread, as the kernel tells them */
    uint64_t number;                /* of the pages that were begun, from 1 */
    struct cairn_region_event events[CAIRN_REGIONS_A_PAGE];
};

struct cairn_region_name {
    uint32_t size_bytes;
    char text[];
};

struct cairn_regions {
    struct cairn_spool spool;   /* head->root: the page that was begun last; head->lost: events */
    struct cairn_budget budget; /* from the spool */
    struct cairn_pool names;
    struct cairn_region_page *spare; /* pages that nobody has yet, one behind the other, */
    size_t spares;                   /* and how many */
    uint64_t pages;                  /* that were begun */
    bool full;                       /* for good */
    int64_t refused_ns; /* CLOCK_MONOTONIC, when it did not grow for another reason; 0: it did */
    uint32_t lock, forks;
    uint32_t file; /* atomic: its number; 0: none was opened */
};

struct cairn_region {                 /* one that was begun */
    struct cairn_region_event *event; /* NULL: it was not kept */
    int64_t start;
    uint32_t file;
};

struct cairn_region_value { /* of a mark */
    uint64_t name, bits;
    enum cairn_region_type type;
};

/* A lock that who was forked while another thread held it can have. Not twice by one thread. */
void cairn_regions_lock(uint32_t *lock);
void cairn_regions_unlock(uint32_t *lock);

/* Begins a file in `folder`, in place of the one before, if there was one. 0, or what
 * cairn_spool_open() says. */
int cairn_regions_open(struct cairn_regions *regions, const char *folder);

/* The number of the file that events go to. Another one than before: names are to be made anew. */
uint32_t cairn_regions_file(struct cairn_regions *regions);

/* What events call a text, cut after 2,048 bytes; 0: no room. It is kept anew at each call. */
uint64_t cairn_regions_name(struct cairn_regions *regions, struct cairn_span text);

/* A region of that name begins in this thread. A name of 0 is not kept, and counted. */
struct cairn_region cairn_regions_begin(struct cairn_regions *regions, uint64_t name);

/* A moment, and its values. What has no name is left out, and so is all that stands behind the
 * first that has no room. */
void cairn_regions_mark(struct cairn_regions *regions, uint64_t name,
                        const struct cairn_region_value *values, size_t count);

/* It is over, in whatever thread; in a forked child that is its parent's to say. */
static inline void cairn_regions_end(const struct cairn_regions *regions,
                                     const struct cairn_region *region)
{
    struct cairn_region_event *event = region->event;
    uint64_t duration, scale = 0;
    int64_t ticks;

    if (event == NULL || region->file != __atomic_load_n(&regions->file, __ATOMIC_ACQUIRE) ||
        regions->forks != cairn_exact_forks) /* a child has no file of its own yet */
        return;
    ticks = cairn_ticks_now() - region->start;
    duration = ticks > 0 ? (uint64_t)ticks : 0;
    for (; __builtin_expect(duration >= CAIRN_REGION_DURATION_MAX, 0); scale++)
        duration >>= CAIRN_REGION_SCALE_BITS;
    event->what = (event->what & ~CAIRN_REGION_OPEN) | scale << CAIRN_REGION_SCALE_SHIFT | duration;
}

#endif
