/* pprof_labels.h: the labels of a sample, and which of them are shown. Threads: one at a time. */
#ifndef CAIRN_PPROF_LABELS_H
#define CAIRN_PPROF_LABELS_H

#include "pprof_text.h"

#define CAIRN_PPROF_LABELS 6
#define CAIRN_PPROF_TEXT_LABELS 4 /* those are texts; behind them stand numbers */

struct cairn_pprof_label {
    const char *key;
    struct cairn_span text;
    uint64_t number; /* of what is no text */
};

/* Which of them -tagshow and -taghide leave. 0, -CAIRN_EUSAGE for a bad regular expression. */
struct cairn_pprof_showing {
    bool shown[CAIRN_PPROF_LABELS];
};
int cairn_pprof_showing_make(struct cairn_pprof_report *report,
                             struct cairn_pprof_showing *ret_showing);

/* Those that a sample has and that are shown, texts first, sorted by their keys; returns how many
 * there are, *ret_texts of them texts. */
size_t cairn_pprof_labels_of(const struct cairn_pprof *pprof,
                             const struct cairn_pprof_showing *showing,
                             const struct cairn_pprof_labels *labels,
                             struct cairn_pprof_label *ret_labels, size_t *ret_texts);

#endif
