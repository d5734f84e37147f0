/* pprof_filter.h: which samples are shown, and what of their stacks: google/pprof's filters.
 *
 * Each is a regular expression that is searched for in the name and the file of a function; NULL or
 * "" is no filter. Threads: one at a time.
 */
#ifndef CAIRN_PPROF_FILTER_H
#define CAIRN_PPROF_FILTER_H

#include "err.h"
#include "pprof_samples.h"

struct cairn_pprof_filters {
    const char *focus, *ignore;         /* samples that hold one; that hold none */
    const char *hide, *show;            /* frames that match none; that match */
    const char *show_from;              /* from the outermost that matches inwards */
    const char *prune_from;             /* from the innermost whose name matches outwards */
    const char *tag_focus, *tag_ignore; /* of labels: REGEX on "key:value", or KEY=REGEX */
};

enum { /* bits: which filters matched nothing */
       CAIRN_PPROF_IDLE_FOCUS = 1,
       CAIRN_PPROF_IDLE_IGNORE = 2,
       CAIRN_PPROF_IDLE_HIDE = 4,
       CAIRN_PPROF_IDLE_SHOW = 8,
       CAIRN_PPROF_IDLE_SHOW_FROM = 16,
       CAIRN_PPROF_IDLE_TAG_FOCUS = 32,
       CAIRN_PPROF_IDLE_TAG_IGNORE = 64,
};

/* Leaves out what the filters do; samples without any frame go in any case. 0, -CAIRN_EUSAGE for a
 * bad regular expression, -CAIRN_ENOMEM. */
int cairn_pprof_filter(struct cairn_pprof *pprof, const struct cairn_pprof_filters *filters,
                       unsigned *ret_idle, struct cairn_err *err);

#endif
