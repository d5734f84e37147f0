#include "pprof_labels.h"

#include "escape.h"
#include "pyregex.h"

/* Sorted, texts and numbers each for themselves. */
static const char *const keys[CAIRN_PPROF_LABELS] = {"pprof::base", "process", "state",
                                                     "thread",      "pid",     "tid"};

static int match(struct cairn_pprof_report *report, const char *name, const char *pattern,
                 bool wanted, bool *shown)
{
    struct cairn_pyregex *regex;
    int code;

    if (pattern == NULL || pattern[0] == '\0')
        return 0;
    code = cairn_pyregex_make(cairn_span_of(pattern), CAIRN_PYREGEX_AND_GREP, &regex);
    if (code == -CAIRN_EUSAGE)
        cairn_err_set(report->err, code, 0, "pprof", "-%s: '%.200s' is no regular expression", name,
                      pattern);
    CAIRN_TRY(code);
    for (size_t i = 0; i < CAIRN_PPROF_LABELS && code == 0; i++) {
        bool found = false;

        code = cairn_pyregex_search(regex, cairn_span_of(keys[i]), &found);
        if (found != wanted)
            shown[i] = false;
    }
    cairn_pyregex_free(regex);
    return code;
}

int cairn_pprof_showing_make(struct cairn_pprof_report *report,
                             struct cairn_pprof_showing *ret_showing)
{
    *ret_showing = (struct cairn_pprof_showing){{true, true, true, true, true, true}};
    CAIRN_TRY(match(report, "tagshow", report->look->tag_show, true, ret_showing->shown));
    return match(report, "taghide", report->look->tag_hide, false, ret_showing->shown);
}

size_t cairn_pprof_labels_of(const struct cairn_pprof *pprof,
                             const struct cairn_pprof_showing *showing,
                             const struct cairn_pprof_labels *labels,
                             struct cairn_pprof_label *ret_labels, size_t *ret_texts)
{
    const uint32_t texts[CAIRN_PPROF_TEXT_LABELS] = {0, labels->process, labels->state,
                                                     labels->thread};
    const uint64_t numbers[] = {labels->pid, labels->tid};
    size_t count = 0;

    for (size_t i = 0; i < CAIRN_PPROF_TEXT_LABELS; i++) {
        struct cairn_span text = cairn_intern_get(&pprof->texts, texts[i]);

        if (i == 0 && labels->base)
            text = cairn_span_of("true");
        if (text.size_bytes > 0 && showing->shown[i])
            ret_labels[count++] = (struct cairn_pprof_label){.key = keys[i], .text = text};
    }
    *ret_texts = count;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i] != 0 && showing->shown[CAIRN_PPROF_TEXT_LABELS + i])
            ret_labels[count++] = (struct cairn_pprof_label){
                .key = keys[CAIRN_PPROF_TEXT_LABELS + i], .number = numbers[i]};
    return count;
}
