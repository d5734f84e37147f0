/* Samples one by one, with their labels (pprof_text.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "pprof_text.h"
#include "pprof_units.h"
#include "pyregex.h"

#define LABELS 5

struct showing { /* which labels are */
    bool shown[LABELS];
};

static const char *const keys[LABELS] = {"state", "thread", "process", "pid", "tid"};

static int match(struct cairn_pprof_report *report, const char *name, const char *pattern,
                 bool wanted, bool *shown)
{
    struct cairn_pyregex *regex;
    int code;

    if (pattern == NULL || pattern[0] == '\0')
        return 0;
    code = cairn_pyregex_make(cairn_span_of(pattern), &regex);
    if (code == -CAIRN_EUSAGE)
        cairn_err_set(report->err, code, 0, "pprof", "-%s: '%.200s' is no regular expression", name,
                      pattern);
    CAIRN_TRY(code);
    for (size_t i = 0; i < LABELS && code == 0; i++) {
        bool found = false;

        code = cairn_pyregex_search(regex, cairn_span_of(keys[i]), &found);
        if (found != wanted)
            shown[i] = false;
    }
    cairn_pyregex_free(regex);
    return code;
}

static void add_labels(struct cairn_pprof_report *report, const struct showing *showing,
                       const struct cairn_pprof_labels *labels)
{
    const uint32_t texts[LABELS - 2] = {labels->state, labels->thread, labels->process};
    const uint64_t numbers[2] = {labels->pid, labels->tid};
    struct cairn_buf *out = &report->out->buf;

    for (size_t i = 0; i < LABELS - 2; i++) {
        if (texts[i] == 0 || !showing->shown[i])
            continue;
        cairn_buf_printf(out, "%10s:  ", keys[i]);
        cairn_escape_terminal(out, cairn_intern_get(&report->pprof->texts, texts[i]));
        cairn_buf_u8(out, '\n');
    }
    for (size_t i = 0; i < 2; i++)
        if (numbers[i] != 0 && showing->shown[LABELS - 2 + i])
            cairn_buf_printf(out, "%10s:  %" PRIu64 "\n", keys[LABELS - 2 + i], numbers[i]);
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
    struct showing showing = {{true, true, true, true, true}};

    CAIRN_TRY(match(report, "tagshow", report->look->tag_show, true, showing.shown));
    CAIRN_TRY(match(report, "taghide", report->look->tag_hide, false, showing.shown));
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
