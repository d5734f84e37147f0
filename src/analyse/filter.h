/* filter.h: what of a recording a reader asked for: the options every reading command shares. */
#ifndef CAIRN_FILTER_H
#define CAIRN_FILTER_H

#include "samples.h"

enum cairn_region_length { /* of the regions of that name */
                           CAIRN_REGION_LENGTH_ANY,
                           CAIRN_REGION_LENGTH_SLOW,   /* the longest tenth */
                           CAIRN_REGION_LENGTH_MIDDLE, /* without a quarter at either end */
};

struct cairn_patterns {       /* regexes (pyregex.h), held against "qualname file" of each frame */
    const char *const *items; /* borrowed; NULL: none */
    size_t count;
};

struct cairn_filter {
    enum cairn_metric metric;
    const char *thread;  /* NULL all; a tid, or a name (shell pattern) */
    const char *process; /* NULL all; a pid, or a name or role (shell pattern) */
    const char *task;    /* NULL; a shell pattern: in place of samples, what tasks of that name, or
                            coroutine, ran and waited in */
    struct cairn_patterns focus, ignore; /* keep stacks that hold each; that hold none */
    unsigned overlays;  /* 0 all; enum cairn_overlay: keep samples at which one of them held */
    const char *region; /* NULL; a shell pattern: keep times in regions of that name */
    enum cairn_region_length region_length;
    bool only_my_code;       /* frames of others are folded into the nearest frame of the user's */
    bool threads_joined;     /* stacks are summed over a process's threads: for who shows no
                                thread's stacks; a cell for each would take most time and memory */
    unsigned slices;         /* above 1: so many equal parts of the time have cells of their own */
    uint64_t from_ns, to_ns; /* from the start of the recording; 0 and UINT64_MAX: all */
};

void cairn_filter_init(struct cairn_filter *filter); /* wall, everything */

/* Whether it chooses no moments: neither a part of the time, nor what held then. */
bool cairn_filter_is_of_all_time(const struct cairn_filter *filter);

/* Whether it is of sums over the whole recording, which have no moments, and not of samples. */
bool cairn_filter_is_of_sums(const struct cairn_filter *filter);

/* Whether it keeps tasks of that name, empty where they have none, and coroutine. */
bool cairn_filter_keeps_task(const struct cairn_filter *filter, struct cairn_span name,
                             struct cairn_span coroutine);

/* Whether that is the number, or a shell pattern of the name, which is NUL-terminated behind its
 * last byte as a model's are. NULL is of everything. */
bool cairn_filter_matches(const char *pattern, uint64_t number, struct cairn_span name);

#endif
