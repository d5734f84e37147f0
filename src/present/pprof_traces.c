/* Samples one by one, with their labels (pprof_text.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "pprof_labels.h"
#include "pprof_units.h"

#define KEY_MAX_BYTES 16

/* Sorted as they stand there, at the right of a column: shorter keys first. */
static void add_labels(struct cairn_pprof_report *report, const struct cairn_pprof_showing *showing,
                       const struct cairn_pprof_labels *labels)
{
    struct cairn_pprof_label all[CAIRN_PPROF_LABELS];
    size_t texts, count = cairn_pprof_labels_of(report->pprof, showing, labels, all, &texts);
    struct cairn_buf *out = &report->out->buf;

    for (size_t size_bytes = 1; size_bytes < KEY_MAX_BYTES; size_bytes++)
        for (size_t i = 0; i < texts; i++)
            if (strlen(all[i].key) == size_bytes) {
                cairn_buf_printf(out, "%10s:  ", all[i].key);
                cairn_escape_terminal(out, all[i].text);
                cairn_buf_u8(out, '\n');
            }
    for (size_t i = texts; i < count; i++)
        cairn_buf_printf(out, "%10s:  %" PRIu64 "\n", all[i].key, all[i].number);
}

static void add_frame(struct cairn_pprof_report *report, uint32_t index)
{
    const struct cairn_pprof_frame *frame = &report->pprof->frames.items[index];
    enum cairn_pprof_granularity by = report->look->graph.by;
    struct cairn_buf *out = &report->out->buf;
    struct cairn_span name = cairn_intern_get(&report->pprof->texts, frame->name);
    struct cairn_span file = cairn_intern_get(&report->pprof->texts, frame->file);
    bool named = by != CAIRN_PPROF_FILES && name.size_bytes > 0;
    bool numbered = by == CAIRN_PPROF_LINES && frame->line != 0;
    bool filed = by != CAIRN_PPROF_FUNCTIONS && (file.size_bytes > 0 || numbered);

    if (named)
        cairn_escape_terminal(out, name);
    if (named && filed)
        cairn_buf_u8(out, ' ');
    if (filed)
        cairn_escape_terminal(out, file);
    if (numbered)
        cairn_buf_printf(out, ":%u", frame->line);
    if (!named && !filed)
        cairn_buf_add_str(out, "<unknown>");
    cairn_buf_u8(out, '\n');
}

#define TRACE_LINE "-----------+-------------------------------------------------------\n"

int cairn_pprof_traces(struct cairn_pprof_report *report)
{
    struct cairn_buf *out = &report->out->buf;
    struct cairn_pprof_showing showing;

    CAIRN_TRY(cairn_pprof_showing_make(report, &showing));
    report->unit = report->look->unit; /* each value in what suits it */
    cairn_pprof_profile(report, out);
    for (size_t i = 0; i < report->pprof->samples.count; i++) {
        const struct cairn_pprof_sample *sample = &report->pprof->samples.items[i];
        const uint32_t *stack = report->pprof->stacks.items + sample->first;
        int64_t value = sample->value;

        if (!sample->any || sample->depth == 0)
            continue;
        if (report->look->graph.mean && sample->count != 0)
            value /= sample->count;
        cairn_buf_add_str(out, TRACE_LINE);
        add_labels(report, &showing, &sample->labels);
        for (uint32_t k = 0; k < sample->depth; k++) {
            if (k == 0)
                cairn_pprof_value(report, out, value, 10);
            else
                cairn_buf_printf(out, "%10s", "");
            cairn_buf_add_str(out, "   ");
            add_frame(report, stack[k]);
        }
        CAIRN_TRY(cairn_outlet_drain(report->out));
    }
    cairn_buf_add_str(out, TRACE_LINE);
    return 0;
}
